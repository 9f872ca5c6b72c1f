// A panel as lines over time: a chart of Vega-Lite.

const LETTER = 6;
const LABEL_ROWS = 3;

// What all charts share: `colour` gives the colour of a role.
const chartFrame = (colour, width, height) => ({
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  width, height, autosize: { type: "pad" }, background: colour("page"),
  resolve: { scale: { color: "independent" } },
  config: {
    view: { stroke: null }, font: "system-ui, sans-serif",
    axis: { domainColor: colour("axis"), tickColor: colour("axis"), gridColor: colour("grid"), labelColor: colour("muted"), labelFontSize: 11 },
    axisX: { grid: false }, rule: { color: colour("muted") }, text: { color: colour("ink"), fontSize: 11 },
  },
});
const timeEncoding = (start, end, width) => ({
  field: "time", type: "temporal", title: null, scale: { type: "utc", nice: false },
  axis: { ...timeAxis(end - start, width), labelOverlap: true, labelFlush: 30 },
});
// Two points that are not seen give all panels the same span.
const spanLayer = (start, end, x) => ({ data: { values: [{ time: start }, { time: end }] }, mark: { type: "point", opacity: 0 }, encoding: { x } });

// Names of spells where they fit, one below the other where spells overlap.
function spellLabels(spells, [start, end], width) {
  const ends = [];
  const labels = [];
  for (const one of spells.filter((each) => !each.long).sort((a, b) => a.time - b.time)) {
    const letters = Math.floor((((Math.min(one.to, end) - one.time) / (end - start)) * width - 6) / LETTER);
    const row = [...Array(LABEL_ROWS).keys()].find((at) => !(ends[at] > one.time));
    if (letters < 5 || row === undefined) continue;
    ends[row] = one.to;
    const text = one.title.length > letters ? `${one.title.slice(0, letters - 1)}…` : one.title;
    labels.push({ time: one.time, text, row, severity: one.severity });
  }
  return labels;
}

const bySeverity = (colour) => ({ field: "severity", type: "nominal", legend: null, scale: { domain: ["critical", "warning"], range: [colour("critical"), colour("warn")] } });

// What lasts nearly all the time would tint the whole chart: it is a strip at the top.
function spellLayers(spells, range, width, colour, x) {
  const severity = bySeverity(colour);
  const areas = [false, true].filter((long) => spells.some((one) => one.long === long)).map((long) => ({
    data: { values: spells.filter((one) => one.long === long) },
    mark: { type: "rect", opacity: long ? 0.7 : 0.14, clip: true },
    encoding: { x, x2: { field: "to" }, ...(long ? { y: { value: 0 }, y2: { value: 4 } } : {}), color: severity },
  }));
  const labels = spellLabels(spells, range, width);
  const words = [...new Set(labels.map((one) => one.row))].map((row) => ({
    data: { values: labels.filter((one) => one.row === row) },
    mark: { type: "text", align: "left", baseline: "top", dx: 3, fontSize: 10 },
    encoding: { x, y: { value: 6 + 12 * row }, text: { field: "text" }, color: severity },
  }));
  return { areas, words };
}

// The limits of a rule, each with its number at the right end.
function limitLayers(levels, unit, width, colour, y) {
  if (!levels.length) return [];
  const named = levels.map((one) => ({ ...one, text: `${one.level} ${short(one.value)} ${unit.split(" ")[0]}` }));
  const hue = { field: "level", type: "nominal", legend: null, scale: { domain: ["warn", "critical"], range: [colour("warn"), colour("critical")] } };
  const at = { ...y("value"), scale: undefined };
  return [
    { data: { values: named }, mark: { type: "rule", strokeDash: [6, 4] }, encoding: { y: at, color: hue } },
    { data: { values: named }, mark: { type: "text", align: "right", baseline: "bottom", dy: -1, fontSize: 10 }, encoding: { x: { value: width }, y: at, text: { field: "text" }, color: hue } },
  ];
}

// Where the words of notes stand: right of their lines, in the last third left of them, in a row where nothing is.
function noteWords(notes, [start, end], width) {
  const most = Math.floor((0.6 * width) / LETTER);
  const rows = [...Array(LABEL_ROWS)].map(() => []);
  return [...notes].sort((a, b) => a.time - b.time).map((one) => {
    const text = one.text.length > most ? `${one.text.slice(0, most - 1)}…` : one.text;
    const left = one.time > start + (end - start) * 2 / 3;
    const long = ((text.length * LETTER + 6) / width) * (end - start);
    const [from, to] = left ? [one.time - long, one.time] : [one.time, one.time + long];
    const free = rows.findIndex((taken) => taken.every(([first, last]) => to <= first || from >= last));
    const row = free < 0 ? LABEL_ROWS - 1 : free;
    rows[row].push([from, to]);
    return { ...one, text, left, row };
  });
}

function noteLayers(notes, x, range, width) {
  if (!notes.length) return [];
  const words = noteWords(notes, range, width);
  const kinds = [false, true].flatMap((left) => [...Array(LABEL_ROWS).keys()].map((row) => words.filter((one) => one.left === left && one.row === row)));
  return [
    { data: { values: notes }, mark: { type: "rule", strokeDash: [2, 2] }, encoding: { x } },
    ...kinds.filter((some) => some.length).map((some) => ({
      data: { values: some },
      mark: { type: "text", align: some[0].left ? "right" : "left", dx: some[0].left ? -3 : 3, baseline: "top" },
      encoding: { x, y: { value: 2 + 12 * some[0].row }, text: { field: "text" } },
    })),
  ];
}

// `names`: label, colour and series of each line. `spells`: findings in the range, each with `time`, `to`, `long`.
function linesChart(answer, { range, width, height, colour, names, spells, notes }) {
  const [start, end] = range;
  const room = Math.max(width - 60, 120);
  // A line ends where it would say what nobody measured; Vega would end it at each sample without a value.
  const rows = names.flatMap(([label, , one]) => one.time
    .map((time, at) => ({ time, label, mean: one.mean[at], low: one.low[at], high: one.high[at], other: one.capture > 1,
      piece: one.piece?.[at] ?? 0, alone: one.alone?.[at] ?? false }))
    .filter((row) => row.mean !== null));
  const lone = rows.filter((one) => one.alone);
  const detail = { field: "piece" };
  const x = timeEncoding(start, end, width);
  const top = Math.max(0, ...rows.map((one) => one.high ?? 0));
  const farthest = Math.max(top, -Math.min(0, ...rows.map((one) => one.low ?? 0)));
  // 5G for 5,000,000,000: all panels have the same room left of their times.
  const axis = { tickCount: height < 120 ? 3 : 6, ...(farthest >= 100_000 ? { format: "~s" } : {}) };
  const y = (field) => ({ field, type: "quantitative", title: null, scale: { zero: true, nice: true }, axis });
  const hue = { field: "label", type: "nominal", legend: null, scale: { domain: names.map(([label]) => label), range: names.map(([, shade]) => shade) } };
  const dash = { field: "other", type: "nominal", legend: null, scale: { domain: [false, true], range: [[1, 0], [5, 3]] } };
  const { areas, words } = spellLayers(spells, range, room, colour, x);
  const frame = chartFrame(colour, room, height);
  return {
    ...frame,
    description: `${answer.name}, ${answer.unit}, of ${names.map(([label]) => label).join(", ")}`,
    layer: [
      spanLayer(start, end, x),
      ...areas,
      { data: { values: rows }, mark: { type: "area", opacity: 0.15 }, encoding: { x, y: y("low"), y2: { field: "high" }, color: hue, detail } },
      { data: { values: rows }, mark: { type: "line", strokeWidth: 1.6 }, encoding: { x, y: y("mean"), color: hue, detail, strokeDash: dash } },
      ...(lone.length ? [{ data: { values: lone }, mark: { type: "point", filled: true, opacity: 1, size: 24 }, encoding: { x, y: y("mean"), color: hue } }] : []),
      ...limitLayers(answer.levels.filter((one) => one.value <= top * 1.5), answer.unit, room, colour, y),
      ...words,
      ...noteLayers(notes, x, range, room),
    ],
    config: { ...frame.config, axisY: { minExtent: 44, maxExtent: 44 } },
  };
}
