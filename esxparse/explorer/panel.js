// One panel: its head, its chart, its legend.

const DRAWN_AS = { lines: "lines", heat: "heat map" };

const option = (value, label, selected) => element("option", { value, selected }, label);
const choice = (label, options, act) => {
  const made = element("select", { "aria-label": label, onchange: () => act(made.value) }, ...options);
  return made;
};

// `app`: ask, state, change, span, build, activate, colour, named, spellsIn, notes, objects, drawer, others, turn, closed.
function makePanel(app, place) {
  const own = () => app.state().panels[place];
  const set = (part) => {
    app.change({ panels: app.state().panels.map((one, at) => (at === place ? { ...one, ...part } : one)) });
    return panel.draw();
  };
  // The page of an object has a panel for each thing: no ranks, less height, and the legend beside the title.
  const small = Boolean(own().title);
  const head = element("span", { className: "ex-head" });
  const count = own().n ?? 5;
  const order = choice("Ranked by", Object.entries(ORDERS).map(([key, label]) => option(key, label, key === (own().order ?? "p95"))), (value) => set({ order: value }));
  const counts = [...new Set([1, 2, 3, 5, 8, count])].sort((a, b) => a - b);
  const many = choice("How many", counts.map((n) => option(n, `top ${n}`, n === count)), (value) => set({ n: Number(value) }));
  // With two captures, whose worst objects are shown.
  const whose = choice("Worst of", ["of the first", "of the second"].map((words, at) => option(at + 1, words, at + 1 === (own().worst_of ?? 1))), (value) => set({ worst_of: Number(value) }));
  const kind = choice("Drawn as", Object.entries(DRAWN_AS).map(([key, label]) => option(key, label, key === (own().kind ?? "lines"))), (value) => set({ kind: value }));
  const pattern = element("input", {
    type: "search", placeholder: "names with ...", value: own().pattern ?? "", "aria-label": "Names with",
    onchange: () => set({ pattern: pattern.value }),
  });
  const remove = button("×", "Remove this panel", () => {
    app.change({ panels: app.state().panels.filter((_, at) => at !== place) });
    app.build();
  });
  const chart = element("div", { className: "ex-chart" });
  const cross = element("div", { className: "ex-cross" });
  const brush = element("div", { className: "ex-brush" });
  const tip = makeTip();
  const legend = element("div", { className: "ex-legend" });
  const missing = element("div", { className: "ex-missing ex-warning", role: "status" });
  const room = element("div", { className: "ex-room" }, chart, cross, brush, tip.box);
  const controls = small ? [legend] : [order, many, ...(app.others ? [whose] : []), pattern, kind];
  const box = element("section", { className: small ? "ex-panel ex-small" : "ex-panel", onpointerdown: () => app.activate(place) },
    element("div", { className: "ex-panel-bar" }, head, ...controls, remove), room, ...(small ? [] : [legend]), missing);
  const panel = { place, box, room, cross, brush, tip, view: null, answer: null, names: [], turn: 0 };

  const subtitle = (answer) => {
    if (answer.kind === "heat") {
      const of = answer.total > answer.rows.length ? `the worst ${answer.rows.length} of ${answer.total} ${answer.noun}` : `all ${answer.rows.length} ${answer.noun}`;
      return ` ${answer.unit} · ${of}, the worst first · cell: ${answer.gathered ? `highest of ${answer.step_s} s` : "one sample"}`;
    }
    const some = new Set(answer.series.map((one) => one.label)).size;
    const of = small ? "" : answer.total > some ? ` · top ${some} of ${answer.total} ${answer.noun}` : ` · ${answer.noun}`;
    return ` ${answer.unit}${of}${answer.step_s ? ` · ${answer.step_s} s: mean, lowest to highest` : ""}`;
  };

  const chartOf = (answer, range) => {
    const shared = { range, width: room.clientWidth || 700, colour: app.colour, notes: app.notes(range) };
    if (answer.kind === "heat") return heatChart(answer, shared);
    return linesChart(answer, { ...shared, height: small ? 90 : 150, names: panel.names, spells: app.spellsIn(answer, range) });
  };

  panel.buckets = () => Math.round((room.clientWidth || 700) / 2);
  panel.draw = async () => {
    const turn = panel.turn = app.turn();
    room.style.display = "";
    const range = app.span();
    const { smooth, normalise, difference } = app.state();
    let answer;
    try {
      answer = await app.ask("panel", { panel: { ...own(), smooth, normalise, difference, start: range[0], end: range[1], buckets: panel.buckets() } });
    } catch (error) {
      if (!app.closed() && turn === panel.turn) fail(error.message, turn);
      return;
    }
    if (app.closed() || turn !== panel.turn) return;
    panel.answer = answer;
    panel.names = app.named(answer);
    head.replaceChildren(element("b", {}, answer.name), subtitle(answer));
    head.title = answer.meaning;
    missing.textContent = answer.missing.join("; ");
    // All objects have a row: there is nothing to rank.
    order.hidden = many.hidden = answer.kind === "heat";
    panel.view?.finalize();
    const shown = await vegaEmbed(chart, chartOf(answer, range), { mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: false });
    if (turn !== panel.turn) return shown.view.finalize();
    panel.view = shown.view;
    fillLegend();
    panel.say(null);
    box.dataset.drawn = turn;
  };

  // Said in the panel itself: the next one that is drawn would wipe a common line.
  function fail(text, turn) {
    panel.view?.finalize();
    panel.view = panel.answer = null;
    chart.replaceChildren();
    missing.textContent = "";
    room.style.display = "none";
    head.replaceChildren(element("b", {}, own().title ?? own().counter));
    legend.replaceChildren(element("span", { className: "ex-bad", role: "alert" }, text));
    box.dataset.drawn = turn;
  }

  const item = ([label, hue, one]) => {
    const swatch = element("i", { className: "ex-swatch" });
    swatch.style.background = hue;
    const value = element("b");
    values.push([value, one]);
    const object = app.objects.objectOf(one.full, one.label);
    const alike = () => app.drawer.showSimilar(panel.answer, one);
    const name = element("button", { type: "button", className: "ex-name",
      title: object ? `Everything about ${one.full}` : `What moved like ${one.full}`,
      onclick: () => (object ? app.objects.open(object) : alike()) }, swatch, `${label} `, value);
    const like = element("button", { type: "button", className: "ex-alike", title: `What moved like ${one.full}`, onclick: alike }, "≈");
    return element("span", { className: "ex-item" }, name, ...(object ? [like] : []));
  };

  // Its buttons stay while the pointer moves: one that is replaced between press and release is not clicked.
  let values = [];
  const when = element("span", { className: "ex-muted" });
  function fillLegend() {
    values = [];
    const { answer } = panel;
    if (answer.kind === "heat") return legend.replaceChildren(...heatKey(answer, app.colour));
    // Names of lines that lie on each other at 0 say nothing each.
    const zeros = answer.series.filter(isZero);
    const folded = zeros.length > 2 ? zeros : [];
    const items = panel.names.filter(([, , one]) => !folded.includes(one)).map(item);
    const rest = folded.length ? [element("span", { className: "ex-muted", title: folded.map((one) => one.label).join(", ") }, `${folded.length} others at 0`)] : [];
    legend.replaceChildren(...items, ...rest, when);
  }
  panel.refill = () => { if (panel.view) { fillLegend(); panel.say(null); } };
  panel.say = (at) => {
    for (const [value, one] of values) value.textContent = short(at === null ? one.ranked : nearest(one, at));
    when.textContent = at === null ? ORDERS[own()?.order ?? "p95"] : `at ${clock(at)}`;
  };
  return panel;
}
