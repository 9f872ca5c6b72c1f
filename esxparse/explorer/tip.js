// What is under the pointer, in the half of the chart where the pointer is not: it never covers the line being read.

function makeTip() {
  const box = element("div", { className: "ex-tip", role: "presentation" });
  const show = (lines, pointer, width) => {
    box.replaceChildren(...lines.map((line) => element("div", {}, ...line)));
    box.style.display = lines.length ? "block" : "none";
    const right = pointer < width / 2;
    Object.assign(box.style, { left: right ? "auto" : "56px", right: right ? "12px" : "auto" });
  };
  return { box, show, hide: () => { box.style.display = "none"; } };
}

// The line that is nearest to the pointer, and the spells at this time.
function tipOfLines(panel, time, height, spells) {
  const scale = panel.view.scale("y");
  const distance = ([, , one]) => Math.abs((scale(nearest(one, time)) ?? Infinity) - height);
  const there = panel.names.filter(([, , one]) => one.time.length && nearest(one, time) !== null);
  const lines = [];
  if (there.length) {
    const [label, hue, one] = there.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    const swatch = element("i", { className: "ex-swatch" });
    swatch.style.background = hue;
    lines.push([swatch, element("b", {}, `${short(nearest(one, time))} `), `${panel.answer.unit.split(" ")[0]} · ${label} · ${clock(time)}`]);
  }
  for (const one of spells.filter((each) => each.time <= time && time <= each.to)) {
    lines.push([element("b", { className: `ex-${one.severity}` }, one.severity), ` ${one.title}: ${brief(one.name)}`]);
  }
  return lines;
}

function tipOfHeat(panel, time, share) {
  const cell = heatCell(panel.answer, time, share);
  if (!cell) return [];
  const { answer } = panel;
  const unit = answer.unit.split(" ")[0];
  const when = cell.from === null ? clock(time) : answer.gathered ? `highest from ${clock(cell.from)} to ${clock(cell.from + answer.step_s * 1000)}` : clock(cell.from);
  return [[element("b", {}, cell.high === null ? "no value " : `${short(cell.high)} ${unit} `), `· ${cell.row.label} · ${when}`]];
}
