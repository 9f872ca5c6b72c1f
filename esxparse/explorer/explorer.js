// The page's part of the explorer: it puts the parts together. Numbers come from Python, for the pixels on screen.

function render({ model, el }) {
  const waiting = new Map();
  let asked = 0;
  let turns = 0;
  let since = null;
  let findings = [];
  let pinned = null;
  let panels = [];
  let active = 0;
  let closed = false;

  const ask = (what, more = {}) =>
    new Promise((resolve, reject) => {
      const id = ++asked;
      try {
        model.send({ ask: what, id, ...more });
      } catch {
        return reject(new Error(GONE));
      }
      waiting.set(id, { resolve, reject });
      setTimeout(() => { if (waiting.has(id) && !closed) tell(WAITING); }, PATIENCE_MS);
    });
  const state = () => ({ panels: [], ...model.get("view") });
  let changing = false;
  const change = (part) => {
    changing = true;
    model.set("view", { ...state(), ...part });
    changing = false;
    model.save_changes();
  };
  const whole = () => [model.get("about").start, model.get("about").end];
  // A single sample stands in the middle of ten seconds.
  const span = () => {
    const [start, end] = state().range ?? whole();
    return end > start ? [start, end] : [start - 5000, end + 5000];
  };
  const isLong = (one) => one.end - one.start > 0.7 * (whole()[1] - whole()[0]);

  const said = element("div", { className: "ex-said", role: "status" });
  const tell = (text, bad) => {
    said.textContent = text;
    said.classList.toggle("ex-bad", Boolean(bad));
  };
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  // An object keeps its hue in all panels. There are eight: one whose hue is taken in a panel has another one there.
  const hues = new Map();
  const named = (answer) => {
    const taken = new Map();
    for (const name of new Set(answer.series.map((one) => one.label))) {
      const used = [...taken.values()];
      const without = (busy) => HUES.find((one) => !busy.includes(one));
      const free = without([...used, ...hues.values()]) ?? without(used) ?? HUES[used.length % HUES.length];
      if (!hues.has(name)) hues.set(name, free);
      taken.set(name, used.includes(hues.get(name)) ? free : hues.get(name));
    }
    return answer.series.map((one) => [one.capture > 1 ? `${one.label} (2)` : one.label, colour(taken.get(one.label)), one]);
  };
  // Findings on what a panel shows, as far as they are in the range.
  const spellsIn = (answer, [start, end]) => {
    const shown = new Set(answer.series.flatMap((one) => [one.full, one.instance, one.full.split(":")[0]]));
    return findings.filter((one) => one.start !== null && one.end >= start && one.start <= end && (shown.has(one.name) || one.kind === "host"))
      .map((one) => ({ ...one, time: Math.max(one.start, start), to: Math.min(one.end, end), long: isLong(one) }));
  };
  const notes = ([start, end]) => [...(state().notes ?? []), ...(pinned === null ? [] : [{ time: pinned, text: "" }])].filter((one) => one.time >= start && one.time <= end);
  const zoom = (range) => {
    since = null;
    change({ range });
    tell(range ? stretch(...range) : "");
    return redraw();
  };
  function choose(one, beside) {
    const list = [...state().panels];
    const panel = { counter: one.column, table: one.table, order: "p95" };
    if (beside) list.push(panel);
    else list[active] = { ...panel, n: list[active]?.n, order: list[active]?.order ?? "p95" };
    if (beside) active = list.length - 1;
    change({ panels: list });
    if (beside || list.length !== panels.length) build();
    else panels[active].draw();
  }
  // Other panels than those of an object's page.
  const leave = (part) => {
    change({ object: null, ...part });
    app.objects.update();
  };
  function addPanel(panel) {
    change({ panels: [...state().panels, panel] });
    return build();
  }
  // Its spell, in the panels that it rests on.
  function openFinding(one) {
    if (one.panels.length) leave({ panels: one.panels });
    if (one.start !== null) change({ range: isLong(one) ? null : around(one) });
    since = one.start === null || isLong(one) ? null : one.start;
    tell(stretch(...span()));
    return build();
  }
  const around = (one) => {
    const [first, last] = whole();
    const more = Math.max((one.end - one.start) / 2, (last - first) / 50);
    return [Math.max(first, one.start - more), Math.min(last, one.end + more)];
  };

  // What the parts know of each other.
  const app = {
    ask, state, change, span, whole, tell, colour, named, spellsIn, notes, zoom, choose, addPanel, openFinding, isLong,
    panels: () => panels,
    counters: () => model.get("counters"),
    findings: () => findings,
    others: model.get("about").others.length > 0,
    first: () => model.get("presets")[0]?.panels ?? [],
    since: () => since,
    chosen: () => panels[active]?.answer,
    closed: () => closed,
    turn: () => ++turns,
    pin: (at) => { pinned = at; since = null; },
    pick: (at) => { pinned = at; tell(`${clock(at, true)} UTC`); },
    build: () => build(),
    activate: (place) => activate(place),
  };
  app.objects = makeObjects(app);
  app.drawer = makeDrawer(app);
  const { search, found } = makeSearch(app);

  const presets = element("div", { className: "ex-presets" });
  const tools = element("div", { className: "ex-tools" });
  const charts = element("div", { className: "ex-panels" });
  const title = element("div", { className: "ex-title" });
  const root = element(
    "div",
    { className: "ex-explorer", tabIndex: -1 },
    element("div", { className: "ex-bar" }, title, presets),
    app.drawer.chips,
    element("div", { className: "ex-bar" }, search, tools),
    found,
    said,
    app.objects.bar,
    element("div", { className: "ex-work" }, charts, app.drawer.below),
  );
  el.replaceChildren(root);

  const toggle = (key, label, hint) => {
    const box = element("input", { type: "checkbox", checked: Boolean(state()[key]), onchange: () => { change({ [key]: box.checked }); redraw(); } });
    return element("label", { title: hint }, box, label);
  };
  function fillTools() {
    const { drawer } = app;
    const smooth = element("input", {
      type: "number", min: 1, max: 999, value: state().smooth ?? 1, className: "ex-number",
      onchange: () => { change({ smooth: Math.max(1, Number(smooth.value) || 1) }); redraw(); },
    });
    tools.replaceChildren(
      toggle("normalise", "normalise", "Each series by its own highest value"),
      toggle("difference", "difference", "From one sample to the next"),
      element("label", { title: "Rolling mean over this many samples" }, "smooth", smooth),
      button("Whole time", "Show the whole capture (or click twice in a chart)", () => zoom(null)),
      button("What changed", "What changed most at the start of the time shown, or when most changed together", drawer.showChanges),
      button("What moved alike", "What moved like the first series of the chosen panel in the time shown (or click on ≈ behind a name)", drawer.showSimilarToFirst),
      ...(model.get("about").judged ? [button("Hotspots", "The findings, most important first", drawer.showFindings)] : []),
      button("Note", "Keep a note at the time last clicked", addNote),
      button("Copy code", "The charts as a cell of polars and altair", () => copyCode(app)),
      button("PNG", "Save the charts as pictures", () => savePictures(app, "png")),
      button("SVG", "Save the charts as drawings", () => savePictures(app, "svg")),
      button("CSV", "Save the numbers drawn", () => saveTable(app)),
    );
  }

  // What is odd about the file: samples missing, a clock set back.
  const remarks = (all) => element("details", { className: "ex-muted" },
    element("summary", {}, all.length === 1 ? "1 note on the file" : `${all.length} notes on the file`), ...all.map((text) => element("div", {}, text)));
  function fillTop() {
    const about = model.get("about");
    const times = about.start === null ? "" : stretch(about.start, about.end);
    const others = about.others.length ? `, dashed: ${about.others.join(", ")}` : "";
    const samples = about.samples === null ? "" : `, ${about.samples.toLocaleString("en")} sample${about.samples === 1 ? "" : "s"}`;
    title.replaceChildren(element("b", {}, about.title), ` ${times}${samples}${others}`, ...(about.notes.length ? [remarks(about.notes)] : []),
      ...(about.guest ? [element("div", { className: "ex-guest" }, element("b", { className: about.guest.stolen ? "ex-warning" : "" }, about.guest.verdict), ` ${about.guest.alignment}`)] : []));
    presets.replaceChildren(
      ...model.get("presets").map((one) =>
        button(one.name, one.panels.map((panel) => panel.counter).join(", "), () => { leave({ panels: one.panels }); build(); }),
      ),
    );
  }
  function addNote() {
    if (pinned === null) return tell("Click in a chart first: a note stands at a time.", true);
    const text = element("input", { placeholder: `Note at ${clock(pinned)}, then Enter`, className: "ex-note" });
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      change({ notes: [...(state().notes ?? []), { time: pinned, text: text.value }] });
      app.drawer.below.replaceChildren();
      redraw();
    });
    app.drawer.below.replaceChildren(text);
    text.focus();
  }

  function activate(place) {
    active = place;
    panels.forEach((one) => one.box.classList.toggle("ex-active", one.place === place));
  }
  const redraw = () => Promise.all(panels.map((one) => one.draw()));
  async function build() {
    panels.forEach((one) => one.view?.finalize());
    active = Math.min(active, Math.max(state().panels.length - 1, 0));
    panels = state().panels.map((_, place) => makePanel(app, place));
    charts.replaceChildren(...panels.map((one) => one.box));
    activate(active);
    app.drawer.update();
    await redraw();
  }
  followPointer(app, charts);

  const heard = async (message) => {
    const one = waiting.get(message.id);
    if (!one) return;
    waiting.delete(message.id);
    if (said.textContent === WAITING) tell("");
    if (message.answer.error) one.reject(new Error(message.answer.error));
    else one.resolve(message.answer);
  };
  model.on("msg:custom", heard);
  // Another view of the widget, or Python.
  const changed = () => {
    if (changing) return;
    fillTools();
    app.objects.update();
    build();
  };
  model.on("change:view", changed);
  // What is chosen by a click is chosen by Enter; those that do more have handlers of their own.
  app.drawer.below.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[tabindex]")) event.target.click();
  });
  // JupyterLab keeps Enter for itself: without this a pattern is taken only when its box is left.
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input")) event.target.dispatchEvent(new Event("change"));
  });

  // A file that is still written: Python reads it again when it has grown.
  let following = null;
  let looking = false;
  let trouble = "";
  let looks = 0;
  async function follow() {
    if (looking) return;
    looking = true;
    try {
      const { grown } = await ask("grown");
      looks += 1;
      if (trouble && said.textContent === trouble) tell("");
      trouble = "";
      if (grown) {
        fillTop();
        // Not at every look: the findings of a large capture take seconds.
        if (looks >= JUDGED_EVERY && model.get("about").judged) await judge();
        await redraw();
      }
    } catch (error) {
      trouble = error.message;
      tell(trouble, true);
    }
    looking = false;
  }
  async function judge() {
    looks = 0;
    ({ findings } = await ask("findings"));
    app.drawer.update();
  }
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 8) return;
    const first = width === 0;
    width = root.clientWidth;
    if (!first) redraw();
  });

  fillTop();
  fillTools();
  // The page has its size only when it stands in the document.
  requestAnimationFrame(async () => {
    resized.observe(root);
    await build();
    try {
      if (model.get("about").judged) {
        await app.objects.load();
        await app.objects.update();
        panels.forEach((one) => one.refill());
        if (!said.textContent) tell(JUDGING);
        await judge();
        if (said.textContent === JUDGING) tell("");
      }
    } catch (error) {
      tell(error.message, true);
    }
    if (findings.length && !closed) await redraw();
    root.dataset.ready = "yes";
    if (model.get("every") > 0) following = setInterval(follow, model.get("every") * 1000);
  });
  return () => {
    closed = true;
    clearInterval(following);
    resized.disconnect();
    model.off("msg:custom", heard);
    model.off("change:view", changed);
    panels.forEach((one) => one.view?.finalize());
  };
}

export default { render };
