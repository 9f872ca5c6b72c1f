"""Templates, run cell by cell in this process: what each cell shows, without a kernel."""

from __future__ import annotations

import ast
import html
import json
import re
from dataclasses import dataclass

import pytest

from esxparse.reports import find
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
        """The titles of its charts, without those of the values themselves further down."""
        end = next(at for at, one in enumerate(self.shown) if getattr(one, "text", "").startswith("What was measured"))
        return [one.spec["title"]["text"] for one in self.shown[:end] if isinstance(one, Figure)]


def cells(template):
    return json.loads(find(template).path.read_text(encoding="utf-8"))["cells"]


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
                body = ast.parse("".join(cell["source"])).body
                last = body.pop() if isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), template, "exec"), names)  # noqa: S102  the template's own code
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), template, "eval"), names)  # noqa: S307
                    shown += [] if value is None else [value]
                if "parameters" in cell["metadata"].get("tags", []):
                    names |= parameters
            yield cell, shown
            shown.clear()


def ran(template, study, **parameters):
    """Runs a template on a study, with some of its parameters set."""
    names: dict = {}
    made = run_cells(template, names, study=str(study), **parameters)
    return Ran([one for _, shown in made for one in shown], names)
