// What is beside the charts, or below them where the page is narrow: findings, what changed, what moved alike.

const SPARK = { width: 64, height: 16 };

// A line of a few values, and where the change is.
function sparkline(values, at) {
  const known = values.filter((one) => one !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (place) => (place / Math.max(values.length - 1, 1)) * SPARK.width;
  const y = (one) => SPARK.height - 1 - ((one - low) / (high - low || 1)) * (SPARK.height - 2);
  const points = values.map((one, place) => (one === null ? "" : `${x(place).toFixed(1)},${y(one).toFixed(1)}`)).join(" ");
  const line = `<polyline points="${points}" fill="none" stroke="var(--blue)" stroke-width="1.2"/>`;
  const mark = at === null ? "" : `<line x1="${at * SPARK.width}" x2="${at * SPARK.width}" y1="0" y2="${SPARK.height}" stroke="var(--muted)" stroke-dasharray="2 2"/>`;
  const picture = element("span", { className: "ex-spark" });
  picture.innerHTML = `<svg width="${SPARK.width}" height="${SPARK.height}" role="img" aria-label="over the whole time">${mark}${line}</svg>`;
  return picture;
}

// `app`: ask, tell, addPanel, openFinding, objects, state, span, findings, chosen (the answer of the active panel), since.
function makeDrawer(app) {
  const below = element("div", { className: "ex-below" });
  const chips = element("div", { className: "ex-chips", role: "group", "aria-label": "Findings" });

  const isOf = (name) => (one) => one.names.includes(name);
  const cells = (all) => all.map((text) => element("td", {}, text));

  // The counter as esxtop's screen has it, the object, the unit.
  function seriesName(one) {
    const object = app.objects.objectOf(one.instance);
    return element("td", { title: `${one.table}.${one.counter} ${one.name}` }, element("b", {}, one.title),
      ...(one.name ? [" of ", object ? app.objects.nameButton(object) : brief(one.name)] : []), " ", element("span", { className: "ex-muted" }, one.unit));
  }

  async function showRows(what, said, headed, columns, row) {
    app.tell("Looking through all counters ...");
    try {
      const { rows, at } = await app.ask(what, said);
      app.tell("");
      below.replaceChildren(
        element("h4", {}, headed(at)),
        element("table", {},
          element("tr", {}, ...["counter", ...columns].map((text) => element("th", {}, text))),
          ...rows.map((one) => element("tr", { tabIndex: 0, title: "Show it in a panel",
            onclick: () => app.addPanel({ counter: one.counter, table: one.table, pattern: escaped(one.instance) }) },
          seriesName(one), ...cells(row(one))))),
      );
    } catch (error) {
      app.tell(error.message, true);
    }
  }

  function showChanges() {
    // Nothing is before the whole time: there it is when most changed together.
    const start = app.since() ?? app.state().range?.[0] ?? null;
    const heading = (at) => (at === null ? "What changed most, each at its own time (no common moment)" : `What changed most at ${clock(at, true)} UTC`);
    const size = (one) => `${short(one.before)} → ${short(one.after)}`;
    showRows("changes", { start }, heading, ["before → after", "times its noise", "whole time"],
      (one) => [size(one), short(one.beyond), sparkline(one.spark, one.at)]);
  }

  function showSimilar(answer, one) {
    const [start, end] = app.span();
    const { counter, table } = one.of ?? answer;
    const heading = () => `What moved most like ${one.of?.name ?? answer.name} of ${one.full}, ${stretch(start, end)}`;
    showRows("similar", { counter, table, instance: one.instance, capture: one.capture, start, end }, heading, ["correlation", "seconds later"],
      (each) => [short(each.correlation), short(each.lag_s)]);
  }

  function showSimilarToFirst() {
    const answer = app.chosen();
    if (answer?.series.length) showSimilar(answer, answer.series[0]);
    else app.tell(answer ? "Choose a panel with lines first." : NO_CHART, true);
  }

  const listed = (all) => all.map((one) => {
    const object = app.objects.objectOf(one.names[0]);
    return element("div", { className: "ex-hit", tabIndex: 0, onclick: () => app.openFinding(one) },
      element("b", { className: `ex-${one.severity}` }, one.severity), ...(object ? [" ", app.objects.nameButton(object)] : []), ` ${one.verdict} `,
      element("span", { className: "ex-sure", title: one.basis }, one.likelihood));
  });

  // Those of the object whose page is open come first.
  function showFindings() {
    const findings = app.findings();
    const name = app.state().object?.name;
    const own = name ? findings.filter(isOf(name)) : findings;
    const others = findings.filter((one) => !own.includes(one));
    const heading = name ? `${own.length ? "Findings" : "No finding"} on ${brief(name)}` : findings.length ? "Findings, most important first" : "No finding above info";
    below.replaceChildren(element("h4", { className: "ex-findings" }, heading), ...listed(own),
      ...(others.length ? [element("h4", {}, "Other findings"), ...listed(others)] : []));
  }

  function showChips() {
    chips.replaceChildren(...app.findings().map((one) => {
      const lasts = one.start === null ? "" : app.isLong(one) ? "throughout" : `${clock(one.start)} to ${clock(one.end)}`;
      const object = app.objects.objectOf(one.names[0]);
      return element("span", { className: `ex-chip ex-${one.severity}`, title: one.verdict },
        element("button", { type: "button", onclick: () => app.openFinding(one) }, element("b", {}, one.severity), " ", element("span", { className: "ex-muted" }, lasts), ` ${one.title}`),
        object ? app.objects.nameButton(object) : element("span", {}, brief(one.name)));
    }));
  }

  const update = () => {
    showChips();
    if (below.querySelector(".ex-findings") || (app.findings().length && !below.childElementCount)) showFindings();
  };
  return { below, chips, showChanges, showSimilar, showSimilarToFirst, showFindings, update };
}
