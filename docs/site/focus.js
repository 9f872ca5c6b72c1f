// Whatever scrolls sideways can be reached with the keyboard.
addEventListener("load", () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, .nb-output")) wide.tabIndex = 0;
});
