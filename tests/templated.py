"""Templates, run cell by cell in this process: what each cell shows, without a kernel."""

from __future__ import annotations

import ast
import html
import json
import re
from dataclasses import dataclass

import pytest
from specs import drawn

from esxparse.reports import find, page
from esxparse.reports.blocks import Block, Figure, Section


@dataclass
class Ran:
    """What the cells of a template showed, and the names that they left."""

    shown: list
    names: dict

    @property
    def found(self):
        return self.names["found"]

    @property
    def blocks(self):
        return [one for one in self.shown if isinstance(one, Block)]

    @property
    def answer(self):
        """The block below the question."""
        return self.blocks[1]

    @property
    def answers(self):
        """The sentences of the answer, as text."""
        return [html.unescape(text) for text in re.findall("<li>(.*?)</li>", self.answer.html)]

    @property
    def tables(self):
        """The text of the template's own tables: what stands between the charts and the parts of every study."""
        made = []
        for one in self.shown[self.shown.index(self.answer) + 1 :]:
            if isinstance(one, Section) or getattr(one, "text", "").startswith("What was measured"):
                break
            made += [one.text] if isinstance(one, Block) else []
        return "\n".join(made)

    @property
    def titles(self):
        """What its charts draw, without those of the values themselves further down."""
        end = next(at for at, one in enumerate(self.shown) if getattr(one, "text", "").startswith("What was measured"))
        return [drawn(one.spec) for one in self.shown[:end] if isinstance(one, Figure)]


def cells(template):
    return json.loads(find(template).path.read_text(encoding="utf-8"))["cells"]


def _run(source, template, names):
    """Run a cell; gives what its last line does."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), template, "exec"), names)  # noqa: S102  the template's own code
    value = None if last is None else eval(compile(ast.Expression(last.value), template, "eval"), names)  # noqa: S307
    return [] if value is None else [value]


def run_cells(template, names, **parameters):
    """Run the cells of a template in this process, and give each with the objects that it shows.

    `names`: what the cells know, and what they leave. `parameters`: those of its parameters cell to set.
    """
    shown: list = []
    names["display"] = shown.append
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", shown.append)
        for cell in cells(template):
            if cell["cell_type"] == "code":
                shown += _run("".join(cell["source"]), template, names)
                if "parameters" in cell["metadata"].get("tags", []):
                    names |= parameters
            yield cell, shown
            shown.clear()


@dataclass
class Shown:
    """What some cells of a template showed."""

    objects: list

    @property
    def blocks(self):
        return [one for one in self.objects if isinstance(one, Block)]

    @property
    def text(self):
        return "\n".join(block.text for block in self.blocks if block.text)

    @property
    def html(self):
        return "".join(block.html for block in self.blocks)

    @property
    def charts(self):
        """The specifications of the charts."""
        return [one.spec for one in self.objects if isinstance(one, Figure)]


def shown(template, *pieces, found=None, **parameters):
    """What the cells show that have one of `pieces` in their source, or of a section: "## CPU". Those before run too.

    `found`: what the template's `gather` gives, instead of reading recordings.
    """
    sources, section = [], ""
    for cell in cells(template):
        source = "".join(cell["source"])
        section = source.partition("\n")[0] if cell["cell_type"] == "markdown" else section
        wanted = cell["cell_type"] == "code" and any(piece == section or piece in source for piece in pieces)
        sources.append(wanted)
    last = max(place for place, wanted in enumerate(sources) if wanted)
    made: list = []
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        if found is not None:
            patch.setattr(f"esxparse.reports.{template}.gather.gather", lambda *_args, **_options: found)
        for place, (_, objects) in enumerate(run_cells(template, names, **parameters)):
            made += objects if sources[place] else []
            if place == last:
                break
            # Only charts that are asked for are drawn.
            names["show"] = page.show if sources[place + 1] else lambda *_charts, **_missing: None
    return Shown(made)


def alone(template, *pieces, **names):
    """What the cells show that have one of `pieces` in their source, run without the others.

    `names`: what they take from the others.
    """
    sources = ["".join(cell["source"]) for cell in cells(template) if cell["cell_type"] == "code"]
    for source in sources:
        imports = [one for one in ast.parse(source).body if isinstance(one, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), template, "exec"), names)  # noqa: S102  the template's own code
    made: list = []
    names["display"] = made.append
    wanted = [source for source in sources if any(piece in source for piece in pieces)]
    assert len(wanted) == len(pieces)
    for source in wanted:
        made += _run(source, template, names)
    return Shown(made)


def ran(template, study, **parameters):
    """Runs a template on a study, with some of its parameters set; also on one that it does not serve."""
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("esxparse.reports.study.gather.needs_of_studies", dict)
        made = run_cells(template, names, study=str(study), **parameters)
        return Ran([one for _, shown in made for one in shown], names)
