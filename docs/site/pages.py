"""Pages of the documentation site that are made while it is built: from code, data, notebooks and files beside docs/.

A hook of MkDocs. Nothing that it makes is written into the tree. A link in a document that leads to a file of the
repository becomes a link to that file's page; where it has none, its path is shown.
"""

from __future__ import annotations

import base64
import inspect
import json
import posixpath
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gallery
from mkdocs.structure.files import File

import esxparse as ex
from esxparse import charts, metrics
from esxparse.counters.catalogue import objects, placed_counters
from esxparse.counters.naming import table_name
from esxparse.derived.capture import VIEWS
from esxparse.derived.tables import declared
from esxparse.diagnosis import cases, rules
from esxparse.diagnosis.usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

BESIDE = {
    "index.md": "README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks/results.md": "benchmarks/RESULTS.md",
    "benchmarks/score.md": "benchmarks/SCORE.md",
    "benchmarks/quality.md": "benchmarks/QUALITY.md",
    "datasets/index.md": "datasets/README.md",
}
GUIDES = {
    "First steps": ["command-line.md", "python.md", "reads.md"],
    "Exploring": ["explore.md", "export.md", "collect.md", "without-ssh.md", "damage.md", "security.md", "licences.md"],
    "Planning": ["plan.md", "planners.md", "right-sizing.md"],
    "Diagnosis": ["diagnosis.md", "compare.md", "quality.md", "case-studies.md", "timeline.md", "faults.md"],
    "Reports and studies": ["templates.md", "batch.md", "study.md", "lake.md"],
    "Simulator": ["simulate.md"],
}
KINDS = {"vm": "VM", "pcpu": "PCPU", "node": "NUMA node", "nfs": "NFS volume", "vsan": "vSAN"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(?ms)^(```|~~~).*?^\1")


def documents() -> dict[str, str]:
    """The page of each document of the repository: its address and its path."""
    own = {path.name: f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    datasets = {
        f"datasets/{path.parent.name}.md": path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "datasets").glob("*/README.md"))
    }
    return own | BESIDE | datasets | notebooks()


def notebooks() -> dict[str, str]:
    """The page of each notebook."""
    found = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "notebooks").rglob("*.ipynb")))
    return {f"{path.removesuffix('.ipynb')}.md": path for path in found}


def rows(pairs: dict[str, Any]) -> str:
    """A table of two columns, without what is empty."""
    cells = (f"| {key} | {cell(value)} |" for key, value in pairs.items() if value not in {"", None})
    return "\n".join(["| | |", "|---|---|", *cells])


def cell(value: object) -> str:
    """Text in a cell of a table: nothing in it is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", " ".join(str(value).split()))


def code(value: object) -> str:
    """A name, as code."""
    return f"<code>{escape(str(value)).replace('|', '&#124;')}</code>" if value else ""


def sentence(text: str) -> str:
    """Words with a capital before and a point behind them."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def listed(values: Any) -> str:
    """Several values in one cell."""
    return ", ".join(map(str, values))


def counters() -> Iterator[tuple[str, str]]:
    """A page for each object of esxtop, with a section for each counter."""
    placed = placed_counters()
    by_table: dict[str, list[Any]] = {}
    for group in placed:
        for one in group:
            by_table.setdefault(one.table, []).append(one)
    index = ["# Counters of esxtop", "", "What each counter means, in which unit, how it combines, and who says so."]
    index += ["", "| object | table | counters |", "|---|---|---|"]
    for name in objects():
        table = table_name(name)
        if table not in by_table:
            continue
        index.append(f"| [{name}]({table}.md) | {code(table)} | {len(by_table[table])} |")
        page = [f"# {name}", "", f"Table {code(table)} of a recording.", ""]
        for one in by_table[table]:
            screen = f" ({cell(one.screen)})" if one.screen else ""
            page += [f"## {cell(one.batch)}{screen}", "", cell(one.meaning), ""]
            combined = f"{one.over_time}; over instances: {one.over_instances}"
            good = "" if one.better == "neither" else one.better
            facts = {"unit": one.unit, "over time": combined, "weighed by": one.weight, "good": good}
            facts |= {"other names": listed(one.aliases), "releases": listed(one.releases), "source": one.source}
            page += [f"Column {code(one.column)}", "", rows(facts), ""]
        yield f"counters/{table}.md", "\n".join(page)
    yield "counters/index.md", "\n".join(index)


def derived() -> Iterator[tuple[str, str]]:
    """A page with the columns of derived tables."""
    page = [
        "# Derived tables",
        "",
        'What `rec["vm"]` and the others have: quantities made of counters, for objects that people know.',
        "",
    ]
    for table, columns in declared().items():
        needs = dict.fromkeys(raw for view in VIEWS if view.table == table for raw in view.reads)
        page += [f"## {table}", "", f"Made of {listed(needs)}.", ""]
        page += ["| column | unit | meaning | screen | good | weighed by | needs |", "|---|---|---|---|---|---|---|"]
        for one in columns.values():
            needed = ", ".join(" or ".join(map(code, each)) for each in one.counters)
            good = "" if one.better == "neither" else one.better
            said = f"{one.name}: {one.meaning}" if one.meaning else one.name
            weight = code(one.weight) if one.weight else ""
            cells = [code(one.column), cell(one.unit), cell(said), cell(one.screen), good, weight, needed]
            page.append(f"| {' | '.join(cells)} |")
        page.append("")
    yield "counters/derived.md", "\n".join(page)


def limits(rule: rules.Rule) -> tuple[str, str]:
    """The limits of a rule, as text."""
    return f"{rule.warn:g}", "" if rule.critical is None else f"{rule.critical:g}"


def rule_pages() -> Iterator[tuple[str, str]]:
    """A page for each area of rules, with a section for each rule."""
    strict = rules.load("strict")
    areas: dict[str, list[Any]] = {}
    for one in rules.load("standard").values():
        areas.setdefault(one.id.partition(".")[0], []).append(one)
    index = ["# Rules", "", "Limits that the host report and the diagnosis judge by, each with its source.", ""]
    index += ["| rule | of | warning | critical | unit |", "|---|---|---|---|---|"]
    for area, found in areas.items():
        page = [f"# Rules: {area}", ""]
        for one in found:
            anchor = one.id.replace(".", "")
            warn, critical = limits(one)
            index.append(
                f"| [{one.id}]({area}.md#{anchor}) | {cell(one.screen)} | {warn} | {critical} | {cell(one.unit)} |"
            )
            judged = f"**{cell(one.screen)}**, judged for each {KINDS.get(one.kind, one.kind)}."
            page += [f"## {one.id} {{ #{anchor} }}", "", f"{judged} {cell(one.meaning)}", ""]
            floor = f"from {one.floor:g} {one.floor_unit} on ({one.floor_of})" if one.floor_of else ""
            facts = {"warning": warn, "critical": critical, "unit": one.unit, "bad": f"{one.direction} the limit"}
            facts |= {"strict": ", ".join(filter(None, limits(strict[one.id]))), "samples in a row": one.persist}
            facts |= {what: ", ".join(names) for what, names in usage(one)._asdict().items()}
            facts |= {"judged": floor, "value": one.value, "causes": one.causes, "next": one.next, "source": one.source}
            page += [rows(facts), ""]
        yield f"rules/{area}.md", "\n".join(page)
    yield "rules/index.md", "\n".join(index)


def case_pages() -> Iterator[tuple[str, str]]:
    """A page for each area of cases, with a section for each trouble."""
    areas: dict[str, list[Any]] = {}
    for one in cases.load():
        areas.setdefault(one.area, []).append(one)
    index = ["# Cases", "", "How the diagnosis weighs evidence: one table for each trouble.", ""]
    index += [
        "`warn('disk.davg')` is the limit that the profile gives the rule [disk.davg](../rules/disk.md#diskdavg).",
        "",
    ]
    index += ["| trouble | what it is |", "|---|---|"]
    for area, found in areas.items():
        page = [f"# Cases: {area}", ""]
        for one in found:
            anchor = one.trouble.replace(".", "")
            index.append(f"| [{one.trouble}]({area}.md#{anchor}) | {cell(one.title)} |")
            page += [f"## {one.trouble} {{ #{anchor} }}", "", cell(sentence(one.title)), ""]
            facts = {"looked at": KINDS.get(one.kind, one.kind), "called for by": one.trigger, "how bad": one.impact}
            facts |= {"explains": listed(one.explains), "verdict": one.verdict, "next": one.next, "source": one.source}
            facts |= {f"numbers of {name}": why for name, why in one.numbers.items()}
            page += [rows(facts), "", "| evidence | if it holds | if not |", "|---|---|---|"]
            for row in one.evidence:
                other = f"{row.fails:+g} {cell(row.otherwise)}" if row.fails or row.otherwise else ""
                page.append(f"| {code(row.holds)} | {row.weight:+g} {cell(row.say)} | {other} |")
            page.append("")
        yield f"cases/{area}.md", "\n".join(page)
    yield "cases/index.md", "\n".join(index)


def place(name: str) -> str:
    """Where a public name is defined."""
    found = getattr(ex, name)
    if inspect.ismodule(found):
        return found.__name__
    return f"{found.__module__}.{found.__qualname__}"


def api() -> Iterator[tuple[str, str]]:
    """Pages on the public names, from their docstrings."""
    names = [name for name in ex.__all__ if not inspect.ismodule(getattr(ex, name))]
    functions = [name for name in names if not inspect.isclass(getattr(ex, name))]
    yield "api/index.md", "# esxparse\n\n" + "".join(public(name) for name in sorted(functions))
    yield "api/classes.md", "# Classes\n\n" + "".join(public(name) for name in sorted(set(names) - set(functions)))
    hosts = ("host.host", "host.Captured", "vsphere.vsphere", "vsphere.Fetched")
    collected = (*hosts, "polling.power", "polling.Collected")
    yield "api/collect.md", "# collect\n\n" + "".join(f"::: esxparse.collect.{name}\n\n" for name in collected)
    for name in ("bundled", "reports.helpers"):
        yield f"api/{name.rpartition('.')[2]}.md", module(f"esxparse.{name}", {"bundled": "datasets"}.get(name, name))
    for package in (metrics, charts):
        short = package.__name__.rpartition(".")[2]
        for name in sorted(dir(package)):
            if inspect.ismodule(getattr(package, name)):
                yield f"api/{short}/{name}.md", module(f"{package.__name__}.{name}", f"{short}.{name}")


def public(name: str) -> str:
    """A name as users write it, wherever it is defined."""
    return f"::: {place(name)}\n    options:\n      heading: ex.{name}\n      toc_label: {name}\n\n"


def module(path: str, title: str) -> str:
    """A module, below a title."""
    options = "\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
    return f"# {title}\n\n::: {path}{options}"


def notebook(path: str, address: str) -> Iterator[tuple[str, str | bytes]]:
    """The page of a notebook with its outputs, and its pictures."""
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    page: list[str] = []
    for place_of, one in enumerate(cells):
        text = "".join(one["source"])
        if one["cell_type"] == "markdown":
            page.append(text)
            continue
        page.append(f"```python\n{text}\n```")
        for number, output in enumerate(one.get("outputs", ())):
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{posixpath.splitext(address)[0]}-{place_of}-{number}.png"
                yield picture, base64.b64decode(data["image/png"])
                shown = f'<img alt="{escape(caption(text))}" src="{posixpath.basename(picture)}">'
            elif "text/html" in data:
                shown = "".join(data["text/html"])
            else:
                printed = "".join(data.get("text/plain", output.get("text", "")))
                shown = f"<pre>{escape(printed)}</pre>" if printed.strip() else ""
            if shown:
                # A blank line would end the block.
                page.append('<div class="nb-output">' + re.sub(r"\n\s*\n", "\n", shown) + "</div>")
    yield address, "\n\n".join(page)


def caption(text: str) -> str:
    """What a picture shows, for those who do not see it: the last title in the code that drew it."""
    titles = re.findall(r'title="([^"]+)"', text)
    return titles[-1] if titles else "Chart"


def made() -> dict[str, str | bytes]:
    """Address and content of every page that is not in docs/."""
    pages: dict[str, str | bytes] = {}
    for address, path in documents().items():
        if path.endswith(".ipynb"):
            pages |= dict(notebook(path, address))
        elif not path.startswith("docs/"):
            pages[address] = (ROOT / path).read_text(encoding="utf-8")
    text, beside = gallery.page()
    if beside:
        pages |= {"gallery.md": text} | beside
    for pages_of in (counters, derived, rule_pages, case_pages, api):
        pages |= dict(pages_of())
    return pages


def nav(pages: dict[str, str | bytes]) -> list[Any]:
    """What stands where."""

    def below(folder: str, *first: str) -> list[str]:
        found = sorted(name for name in pages if name.startswith(f"{folder}/") and name.endswith(".md"))
        return [*first, *(name for name in found if name not in first)]

    placed = {"formats.md", *(name for names in GUIDES.values() for name in names)}
    more = sorted({path.name for path in (ROOT / "docs").glob("*.md")} - placed)
    studies = below("notebooks/studies")
    parts = [name for name in below("api") if name.count("/") == 1 and name != "api/index.md"]
    return [
        {"Start": ["index.md", "changes.md", "contributing.md"]},
        {"Guides": [{title: names} for title, names in (GUIDES | {"More": more}).items() if names]},
        *([{"Gallery": ["gallery.md"]}] if "gallery.md" in pages else []),
        {"Counters": below("counters", "counters/index.md", "counters/derived.md")},
        {"Rules and cases": [{"Rules": below("rules", "rules/index.md")}, {"Cases": below("cases", "cases/index.md")}]},
        {"Formats": ["formats.md"]},
        {"Notebooks": [*(name for name in below("notebooks") if name not in studies), {"Studies": studies}]},
        {"Datasets": below("datasets", "datasets/index.md")},
        {"Python": ["api/index.md", *parts, {"metrics": below("api/metrics")}, {"charts": below("api/charts")}]},
        {"Measured": below("benchmarks")},
    ]


_PAGES: dict[str, str | bytes] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the pages."""
    _PAGES.clear()
    _PAGES.update(made())
    config.nav = nav(_PAGES)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds them to those in docs/."""
    for address, content in _PAGES.items():
        files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turns links to files of the repository into links to their pages."""
    known = documents()
    here = page.file.src_uri
    if here not in known:
        return markdown
    pages = {path: address for address, path in known.items()}
    folder = posixpath.dirname(known[here])

    def turned(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, mark, anchor = target.partition("#")
        real = posixpath.normpath(posixpath.join(folder, path))
        if (address := pages.get(real)) is None:
            return f"{text} (`{real}`)"
        return f"[{text}]({posixpath.relpath(address, posixpath.dirname(here) or '.')}{mark}{anchor})"

    kept: list[str] = []

    def away(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    # Pictures of the README lie in docs/, which is the root of the site.
    linked = LINK.sub(turned, FENCE.sub(away, markdown)).replace('="docs/pictures/', '="pictures/')
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], linked)
