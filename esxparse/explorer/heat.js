// A panel as a heat map: a row for each object, the worst first; a click on a cell opens the object at its time.

const ROW = 14;
const MOST_NAME = 26;
const heatShade = (colour, place) => colour(`heat-${place}`);
const heatClass = (answer, high) => {
  const place = answer.edges.findIndex((edge) => high < edge);
  return answer.classes[place < 0 ? answer.classes.length - 1 : place];
};
const heatNameWidth = (answer) => Math.max(44, Math.min(MOST_NAME, Math.max(...answer.rows.map((one) => one.label.length), 0)) * 6.4 + 8);

function heatChart(answer, { range, width, colour, notes }) {
  const [start, end] = range;
  const names = heatNameWidth(answer);
  const { label, time, high } = answer.cells;
  const inside = (at) => Math.min(Math.max(at, start), end);
  const values = label.map((name, at) => ({ label: name, time: time[at], until: inside(time[at] + answer.step_s * 1000), class: heatClass(answer, high[at]) }));
  const gaps = answer.gaps.label.map((name, at) => ({ label: name, time: answer.gaps.time[at], until: inside(answer.gaps.end[at]) }));
  const x = timeEncoding(start, end, width - names);
  const y = { field: "label", type: "nominal", title: null, sort: null, scale: { domain: answer.rows.map((one) => one.label) }, axis: { labelLimit: names, minExtent: names, maxExtent: names } };
  const hue = { field: "class", type: "nominal", legend: null, scale: { domain: answer.classes, range: answer.classes.map((_, place) => heatShade(colour, place)) } };
  return {
    ...chartFrame(colour, Math.max(width - names - 16, 120), ROW * answer.rows.length),
    description: `${answer.name}, ${answer.unit}, of ${answer.rows.length} ${answer.noun}, the worst first`,
    layer: [
      spanLayer(start, end, x),
      { data: { values }, mark: { type: "rect", clip: true }, encoding: { x, x2: { field: "until" }, y, color: hue } },
      ...(gaps.length ? [{ data: { values: gaps }, mark: { type: "rule", strokeWidth: 1, clip: true }, encoding: { x, x2: { field: "until" }, y } }] : []),
      ...noteLayers(notes, x, range, Math.max(width - names - 16, 120)),
    ],
  };
}

// The row at a height of the chart, and its highest value at a time.
function heatCell(answer, time, share) {
  const row = answer.rows[Math.floor(share * answer.rows.length)];
  if (!row) return null;
  const { label, time: times, high } = answer.cells;
  const at = times.findIndex((one, place) => label[place] === row.label && one <= time && time < one + answer.step_s * 1000);
  return { row, high: at < 0 ? null : high[at], from: at < 0 ? null : times[at] };
}

const heatKey = (answer, colour) => answer.classes.map((name, place) => {
  const swatch = element("i", { className: "ex-swatch" });
  swatch.style.background = heatShade(colour, place);
  return element("span", {}, swatch, name);
});
