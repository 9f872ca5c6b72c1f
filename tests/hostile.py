"""Names that attack a page, and a browser that notices an attack that works.

Each name would run `hit`, open a dialog, load an address or leave the page if a page took it for markup, script,
template, formula or link.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

_CALLS = ("hit(1)", "alert(1)", "location='//hostile.invalid'", "fetch('//hostile.invalid')")
_IN_MARKUP = (
    "<script>{call}</script>",
    "<img src=x onerror={call}>",
    "<svg onload={call}>",
    "<body onload={call}>",
    "<details open ontoggle={call}>",
    "<input autofocus onfocus={call}>",
    "<video><source onerror={call}></video>",
    "<iframe srcdoc='<script>{call}</script>'>",
    '"><script>{call}</script>',
    "'><img src=x onerror={call}>",
    "</script><script>{call}</script>",
    "</style><script>{call}</script>",
    "</textarea><script>{call}</script>",
    "--><script>{call}</script><!--",
    "]]><script>{call}</script>",
    "<<script>{call}//<</script>",
    "<scr<script>ipt>{call}</script>",
)
_ONCE = (
    '" onmouseover="hit(1)" x="',
    "' onfocus='hit(1)' autofocus='",
    "x onerror=hit(1) y=",
    "<a href=javascript:hit(1)>click</a>",
    "<form action=//hostile.invalid><button autofocus>x</button></form>",
    "<meta http-equiv=refresh content=0;url=//hostile.invalid>",
    "<base href=//hostile.invalid>",
    "<link rel=stylesheet href=//hostile.invalid/x.css>",
    "<object data=//hostile.invalid></object>",
    "<embed src=//hostile.invalid>",
    "<style>@import '//hostile.invalid/x.css';</style>",
    "<math><mtext><script>hit(1)</script></mtext></math>",
    "<template><script>hit(1)</script></template>",
    "javascript:hit(1)",
    "data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=",
    "&lt;script&gt;hit(1)&lt;/script&gt;",
    "&#60;img src=x onerror=hit(1)&#62;",
    "%3Cscript%3Ehit(1)%3C/script%3E",
    "[link](javascript:hit(1))",
    "![picture](//hostile.invalid/x.png)",
    "<javascript:hit(1)>",
    "**bold** _it_ `code` ~~x~~",
    "# heading",
    "$$\\href{javascript:hit(1)}{x}$$".replace("\\", ""),
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{{constructor.constructor('hit(1)')()}}",
    "${hit(1)}",
    "#{hit(1)}",
    "<%= hit(1) %>",
    "datum.x' + hit(1) + '",
    "'];hit(1);//",
    "');hit(1);//",
    "`+hit(1)+`",
    "*/hit(1)/*",
    "=HYPERLINK('//hostile.invalid')",
    "+hit(1)",
    "@hit(1)",
    "'; DROP TABLE vcpu; --",
    "__proto__",
    "constructor",
    "toString",
    "a.b[0]",
    "日本語 (1)",
    "right\u202eleft",
    "bell\x07 escape\x1b[31m",
    "#2a6fb8",
    "CON",
    "..",
)
NAMES = tuple(one.format(call=call) for call in _CALLS for one in _IN_MARKUP) + _ONCE

_TRACES = r"""() => {
    const addresses = ['src', 'href', 'action', 'formaction', 'data', 'srcdoc', 'xlink:href'];
    const leads = /^\s*(https?:)?\/\/hostile\.invalid|^\s*javascript:|<script/i;
    const found = [...document.querySelectorAll('*')].flatMap(one => [...one.attributes]
        .filter(({name, value}) => (name.startsWith('on') && /hit|alert|location|fetch/.test(value))
            || (addresses.includes(name) && leads.test(value)))
        .map(({name, value}) => `${one.tagName} ${name}=${value}`));
    const scripts = [...document.scripts].map(one => one.textContent.slice(0, 60));
    return found.concat(scripts.filter(text => /^.{0,20}(hit\(1\)|alert\(1\)|hostile\.invalid)/.test(text)));
}"""


@dataclass(slots=True)
class Watched:
    """A page, and each sign that a name was more than text."""

    page: Page
    events: list[str] = field(default_factory=list)

    def signs(self) -> list[str]:
        """Calls, dialogs, requests and navigations since the page opened, and elements that would cause one."""
        # An error event or a navigation of a broken picture takes a moment.
        self.page.wait_for_timeout(500)
        return [*self.events, *self.page.evaluate(_TRACES)]


def watch(
    context: BrowserContext, foreign: re.Pattern[str] = re.compile(r"^(https?|wss?)://(?!127\.0\.0\.1)")
) -> Watched:
    """A new page of `context`. A request to an address that `foreign` matches is a sign."""
    seen: list[str] = []
    context.expose_binding("hit", lambda *_: seen.append("call of hit"))
    page = context.new_page()
    page.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda sent: seen.append(f"request {sent.url}") if foreign.match(sent.url) else None)
    page.on("request", lambda sent: seen.append(f"request {sent.url}") if "hostile.invalid" in sent.url else None)
    page.on("popup", lambda other: seen.append(f"window {other.url}"))
    return Watched(page, seen)


@contextmanager
def opened(browser: Browser, path: Path) -> Iterator[Watched]:
    """The file at `path`, with the network off: any request but for the file itself is a sign."""
    context = browser.new_context(offline=True)
    try:
        own = re.escape(path.resolve().as_uri())
        watched = watch(context, re.compile(rf"^(?!{own}(#.*)?$|data:|blob:)"))
        watched.page.goto(path.resolve().as_uri(), wait_until="load")
        yield watched
    finally:
        context.close()


def without_policy(page: Path) -> Path:
    """A copy of a page whose Content-Security-Policy is gone, so that escaping alone protects it."""
    html = page.read_text(encoding="utf-8")
    copy = page.with_name(f"open-{page.name}")
    copy.write_text(re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", html), encoding="utf-8")
    return copy


def with_one_name_as_markup(page: Path, name: str) -> Path:
    """A copy without a policy, in which one place where `name` is text has it as markup: the positive control."""
    html = without_policy(page).read_text(encoding="utf-8")
    # jinja2 writes quotes as numbers.
    numbered = escape(name).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    forms = {escape(name), escape(name, quote=False), numbered}
    # Between tags: in an attribute it would be text all the same.
    place = next(found for form in forms if (found := re.search(rf">[^<>]*?({re.escape(form)})[^<>]*<", html)))
    copy = page.with_name(f"poisoned-{page.name}")
    copy.write_text(html[: place.start(1)] + name + html[place.end(1) :], encoding="utf-8")
    return copy
