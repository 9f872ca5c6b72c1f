"""The command line: parses arguments, calls the library, prints.

Exit codes: 0 success, 1 some inputs failed, 2 invalid command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from esxparse.cli.output import fail
from esxparse.errors import EsxparseError, choose_from, did_you_mean
from esxparse.locations import public
from esxparse.version import __version__

_COMMANDS = (
    "info",
    "check",
    "diagnose",
    "rules",
    "report",
    "batch",
    "lab",
    "slice",
    "convert",
    "lake",
    "collect",
    "study",
    "simulate",
    "formats",
    "templates",
)
"""Each a module of this package with `add(subparsers)`, which names the function that runs it."""

_EPILOG = "exit codes: 0 success, 1 some inputs failed, 2 invalid command line, 130 interrupted"


class _Parser(argparse.ArgumentParser):
    """Names the nearest of a command's parts and of an option's values; its commands' parsers are such ones, too."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"unknown {value!r}: {choose_from(value, action.choices)}")


def build_parser(commands: Sequence[str] = _COMMANDS) -> argparse.ArgumentParser:
    """The parser of these commands; it imports nothing heavy, so that `--help` is fast."""
    parser = _Parser(
        prog="esxparse",
        description="Reads esxtop batch captures and writes reports about them.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"esxparse {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in commands:
        import_module(f"esxparse.cli.{command}").add(subparsers)
    return parser


def _asked(words: Sequence[str]) -> argparse.Namespace:
    """What is asked for; without a command the help."""
    # Where the command comes first, nobody sees that the parser knows no other, and nobody waits for the rest.
    parser = build_parser(words[:1] if words and words[0] in _COMMANDS else _COMMANDS)
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in _COMMANDS:
        parser.error(f"there is no command {command!r}; {did_you_mean(command, _COMMANDS)}".rstrip("; "))
    options, rest = parser.parse_known_args(words or ["--help"])
    if rest:
        *outer, named = _named(parser, words)
        flags = [flag for one in (*outer, named) for flag in one._option_string_actions]  # noqa: SLF001
        near = did_you_mean(rest[0].partition("=")[0], [flag for flag in flags if flag.startswith("--")])
        near = near if rest[0].startswith("-") else ""
        named.error(f"unrecognized arguments: {' '.join(rest)}; {near}".rstrip("; "))
    if options.command is None:
        parser.error("a COMMAND is missing: esxparse --help lists them")
    return options


def _named(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of the command and its parts that the words name."""
    yield parser
    for action in parser._actions:  # noqa: SLF001  argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            part = next((word for word in words if word in action.choices), None)
            if part is not None:
                yield from _named(action.choices[part], words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code."""
    for name in ("stdin", "stdout", "stderr"):
        # Whoever started it may have closed one: what is written there is gone, and no file takes its place.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: PTH123, SIM115
    # Usage errors, parameters of notebooks and state files repeat arguments: none of them gets a password to repeat.
    options = _asked([_public(one) for one in (sys.argv[1:] if arguments is None else arguments)])
    for stream in (sys.stdout, sys.stderr):
        # Names come in every script, and not every terminal or pipe takes them.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except EsxparseError as error:
        fail(error)
        return 1
    except KeyboardInterrupt:
        print("esxparse: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `esxparse info ... | head`: whoever read has read enough.
        _discard_the_rest()
        return 0
    except OSError as error:
        _discard_the_rest()
        print(f"esxparse: cannot write the output: {error.strerror or error}", file=sys.stderr)
        return 1
    return code


def _public(argument: str) -> str:
    """An argument, or the value of `--option=value`, without the secrets of a URL."""
    option, equals, value = argument.partition("=")
    return f"{option}={public(value)}" if equals and argument.startswith("--") else public(argument)


def _discard_the_rest() -> None:
    """Sends what is still buffered for standard output nowhere: Python would try to write it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
