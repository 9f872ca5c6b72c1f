"""Make the gallery: each template on a bundled data set, and a picture of its first screen.

`make gallery` writes build/gallery/NAME.html and NAME.png; the next `make docs` puts them into the site. It needs
Chromium. `gallery.toml` has the data sets.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from pathlib import Path

import esxparse as ex
from esxparse.reports import library

ROOT = Path(__file__).parents[2]
SHOWN_ON: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FOLDER = ROOT / "build" / "gallery"


def command(template: str) -> str:
    """The command that makes the page of a template."""
    files = " ".join(f"datasets/{name}" for name in SHOWN_ON[template])
    if template == "fleet":
        return f"esxparse lake add {files} --lake lake && esxparse lake report --lake lake -o fleet.html"
    return f"esxparse report {files} -t {template} -o {template}.html"


def page() -> tuple[str, dict[str, bytes]]:
    """The gallery's page in Markdown, and the files beside it: those that `make gallery` has made."""
    text = ["# Gallery", "", "Each template on a bundled data set. A picture opens its report.", ""]
    files: dict[str, bytes] = {}
    for one in library.shipped():
        made = [FOLDER / f"{one.name}{ending}" for ending in (".html", ".png")]
        if all(path.exists() for path in made):
            files |= {f"gallery/{path.name}": path.read_bytes() for path in made}
            first = f'<img alt="First screen of the report" src="gallery/{one.name}.png">'
            text += [f"## {one.title}", "", one.description, "", f"```console\n$ {command(one.name)}\n```", ""]
            text += [f'<a href="gallery/{one.name}.html">{first}</a>', ""]
    return "\n".join(text), files


def render(template: str) -> Path:
    """Write the page of a template."""
    inputs = [ex.datasets_dir() / name for name in SHOWN_ON[template]]
    output = FOLDER / f"{template}.html"
    if template == "fleet":
        with tempfile.TemporaryDirectory(prefix="ex-") as lake:
            ex.lake(lake).add(inputs)
            return ex.report(lake, template, output)
    return ex.report(inputs, template, output)


def main() -> None:
    """Write all pages and their pictures."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import CHARTS_READY, chromium  # noqa: PLC0415  tests/ is on the path from here on

    FOLDER.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for template in SHOWN_ON:
            output = render(template)
            shown = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            shown.goto(output.as_uri())
            shown.wait_for_function(CHARTS_READY)
            shown.screenshot(path=output.with_suffix(".png"))
            shown.close()


if __name__ == "__main__":
    main()
