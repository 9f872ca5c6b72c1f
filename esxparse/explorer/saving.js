// What leaves the explorer: the view as code, pictures, numbers.

const download = (name, address) => element("a", { href: address, download: name }).click();

async function copyCode(app) {
  let code;
  const [first] = app.panels();
  try {
    ({ code } = await app.ask("code", first ? { buckets: first.buckets() } : {}));
  } catch (error) {
    return app.tell(error.message, true);
  }
  const area = element("textarea", { className: "ex-code", value: code, rows: 14, readOnly: true, "aria-label": "The view as code" });
  app.drawer.below.replaceChildren(area);
  area.select();
  try {
    await navigator.clipboard.writeText(code);
    app.tell("Copied.");
  } catch {
    app.tell("Copy it from below: the browser does not let the page do it.");
  }
}

async function savePictures(app, kind) {
  const drawn = app.panels().filter((each) => each.view);
  if (!drawn.length) return app.tell(NO_CHART, true);
  for (const one of drawn) {
    download(`${one.answer.table}-${one.answer.counter}.${kind}`, await one.view.toImageURL(kind, kind === "png" ? 2 : 1));
  }
}

// Rows of one panel: the cells of a heat map are the highest values of their time.
function tableRows({ answer }, cell) {
  const head = (one, counter) => [cell(counter.name), cell(counter.unit ?? answer.unit), cell(one.instance)];
  const when = (time) => new Date(time).toISOString();
  if (answer.kind === "heat") {
    const byLabel = new Map(answer.rows.map((one) => [one.label, one]));
    const { label, time, high } = answer.cells;
    return label.map((name, at) => [...head(byLabel.get(name), answer), when(time[at]), "", "", high[at] ?? "", 1]);
  }
  return answer.series.flatMap((one) => one.time.map((time, at) =>
    [...head(one, one.of ?? answer), when(time), one.mean[at] ?? "", one.low[at] ?? "", one.high[at] ?? "", one.capture]));
}

function saveTable(app) {
  const cell = (text) => `"${String(text).replace(/"/g, '""').replace(/^[=+\-@\t\r]/, "'$&")}"`;
  const drawn = app.panels().filter((each) => each.answer);
  if (!drawn.length) return app.tell(NO_CHART, true);
  const rows = [["counter", "unit", "instance", "time_utc", "mean", "low", "high", "capture"], ...drawn.flatMap((one) => tableRows(one, cell))];
  const address = URL.createObjectURL(new Blob([`${rows.map((row) => row.join(",")).join("\n")}\n`], { type: "text/csv" }));
  download("explorer.csv", address);
  URL.revokeObjectURL(address);
}
