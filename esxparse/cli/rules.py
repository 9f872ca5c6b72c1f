"""`esxparse rules`: list, show and check the limits by which captures are judged."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from esxparse.cli.output import each
from esxparse.recording import counted

if TYPE_CHECKING:
    from esxparse.diagnosis.rules import Rule

_WIDTH = 100


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its subcommands to the parser."""
    parser = subparsers.add_parser(
        "rules",
        help="list, show or check the rules that captures are judged by",
        description="Lists the rules of a profile, shows one with its source, or checks files of your own.",
    )
    commands = parser.add_subparsers(dest="what", metavar="WHAT", required=True, help="list, show or check")
    listed = commands.add_parser(
        "list", help="every rule, with its limits and the cases, tables and charts they are in"
    )
    show = commands.add_parser("show", help="one rule: limits, meaning, causes, what to do, source")
    show.add_argument("rule", metavar="ID", help="id of the rule, such as cpu.ready")
    for one in (listed, show):
        one.add_argument("--profile", metavar="NAME", default="standard", help="standard, strict or a .toml file")
    checked = commands.add_parser("check", help="read files of your own, and say what is wrong with them")
    checked.add_argument("files", nargs="+", metavar="FILE", help="a .toml file with [[rule]] entries")
    parser.set_defaults(run=run)


def _usage(rule: Rule) -> dict[str, str]:
    """Return the names of the cases, tables and charts that use the limits of a rule."""
    from esxparse.diagnosis.usage import usage  # noqa: PLC0415  polars is not for --help

    return {what: ", ".join(names) for what, names in usage(rule)._asdict().items() if names}


def run(options: argparse.Namespace) -> int:
    """Run the subcommand."""
    from esxparse.diagnosis import cases, rules  # noqa: PLC0415  polars is not for --help
    from esxparse.errors import EsxparseError, did_you_mean  # noqa: PLC0415

    if options.what == "check":
        return each(options.files, lambda file: print(f"{file}: {len(rules.load(file))} rules"))
    loaded = rules.load(options.profile)
    if options.what == "list":
        for rule in loaded.values():
            limits = f"{rule.warn:g}" if rule.critical is None else f"{rule.warn:g} / {rule.critical:g}"
            where = "; ".join(f"{what}: {names}" for what, names in _usage(rule).items())
            columns = f"{rule.id:<24} {rule.kind:<8} {rule.direction:<6} {limits:>12} {rule.unit:<24} {rule.screen:<40}"
            print(f"{columns} {where}")
        return 0
    if options.rule not in loaded:
        if case := next((one for one in cases.load() if one.trouble == options.rule), None):
            raise EsxparseError(f"{case.trouble} is a case ({case.title}), not a rule: see docs/diagnosis.md")
        near = did_you_mean(options.rule, loaded)
        raise EsxparseError(f"no rule {options.rule!r}: {near}esxparse rules list names them")
    rule = loaded[options.rule]
    floor = f"from {rule.floor:g} {rule.floor_unit} on ({rule.floor_of})" if rule.floor_of else ""
    rows = {
        "rule": rule.id,
        "screen": rule.screen,
        "judges": f"{rule.value} of each {rule.kind}",
        "warning": f"{rule.direction} {rule.warn:g} {rule.unit}",
        "critical": "" if rule.critical is None else f"{rule.direction} {rule.critical:g} {rule.unit}",
        "floor": floor,
        "lasts": counted(rule.persist, "sample"),
        **_usage(rule),
        "meaning": rule.meaning,
        "causes": rule.causes,
        "next": rule.next,
        "source": rule.source,
    }
    for name, text in rows.items():
        if text:
            print(textwrap.fill(text, _WIDTH, initial_indent=f"{name:<9} ", subsequent_indent=" " * 10))
    return 0
