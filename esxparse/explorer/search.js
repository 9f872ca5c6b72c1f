// The search: objects by name, then counters, those first that people mean by the word.

// `app`: counters, objects, choose (a counter, perhaps beside the others), tell.
function makeSearch(app) {
  const search = element("input", { type: "search", placeholder: "Search: ready, latency, a VM, a device ...", "aria-label": "Search counters" });
  const found = element("div", { className: "ex-found", role: "listbox", "aria-label": "Counters found" });

  const clear = () => { search.value = ""; found.replaceChildren(); };
  const choose = (one, beside) => { clear(); app.choose(one, beside); };
  const counterHit = (one) => element(
    "div",
    { className: "ex-hit", role: "option", tabIndex: 0, title: one.meaning,
      onclick: (event) => choose(one, event.shiftKey),
      onkeydown: (event) => { if (event.key === "Enter") choose(one, true); } },
    element("b", {}, one.name), ` ${one.unit} · ${one.noun} · `, element("span", {}, one.meaning),
    button("+", "In a panel of its own", (event) => { event.stopPropagation(); choose(one, true); }),
  );
  const objectHit = (one) => {
    const open = () => { clear(); app.objects.open(one); };
    return element("div", { className: "ex-hit", role: "option", tabIndex: 0, onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); } },
      element("b", {}, one.name), ` ${KIND_WORDS[one.kind][0]} · `, element("span", {}, "everything about it"));
  };

  function look() {
    const text = search.value.trim();
    if (!text) return found.replaceChildren();
    let wanted;
    try {
      wanted = new RegExp(text, "i");
    } catch {
      found.replaceChildren();
      return app.tell(`${text} is not a regular expression`, true);
    }
    app.tell("");
    // What people mean by the word comes first, in the order of its list; then names; then meanings.
    const typed = text.toLowerCase();
    const usual = (one) => Object.entries(one.words).filter(([word]) => typed.length > 2 && word.startsWith(typed)).map(([, at]) => at);
    const rank = (one) => Math.min(...usual(one), one.names.some((name) => wanted.test(name)) ? 100 : wanted.test(one.meaning) ? 101 : 102);
    const hits = app.counters().map((one) => [rank(one), one]).filter(([place]) => place < 102).sort((a, b) => a[0] - b[0]);
    const objects = typed.length > 2 ? app.objects.named(wanted) : [];
    found.replaceChildren(
      ...objects.slice(0, MOST_OBJECTS).map(objectHit),
      ...hits.slice(0, FOUND).map(([, one]) => counterHit(one)),
      ...(hits.length > FOUND ? [element("i", {}, `and ${hits.length - FOUND} more`)] : []),
      ...(hits.length || objects.length ? [] : [element("i", {}, "no counter of this capture")]),
    );
  }

  function move(event, to) {
    event.preventDefault();
    event.stopPropagation();
    to?.focus();
  }
  search.addEventListener("input", look);
  // Enter takes the first hit; the arrows walk through the hits.
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector(".ex-hit")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    if (event.key === "ArrowDown") move(event, found.querySelector(".ex-hit"));
  });
  found.addEventListener("keydown", (event) => {
    const hit = event.target.closest(".ex-hit");
    const next = { ArrowDown: hit?.nextElementSibling, ArrowUp: hit?.previousElementSibling ?? search }[event.key];
    if (next) move(event, next);
  });
  return { search, found };
}
