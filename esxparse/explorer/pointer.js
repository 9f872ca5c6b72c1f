// The pointer: a line at one time in all panels; dragged over a range it zooms all of them; a click on a heat map opens
// the object there.

// `app`: panels, span, whole, zoom, pick (a click at a time), spellsIn, objects.
function followPointer(app, charts) {
  let from = null;
  const left = (panel) => panel.view.origin()[0] + (panel.room.querySelector("svg").getBoundingClientRect().left - panel.room.getBoundingClientRect().left);
  const timeAt = (panel, event) => {
    const [start, end] = app.span();
    const inside = event.clientX - panel.room.getBoundingClientRect().left - left(panel);
    return start + (Math.min(Math.max(inside, 0), panel.view.width()) / panel.view.width()) * (end - start);
  };
  const placeOf = (panel, time) => {
    const [start, end] = app.span();
    return left(panel) + ((time - start) / (end - start)) * panel.view.width();
  };
  const heightAt = (panel, event) => event.clientY - panel.room.querySelector("svg").getBoundingClientRect().top - panel.view.origin()[1];
  const shareAt = (panel, event) => heightAt(panel, event) / panel.view.height();

  const point = (time, panel, event) => {
    for (const one of app.panels()) {
      if (!one.view) continue;
      one.cross.style.display = time === null ? "none" : "block";
      if (time !== null) one.cross.style.left = `${placeOf(one, time)}px`;
      one.say(time);
      if (one !== panel) one.tip.hide();
    }
    if (!panel) return;
    const { answer } = panel;
    const lines = answer.kind === "heat" ? tipOfHeat(panel, time, shareAt(panel, event))
      : tipOfLines(panel, time, heightAt(panel, event), app.spellsIn(answer, app.span()));
    panel.tip.show(lines, placeOf(panel, time), panel.room.clientWidth);
  };
  const paint = (a, b) => {
    for (const one of app.panels()) {
      if (!one.view) continue;
      one.brush.style.display = a === null ? "none" : "block";
      if (a === null) continue;
      const [low, high] = [placeOf(one, Math.min(a, b)), placeOf(one, Math.max(a, b))];
      Object.assign(one.brush.style, { left: `${low}px`, width: `${high - low}px` });
    }
  };
  const over = (event) => app.panels().find((one) => one.view && one.room.contains(event.target));

  charts.addEventListener("pointermove", (event) => {
    const panel = over(event);
    if (!panel) return from === null && point(null);
    const time = timeAt(panel, event);
    point(time, panel, event);
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
    const [start, end] = app.span();
    if (Math.abs(ended - began) >= (end - start) / 100) return app.zoom([Math.min(began, ended), Math.max(began, ended)]);
    const row = panel.answer.kind === "heat" ? heatCell(panel.answer, began, shareAt(panel, event))?.row : null;
    const object = row && app.objects.objectOf(row.full, row.label);
    if (object) app.objects.open(object, began);
    else app.pick(began);
  });
  charts.addEventListener("dblclick", (event) => over(event)?.answer.kind === "lines" && app.zoom(null));
  charts.addEventListener("wheel", (event) => {
    const panel = over(event);
    if (!panel || !event.ctrlKey) return;
    event.preventDefault();
    const at = timeAt(panel, event);
    const factor = event.deltaY > 0 ? 1.4 : 1 / 1.4;
    const [start, end] = app.span();
    const [first, last] = app.whole();
    const range = [Math.max(first, at - (at - start) * factor), Math.min(last, at + (end - at) * factor)];
    app.zoom(range[0] <= first && range[1] >= last ? null : range);
  }, { passive: false });
}
