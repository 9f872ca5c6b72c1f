// The page's part of the explorer: controls, drawing, the pointer. Numbers come from Python, for the pixels on screen.

const HUES = ["blue", "orange", "teal", "wine", "sky", "plum", "sand", "navy"];
const ORDERS = { p95: "95th percentile", mean: "mean", max: "highest", variability: "variability" };
const FOUND = 60;
const JUDGED_EVERY = 12;
const PATIENCE_MS = 5000;
const WAITING = "Waiting for the kernel. If it was restarted, run the cell again.";
const NO_CHART = "There is no chart: search for a counter first.";
const GONE = "The kernel was restarted: run the cell again.";

const element = (name, settings = {}, ...inside) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(settings)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
};
const clock = (ms, long) => new Date(ms).toISOString().slice(long ? 0 : 11, 19).replace("T", " ");
const stretch = (start, end) => `${clock(start, true)} to ${clock(end, clock(start, true).slice(0, 10) !== clock(end, true).slice(0, 10))} UTC`;
const short = (value) =>
  value === null || value === undefined ? "–" : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

// The ends of a long name: those of devices differ in the last digits.
const brief = (name) => (name.length > 26 ? `${name.slice(0, 7)}…${name.slice(-10)}` : name);

// As many times as the axis has room for, as fine as they stand apart.
const timeAxis = (span, width) => {
  const tickCount = Math.max(2, Math.floor(width / 90));
  const format = span / tickCount < 1000 ? "%H:%M:%S.%L" : span / tickCount < 60_000 ? "%H:%M:%S" : span < 86_400_000 ? "%H:%M" : "%d %b %H:%M";
  return { tickCount, format };
};

function render({ model, el }) {
  let waiting = new Map();
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

  // The controls.
  const search = element("input", { type: "search", placeholder: "Search counters: ready, latency, drop ...", "aria-label": "Search counters" });
  const found = element("div", { className: "ex-found", role: "listbox", "aria-label": "Counters found" });
  const presets = element("div", { className: "ex-presets" });
  const chips = element("div", { className: "ex-chips", role: "group", "aria-label": "Findings" });
  const tools = element("div", { className: "ex-tools" });
  const charts = element("div", { className: "ex-panels" });
  const said = element("div", { className: "ex-said", role: "status" });
  const below = element("div", { className: "ex-below" });
  const title = element("div", { className: "ex-title" });
  const root = element(
    "div",
    { className: "ex-explorer", tabIndex: -1 },
    element("div", { className: "ex-bar" }, title, presets),
    chips,
    element("div", { className: "ex-bar" }, search, tools),
    found,
    said,
    element("div", { className: "ex-work" }, charts, below),
  );
  el.replaceChildren(root);

  const tell = (text, bad) => {
    said.textContent = text;
    said.classList.toggle("ex-bad", Boolean(bad));
  };

  const toggle = (key, label, hint) => {
    const box = element("input", { type: "checkbox", checked: Boolean(state()[key]), onchange: () => { change({ [key]: box.checked }); redraw(); } });
    return element("label", { title: hint }, box, label);
  };
  const button = (label, hint, act) => element("button", { type: "button", title: hint, onclick: act }, label);

  function fillTools() {
    const smooth = element("input", {
      type: "number", min: 1, max: 999, value: state().smooth ?? 1, className: "ex-number",
      onchange: () => { change({ smooth: Math.max(1, Number(smooth.value) || 1) }); redraw(); },
    });
    tools.replaceChildren(
      toggle("normalise", "normalise", "Each series by its own highest value"),
      toggle("difference", "difference", "From one sample to the next"),
      element("label", { title: "Rolling mean over this many samples" }, "smooth", smooth),
      button("Whole time", "Show the whole capture (or click twice in a chart)", () => zoom(null)),
      button("What changed", "What changed most at the start of the time shown, or when most changed together", showChanges),
      button("What moved alike", "What moved like the first series of the chosen panel in the time shown (or click on a name below a chart)", showSimilarToFirst),
      ...(model.get("about").judged ? [button("Hotspots", "The findings, most important first", showFindings)] : []),
      button("Note", "Keep a note at the time last clicked", addNote),
      button("Copy code", "The charts as a cell of polars and altair", copyCode),
      button("PNG", "Save the charts as pictures", () => save("png")),
      button("SVG", "Save the charts as drawings", () => save("svg")),
      button("CSV", "Save the numbers drawn", saveTable),
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
    title.replaceChildren(element("b", {}, about.title), ` ${times}${samples}${others}`, ...(about.notes.length ? [remarks(about.notes)] : []));
    presets.replaceChildren(
      ...model.get("presets").map((one) =>
        button(one.name, one.panels.map((panel) => panel.counter).join(", "), () => { change({ panels: one.panels }); build(); }),
      ),
    );
  }

  function look() {
    const text = search.value.trim();
    if (!text) return found.replaceChildren();
    let wanted;
    try {
      wanted = new RegExp(text, "i");
    } catch {
      found.replaceChildren();
      return tell(`${text} is not a regular expression`, true);
    }
    tell("");
    // What people mean by the word comes first, in the order of its list; then names; then meanings.
    const typed = text.toLowerCase();
    const usual = (one) => Object.entries(one.words).filter(([word]) => typed.length > 2 && word.startsWith(typed)).map(([, at]) => at);
    const rank = (one) => Math.min(...usual(one), one.names.some((name) => wanted.test(name)) ? 100 : wanted.test(one.meaning) ? 101 : 102);
    const hits = model.get("counters").map((one) => [rank(one), one]).filter(([place]) => place < 102).sort((a, b) => a[0] - b[0]);
    found.replaceChildren(
      ...hits.slice(0, FOUND).map(([, one]) =>
        element(
          "div",
          { className: "ex-hit", role: "option", tabIndex: 0, title: one.meaning,
            onclick: (event) => choose(one, event.shiftKey),
            onkeydown: (event) => { if (event.key === "Enter") choose(one, true); } },
          element("b", {}, one.name), ` ${one.unit} · ${one.noun} · `, element("span", {}, one.meaning),
          button("+", "In a panel of its own", (event) => { event.stopPropagation(); choose(one, true); }),
        ),
      ),
      ...(hits.length > FOUND ? [element("i", {}, `and ${hits.length - FOUND} more`)] : []),
      ...(hits.length ? [] : [element("i", {}, "no counter of this capture")]),
    );
  }

  function move(event, to) {
    event.preventDefault();
    event.stopPropagation();
    to?.focus();
  }

  function choose(one, beside) {
    const list = [...state().panels];
    const panel = { counter: one.column, table: one.table, order: "p95" };
    if (beside) list.push(panel);
    else list[active] = { ...panel, n: list[active]?.n, order: list[active]?.order ?? "p95" };
    if (beside) active = list.length - 1;
    change({ panels: list });
    search.value = "";
    found.replaceChildren();
    if (beside || list.length !== panels.length) build();
    else panels[active].draw();
  }

  // One panel: its head, its chart, the pointer over it.
  function make(place) {
    const own = () => state().panels[place];
    const set = (part) => {
      change({ panels: state().panels.map((one, at) => (at === place ? { ...one, ...part } : one)) });
      return panel.draw();
    };
    const head = element("span", { className: "ex-head" });
    const order = element(
      "select",
      { "aria-label": "Ranked by", onchange: () => set({ order: order.value }) },
      ...Object.entries(ORDERS).map(([key, label]) => element("option", { value: key, selected: key === (own().order ?? "p95") }, label)),
    );
    const many = element("select", { "aria-label": "How many", onchange: () => set({ n: Number(many.value) }) },
      ...[...new Set([1, 2, 3, 5, 8, own().n ?? 5])].sort((a, b) => a - b).map((n) => element("option", { value: n, selected: n === (own().n ?? 5) }, `top ${n}`)));
    // With two captures, whose worst objects are shown.
    const whose = element("select", { "aria-label": "Worst of", onchange: () => set({ worst_of: Number(whose.value) }) },
      ...[1, 2].map((n) => element("option", { value: n, selected: n === (own().worst_of ?? 1) }, n === 1 ? "of the first" : "of the second")));
    const pattern = element("input", {
      type: "search", placeholder: "names with ...", value: own().pattern ?? "", "aria-label": "Names with",
      onchange: () => set({ pattern: pattern.value }),
    });
    const remove = button("×", "Remove this panel", () => {
      change({ panels: state().panels.filter((_, at) => at !== place) });
      build();
    });
    const chart = element("div", { className: "ex-chart" });
    const cross = element("div", { className: "ex-cross" });
    const brush = element("div", { className: "ex-brush" });
    const legend = element("div", { className: "ex-legend" });
    const missing = element("div", { className: "ex-missing ex-warning", role: "status" });
    const room = element("div", { className: "ex-room" }, chart, cross, brush);
    const box = element("section", { className: "ex-panel", onpointerdown: () => activate(place) },
      element("div", { className: "ex-panel-bar" }, head, order, many, ...(model.get("about").others.length ? [whose] : []), pattern, remove), room, legend, missing);
    const panel = { place, box, room, cross, brush, view: null, answer: null, turn: 0 };

    panel.draw = async () => {
      const turn = panel.turn = ++turns;
      room.style.display = "";
      const [start, end] = span();
      const shared = { smooth: state().smooth, normalise: state().normalise, difference: state().difference };
      let answer;
      try {
        answer = await ask("panel", { panel: { ...own(), ...shared, start, end, buckets: buckets(room) } });
      } catch (error) {
        if (!closed && turn === panel.turn) fail(error.message, turn);
        return;
      }
      if (closed || turn !== panel.turn) return;
      panel.answer = answer;
      const some = new Set(answer.series.map((one) => one.label)).size;
      const of = answer.total > some ? ` · top ${some} of ${answer.total} ${answer.noun}` : ` · ${answer.noun}`;
      head.replaceChildren(element("b", {}, answer.name), ` ${answer.unit}${of}${answer.step_s ? ` · ${answer.step_s} s: mean, lowest to highest` : ""}`);
      head.title = answer.meaning;
      missing.textContent = answer.missing.join("; ");
      panel.view?.finalize();
      const shown = await vegaEmbed(chart, specification(answer, [start, end], room.clientWidth || 700), {
        mode: "vega-lite", renderer: "svg", actions: false, ast: true,
      });
      if (turn !== panel.turn) return shown.view.finalize();
      panel.view = shown.view;
      panel.say(null);
      box.dataset.drawn = turn;
    };
    // Said in the panel itself: the next one that is drawn would wipe a common line.
    function fail(text, turn) {
      panel.view?.finalize();
      panel.view = panel.answer = named = null;
      chart.replaceChildren();
      missing.textContent = "";
      room.style.display = "none";
      head.replaceChildren(element("b", {}, own().counter));
      legend.replaceChildren(element("span", { className: "ex-bad", role: "alert" }, text));
      box.dataset.drawn = turn;
    }
    // Its buttons stay while the pointer moves: one that is replaced between press and release is not clicked.
    let named = null;
    panel.say = (at) => {
      const { answer } = panel;
      if (!answer) return;
      if (named?.answer !== answer) {
        named = { answer, values: [], when: element("span", { className: "ex-muted" }) };
        // Names of lines that lie on each other at 0 say nothing each.
        const zeros = answer.series.filter(isZero);
        const folded = zeros.length > 2 ? zeros : [];
        const items = labels(answer).filter(([, , one]) => !folded.includes(one)).map(([label, hue, one]) => {
          const swatch = element("i", { className: "ex-swatch" });
          swatch.style.background = hue;
          const value = element("b");
          named.values.push([value, one]);
          return element("button", { type: "button", title: `What moved like ${one.full}`, onclick: () => showSimilar(answer, one) }, swatch, `${label} `, value);
        });
        const rest = folded.length ? [element("span", { className: "ex-muted", title: folded.map((one) => one.full).join(", ") }, `${folded.length} others at 0`)] : [];
        legend.replaceChildren(...items, ...rest, named.when);
      }
      for (const [value, one] of named.values) value.textContent = short(at === null ? one.ranked : nearest(one, at));
      named.when.textContent = at === null ? ORDERS[own().order ?? "p95"] : `at ${clock(at)}`;
    };
    return panel;
  }

  const buckets = (room) => Math.round((room.clientWidth || 700) / 2);
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  // An object keeps its hue in all panels. There are eight: one whose hue is taken in a panel has another one there.
  const hues = new Map();
  const labels = (answer) => {
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
  const isZero = (one) => [...one.low, ...one.high].every((value) => value === null || value === 0);
  const nearest = (one, at) => {
    let low = 0;
    let high = one.time.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (one.time[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return one.mean[low];
  };

  function specification(answer, [start, end], width) {
    const names = labels(answer);
    // A line ends where it would say what nobody measured; Vega would end it at each sample without a value.
    const rows = names.flatMap(([label, , one]) => one.time
      .map((time, at) => ({ time, label, mean: one.mean[at], low: one.low[at], high: one.high[at], other: one.capture > 1,
        piece: one.piece?.[at] ?? 0, alone: one.alone?.[at] ?? false }))
      .filter((row) => row.mean !== null));
    const lone = rows.filter((one) => one.alone);
    const detail = { field: "piece" };
    // What lasts nearly all the time would tint the whole chart: it is a strip at the top.
    const shown = new Set(answer.series.flatMap((one) => [one.full, one.instance, one.full.split(":")[0]]));
    const spells = findings.filter((one) => one.start !== null && one.end >= start && one.start <= end && (shown.has(one.name) || one.kind === "host"))
      .map((one) => ({ ...one, time: Math.max(one.start, start), to: Math.min(one.end, end), long: isLong(one) }));
    const notes = (state().notes ?? []).filter((one) => one.time >= start && one.time <= end);
    const x = { field: "time", type: "temporal", title: null, scale: { type: "utc", nice: false }, axis: { ...timeAxis(end - start, width), labelOverlap: true, labelFlush: 30 } };
    const top = Math.max(0, ...rows.map((one) => one.high ?? 0));
    const farthest = Math.max(top, -Math.min(0, ...rows.map((one) => one.low ?? 0)));
    const levels = answer.levels.filter((one) => one.value <= top * 1.5);
    // 5G for 5,000,000,000: all panels have the same room left of their times.
    const axis = farthest >= 100_000 ? { format: "~s" } : {};
    const y = (field) => ({ field, type: "quantitative", title: null, scale: { zero: true, nice: true }, axis });
    const hue = { field: "label", type: "nominal", legend: null, scale: { domain: names.map(([label]) => label), range: names.map(([, shade]) => shade) } };
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      width: Math.max(width - 60, 120), height: 150, autosize: { type: "pad" }, background: colour("page"),
      description: `${answer.name}, ${answer.unit}, of ${names.map(([label]) => label).join(", ")}`,
      layer: [
        // Two points that are not seen give all panels the same span.
        { data: { values: [{ time: start }, { time: end }] }, mark: { type: "point", opacity: 0 }, encoding: { x } },
        ...[false, true].filter((long) => spells.some((one) => one.long === long)).map((long) => ({ data: { values: spells.filter((one) => one.long === long) }, mark: { type: "rect", opacity: long ? 0.7 : 0.14, clip: true },
          encoding: { x, x2: { field: "to" }, ...(long ? { y: { value: 0 }, y2: { value: 4 } } : {}),
            color: { field: "severity", type: "nominal", legend: null, scale: { domain: ["critical", "warning"], range: [colour("critical"), colour("warn")] } },
            tooltip: { field: "verdict" } } })),
        { data: { values: rows }, mark: { type: "area", opacity: 0.15 }, encoding: { x, y: y("low"), y2: { field: "high" }, color: hue, detail } },
        { data: { values: rows }, mark: { type: "line", strokeWidth: 1.6 }, encoding: { x, y: y("mean"), color: hue, detail, strokeDash: { field: "other", type: "nominal", legend: null, scale: { domain: [false, true], range: [[1, 0], [5, 3]] } } } },
        ...(lone.length ? [{ data: { values: lone }, mark: { type: "point", filled: true, opacity: 1, size: 24 }, encoding: { x, y: y("mean"), color: hue } }] : []),
        ...(levels.length ? [{ data: { values: levels }, mark: { type: "rule", strokeDash: [6, 4] },
          encoding: { y: { ...y("value"), scale: undefined }, color: { field: "level", type: "nominal", legend: null, scale: { domain: ["warn", "critical"], range: [colour("warn"), colour("critical")] } } } }] : []),
        ...(notes.length ? [{ data: { values: notes }, encoding: { x }, layer: [{ mark: { type: "rule", strokeDash: [2, 2] } }, { mark: { type: "text", align: "left", dx: 3, baseline: "top" }, encoding: { y: { value: 2 }, text: { field: "text" } } }] }] : []),
      ],
      resolve: { scale: { color: "independent" } },
      config: { view: { stroke: null }, font: "system-ui, sans-serif",
        axis: { domainColor: colour("axis"), tickColor: colour("axis"), gridColor: colour("grid"), labelColor: colour("muted"), labelFontSize: 11 },
        axisX: { grid: false }, axisY: { minExtent: 44, maxExtent: 44 }, rule: { color: colour("muted") }, text: { color: colour("ink"), fontSize: 11 } },
    };
  }

  function activate(place) {
    active = place;
    panels.forEach((one) => one.box.classList.toggle("ex-active", one.place === place));
  }

  // The pointer: a line at one time in all panels; dragged over a range it zooms all of them.
  const left = (panel) => panel.view.origin()[0] + (panel.room.querySelector("svg").getBoundingClientRect().left - panel.room.getBoundingClientRect().left);
  const timeAt = (panel, event) => {
    const [start, end] = span();
    const inside = event.clientX - panel.room.getBoundingClientRect().left - left(panel);
    return start + (Math.min(Math.max(inside, 0), panel.view.width()) / panel.view.width()) * (end - start);
  };
  const placeOf = (panel, time) => {
    const [start, end] = span();
    return left(panel) + ((time - start) / (end - start)) * panel.view.width();
  };
  let from = null;
  const point = (time) => {
    for (const one of panels) {
      if (!one.view) continue;
      one.cross.style.display = time === null ? "none" : "block";
      if (time !== null) one.cross.style.left = `${placeOf(one, time)}px`;
      one.say(time);
    }
  };
  const paint = (a, b) => {
    for (const one of panels) {
      if (!one.view) continue;
      one.brush.style.display = a === null ? "none" : "block";
      if (a === null) continue;
      const [low, high] = [placeOf(one, Math.min(a, b)), placeOf(one, Math.max(a, b))];
      Object.assign(one.brush.style, { left: `${low}px`, width: `${high - low}px` });
    }
  };
  const over = (event) => panels.find((one) => one.view && one.room.contains(event.target));
  charts.addEventListener("pointermove", (event) => {
    const panel = over(event);
    if (!panel) return from === null && point(null);
    const time = timeAt(panel, event);
    point(time);
    if (from !== null) paint(from, time);
  });
  charts.addEventListener("pointerleave", () => { point(null); paint(null); from = null; });
  charts.addEventListener("pointerdown", (event) => {
    const panel = over(event);
    if (!panel || event.button !== 0) return;
    event.preventDefault();
    // A range may end beside the chart: its end is the chart's edge.
    panel.room.setPointerCapture(event.pointerId);
    from = timeAt(panel, event);
  });
  charts.addEventListener("pointerup", (event) => {
    const panel = over(event);
    const began = from;
    from = null;
    paint(null);
    if (!panel || began === null) return;
    const ended = timeAt(panel, event);
    const [start, end] = span();
    if (Math.abs(ended - began) < (end - start) / 100) {
      pinned = began;
      return tell(`${clock(began, true)} UTC`);
    }
    zoom([Math.min(began, ended), Math.max(began, ended)]);
  });
  charts.addEventListener("dblclick", (event) => over(event) && zoom(null));
  charts.addEventListener("wheel", (event) => {
    const panel = over(event);
    if (!panel || !event.ctrlKey) return;
    event.preventDefault();
    const at = timeAt(panel, event);
    const factor = event.deltaY > 0 ? 1.4 : 1 / 1.4;
    const [start, end] = span();
    const [first, last] = whole();
    const range = [Math.max(first, at - (at - start) * factor), Math.min(last, at + (end - at) * factor)];
    zoom(range[0] <= first && range[1] >= last ? null : range);
  }, { passive: false });

  function zoom(range) {
    since = null;
    change({ range });
    tell(range ? stretch(...range) : "");
    return redraw();
  }

  const redraw = () => Promise.all(panels.map((one) => one.draw()));
  async function build() {
    panels.forEach((one) => one.view?.finalize());
    active = Math.min(active, Math.max(state().panels.length - 1, 0));
    panels = state().panels.map((_, place) => make(place));
    charts.replaceChildren(...panels.map((one) => one.box));
    activate(active);
    await redraw();
  }

  // What is shown beside the charts, or below them where the page is narrow.
  async function showRows(what, said, headed, columns) {
    tell("Looking through all counters ...");
    try {
      const { rows, at } = await ask(what, said);
      const heading = headed(at);
      tell("");
      below.replaceChildren(
        element("h4", {}, heading),
        element("table", {},
          element("tr", {}, ...["counter", ...columns.values()].map((text) => element("th", {}, text))),
          ...rows.map((one) => element("tr", { tabIndex: 0, title: "Show it in a panel",
            onclick: () => { change({ panels: [...state().panels, { counter: one.counter, table: one.table, pattern: escaped(one.instance) }] }); build(); } },
            seriesName(one),
            ...[...columns.keys()].map((key) => element("td", {}, short(one[key])))))),
      );
    } catch (error) {
      tell(error.message, true);
    }
  }
  // The counter as esxtop's screen has it, the object, the unit.
  function seriesName({ table, counter, name }) {
    const known = model.get("counters").find((one) => one.table === table && one.column === counter);
    return element("td", { title: `${table}.${counter} ${name}` }, element("b", {}, known?.name ?? `${table}.${counter}`),
      name ? ` of ${brief(name)} ` : " ", element("span", { className: "ex-muted" }, known?.unit ?? ""));
  }
  function showChanges() {
    // Nothing is before the whole time: there it is when most changed together.
    const start = since ?? state().range?.[0] ?? null;
    const columns = new Map([["before", "before"], ["after", "after"], ["beyond", "beyond"]]);
    showRows("changes", { start }, (at) => at === null ? "What changed most, each at its own time (no common moment)" : `What changed most at ${clock(at, true)} UTC`, columns);
  }
  function showSimilar(answer, one) {
    const [start, end] = span();
    const { counter, table } = answer;
    const heading = () => `What moved most like ${answer.name} of ${one.full}, ${stretch(start, end)}`;
    const columns = new Map([["correlation", "correlation"], ["lag_s", "seconds later"]]);
    showRows("similar", { counter, table, instance: one.instance, capture: one.capture, start, end }, heading, columns);
  }
  function showSimilarToFirst() {
    const answer = panels[active]?.answer;
    if (answer) showSimilar(answer, answer.series[0]);
    else tell(NO_CHART, true);
  }
  const escaped = (text) => (text ?? "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  function showFindings() {
    below.replaceChildren(element("h4", { className: "ex-findings" }, findings.length ? "Findings, most important first" : "No finding above info"),
      ...findings.map((one) => element("div", { className: "ex-hit", tabIndex: 0, onclick: () => openFinding(one) },
        element("b", { className: `ex-${one.severity}` }, one.severity), ` ${one.verdict} `,
        element("span", { className: "ex-sure", title: one.basis }, one.likelihood))));
  }
  function showChips() {
    chips.replaceChildren(...findings.map((one) => {
      const lasts = one.start === null ? "" : isLong(one) ? "throughout" : `${clock(one.start)} to ${clock(one.end)}`;
      return element("button", { type: "button", className: `ex-chip ex-${one.severity}`, title: one.verdict, onclick: () => openFinding(one) },
        element("b", {}, one.severity), " ", element("span", { className: "ex-muted" }, lasts), ` ${brief(one.name)}: ${one.title}`);
    }));
  }
  // Its spell, in the panels that it rests on.
  function openFinding(one) {
    if (one.panels.length) change({ panels: one.panels });
    if (one.start !== null) change({ range: isLong(one) ? null : around(one) });
    since = one.start === null || isLong(one) ? null : one.start;
    tell(stretch(...span()));
    return build();
  }
  const isLong = (one) => one.end - one.start > 0.7 * (whole()[1] - whole()[0]);
  const around = (one) => {
    const [first, last] = whole();
    const more = Math.max((one.end - one.start) / 2, (last - first) / 50);
    return [Math.max(first, one.start - more), Math.min(last, one.end + more)];
  };

  function addNote() {
    if (pinned === null) return tell("Click in a chart first: a note stands at a time.", true);
    const text = element("input", { placeholder: `Note at ${clock(pinned)}, then Enter`, className: "ex-note" });
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      change({ notes: [...(state().notes ?? []), { time: pinned, text: text.value }] });
      below.replaceChildren();
      redraw();
    });
    below.replaceChildren(text);
    text.focus();
  }

  async function copyCode() {
    let code;
    try {
      ({ code } = await ask("code", panels.length ? { buckets: buckets(panels[0].room) } : {}));
    } catch (error) {
      return tell(error.message, true);
    }
    const area = element("textarea", { className: "ex-code", value: code, rows: 14, readOnly: true, "aria-label": "The view as code" });
    below.replaceChildren(area);
    area.select();
    try {
      await navigator.clipboard.writeText(code);
      tell("Copied.");
    } catch {
      tell("Copy it from below: the browser does not let the page do it.");
    }
  }

  const download = (name, address) => element("a", { href: address, download: name }).click();
  async function save(kind) {
    const drawn = panels.filter((each) => each.view);
    if (!drawn.length) return tell(NO_CHART, true);
    for (const one of drawn) {
      const name = `${one.answer.table}-${one.answer.counter}.${kind}`;
      download(name, await one.view.toImageURL(kind, kind === "png" ? 2 : 1));
    }
  }
  function saveTable() {
    const cell = (text) => `"${String(text).replace(/"/g, '""').replace(/^[=+\-@\t\r]/, "'$&")}"`;
    const drawn = panels.filter((each) => each.answer);
    if (!drawn.length) return tell(NO_CHART, true);
    const lines = [["counter", "unit", "instance", "time_utc", "mean", "low", "high", "capture"].join(",")];
    for (const { answer } of drawn) {
      for (const one of answer.series) {
        one.time.forEach((time, at) => lines.push([cell(answer.name), cell(answer.unit), cell(one.instance), new Date(time).toISOString(), one.mean[at] ?? "", one.low[at] ?? "", one.high[at] ?? "", one.capture].join(",")));
      }
    }
    const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    download("explorer.csv", address);
    URL.revokeObjectURL(address);
  }

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
    build();
  };
  model.on("change:view", changed);
  // What is chosen by a click is chosen by Enter; those that do more have handlers of their own.
  below.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[tabindex]")) event.target.click();
  });
  // JupyterLab keeps Enter for itself: without this a pattern is taken only when its box is left.
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input")) event.target.dispatchEvent(new Event("change"));
  });
  search.addEventListener("input", look);
  // Enter adds the first hit as a panel; the arrows walk through the hits.
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector(".ex-hit")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    if (event.key === "ArrowDown") move(event, found.querySelector(".ex-hit"));
  });
  found.addEventListener("keydown", (event) => {
    const hit = event.target.closest(".ex-hit");
    const next = { ArrowDown: hit?.nextElementSibling, ArrowUp: hit?.previousElementSibling ?? search }[event.key];
    if (next) move(event, next);
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
    const listed = below.querySelector(".ex-findings");
    ({ findings } = await ask("findings"));
    showChips();
    if (listed?.isConnected || (findings.length && !below.childElementCount)) showFindings();
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
      if (model.get("about").judged) ({ findings } = await ask("findings"));
    } catch (error) {
      tell(error.message, true);
    }
    if (findings.length && !closed) {
      showChips();
      showFindings();
      await redraw();
    }
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
