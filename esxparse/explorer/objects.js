// The page of one object: its name, its neighbours, and the way back. Panels come from Python.

const NEIGHBOURS = 12;
const KIND_WORDS = { vm: ["VM", "VMs"], device: ["device", "devices"], uplink: ["uplink", "uplinks"] };

// `app`: ask, state, change, build, tell, span, whole, first (the panels of no page), pin.
function makeObjects(app) {
  const bar = element("div", { className: "ex-object", role: "navigation", "aria-label": "Object" });
  const trail = [];
  let known = {};
  let shown = "";

  // The object that a series or a row is of; null if it has no page, or its page is open.
  function objectOf(...names) {
    const name = names.flatMap((one) => [one, (one ?? "").split(":")[0]]).find((one) => one && Object.hasOwn(known, one));
    return name && app.state().object?.name !== name ? { kind: known[name], name } : null;
  }

  function nameButton(one, text) {
    const [noun] = KIND_WORDS[one.kind];
    return element("button", { type: "button", className: "ex-name", title: `Everything about ${noun} ${one.name}`,
      onclick: (event) => { event.stopPropagation(); open(one); } }, text ?? brief(one.name));
  }

  async function open({ kind, name }, at = null) {
    let page;
    try {
      page = await app.ask("object", { kind, name });
    } catch (error) {
      return app.tell(error.message, true);
    }
    const { panels, range, object } = app.state();
    trail.push({ panels, range: range ?? null, object: object ?? null });
    const [start, end] = app.span();
    const [first, last] = app.whole();
    const half = (end - start) / 10;
    app.pin(at);
    app.change({ object: { kind, name }, panels: page.panels, ...(at === null ? {} : { range: [Math.max(first, at - half), Math.min(last, at + half)] }) });
    app.tell(at === null ? "" : `${page.title} at ${clock(at)} UTC`);
    fill(page);
    await app.build();
  }

  function back() {
    const before = trail.pop() ?? { panels: app.first(), range: null, object: null };
    app.pin(null);
    app.change(before);
    app.tell(before.range ? stretch(...before.range) : "");
    update();
    return app.build();
  }

  function fill(page) {
    shown = `${page.kind} ${page.name}`;
    const groups = Object.entries(KIND_WORDS).map(([kind, words]) => [words, page.related.filter((one) => one.kind === kind)]).filter(([, all]) => all.length);
    const about = groups.flatMap(([words, all]) => [
      element("span", { className: "ex-muted" }, all.length === 1 ? words[0] : words[1]),
      ...all.slice(0, NEIGHBOURS).map((one) => nameButton(one)),
      ...(all.length > NEIGHBOURS ? [element("span", { className: "ex-muted" }, `and ${all.length - NEIGHBOURS} more`)] : []),
    ]);
    bar.replaceChildren(button("← Back", "To what was shown before", back), element("b", {}, page.title), ...about);
  }

  // The bar belongs to the page in the view, which Python may have set.
  async function update() {
    const { object } = app.state();
    if (!object) {
      shown = "";
      return bar.replaceChildren();
    }
    if (shown === `${object.kind} ${object.name}`) return;
    try {
      fill(await app.ask("object", object));
    } catch (error) {
      app.tell(error.message, true);
    }
  }

  async function load() {
    ({ objects: known } = await app.ask("objects"));
  }
  const named = (wanted) => Object.entries(known).filter(([name]) => wanted.test(name)).map(([name, kind]) => ({ kind, name }));
  return { bar, objectOf, nameButton, named, open, update, load };
}
