"""`esxparse batch`: a report on each of many inputs, and an index."""

from __future__ import annotations

import argparse

from esxparse.cli.output import add_cluster, add_opening, fail, given_opening, warn
from esxparse.cli.progress import Progress
from esxparse.cli.report import add_template, given_parameters
from esxparse.errors import EsxparseError
from esxparse.recording import counted, printable

_OF_ITEMS = ("member", "timeout")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "batch",
        help="make a report on each of many inputs, and an index of them",
        description="Makes a report on each input, index.html with the worst first, and summary.parquet with all "
        "findings. What fails stops nothing else. Run again after a stop, it makes only what is missing or changed.",
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="a recording, a directory, a study, or a manifest")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="directory of the pages; it is made")
    parser.add_argument("--jobs", type=int, metavar="N", help="reports at a time (default: one per processor)")
    add_cluster(parser)
    parser.add_argument(
        "--timeout", dest="longest", default="10m", metavar="LENGTH", help="longest time of a report (default: 10m)"
    )
    parser.add_argument("--memory", default="4GiB", metavar="SIZE", help="most memory of a report (default: 4GiB)")
    parser.add_argument(
        "--trust", action="store_true", help="run notebooks that a manifest names as templates: they are code"
    )
    add_template(parser, "auto", "auto")
    add_opening(parser, but=_OF_ITEMS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the reports; return 1 if some failed."""
    from esxparse.reports.batch import batch, ending  # noqa: PLC0415  Jupyter is not for --help
    from esxparse.reports.outputs import show  # noqa: PLC0415

    with Progress("batch", quiet=options.quiet) as progress:

        def seen(done: int, total: int, working: str, failed: str) -> None:
            if failed:
                progress.clear()
                fail(EsxparseError(failed))
            progress(done, total, f"{done} of {total}: {working}" if working else f"{done} of {total}")

        made = batch(
            options.inputs,
            options.output,
            jobs=options.jobs,
            on=options.on,
            template=options.template,
            parameters=given_parameters(options),
            timeout=options.longest,
            memory=options.memory,
            progress=seen,
            opening=given_opening(options),
            to=options.to,
            trust=options.trust,
        )
    warn(made.losses)
    if not options.quiet or made.failed:
        if made.left_out:
            files = counted(len(made.left_out), "file")
            print(printable(f"{files} left out, which no template reads: listed in {made.index}"))
        print(ending(made))
    if options.open:
        show(made.index)
    return 1 if made.failed else 0
