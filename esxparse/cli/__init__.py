"""The command line: parses arguments, calls the library, prints.

Exit codes: 0 success, 1 some inputs failed, 2 invalid command line, 3 --fail-on found something, 130 interrupted, 143
terminated.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from esxparse.cli import limits, signals
from esxparse.cli.output import fail
from esxparse.errors import EsxparseError, choose_from, did_you_mean
from esxparse.locations import public, scrubbed
from esxparse.recording import printable
from esxparse.version import __version__
from esxparse.whole import clear_temporary

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_COMMANDS = (
    "info",
    "check",
    "diagnose",
    "compare",
    "right-size",
    "rules",
    "report",
    "batch",
    "lab",
    "slice",
    "convert",
    "export",
    "lake",
    "collect",
    "study",
    "plan",
    "audit",
    "simulate",
    "formats",
    "templates",
    "timeline",
)
"""Each is a module of this package with `add(subparsers)`, which sets the function that runs the command."""

_EPILOG = (
    "exit codes: 0 success, 1 some inputs failed, 2 invalid command line, 3 what --fail-on asks for was found, "
    "130 interrupted, 143 terminated"
)


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest command or value for an unknown one; commands' parsers do the same."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"unknown {value!r}: {choose_from(value, action.choices)}")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse itself swallows the error of a full disk.
        (file or sys.stderr).write(scrubbed(message))


def build_parser(commands: Sequence[str] = _COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of these commands; it imports nothing heavy, so that `--help` is fast."""
    parser = _Parser(
        prog="esxparse",
        description="Reads esxtop batch captures and writes reports about them.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"esxparse {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in commands:
        import_module(f"esxparse.cli.{command.replace('-', '_')}").add(subparsers)
    for one in subparsers.choices.values():
        one.epilog = _EPILOG
    return parser


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments; without a command the help."""
    if words and words[0] == "help":
        words = [*words[1:], "--help"]
    # If the command comes first, a parser for it alone is enough, and saves importing the rest.
    parser = build_parser(words[:1] if words and words[0] in _COMMANDS else _COMMANDS)
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in _COMMANDS:
        parser.error(f"there is no command {command!r}; {did_you_mean(command, _COMMANDS)}".rstrip("; "))
    options, rest = parser.parse_known_args(words or ["--help"])
    if rest:
        *outer, command_parser = _parsers_of(parser, words)
        flags = [flag for one in (*outer, command_parser) for flag in one._option_string_actions]  # noqa: SLF001
        near = did_you_mean(rest[0].partition("=")[0], [flag for flag in flags if flag.startswith("--")])
        near = near if rest[0].startswith("-") else ""
        command_parser.error(f"unrecognized arguments: {' '.join(rest)}; {near}".rstrip("; "))
    if options.command is None:
        parser.error("a COMMAND is missing: esxparse --help lists them")
    return options


def _parsers_of(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser, then the parsers of the command and subcommands in the words."""
    yield parser
    for action in parser._actions:  # noqa: SLF001  argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            part = next((word for word in words if word in action.choices), None)
            if part is not None:
                yield from _parsers_of(action.choices[part], words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Names come in every script, and not every terminal or pipe can show them.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Usage errors, parameters of notebooks and state files repeat arguments: remove passwords first.
    words = [_public(one) for one in (sys.argv[1:] if arguments is None else arguments)]

    def command() -> int:
        options = _parsed(words)
        if limits.prepare(limits.name_of(options)):
            return limits.contained(lambda: _code_of(lambda: int(options.run(options))))
        return int(options.run(options))

    return _code_of(command)


def _code_of(command: Callable[[], int]) -> int:
    """Run a command; turn early ends into one line and an exit code."""
    try:
        try:
            with signals.heeded():
                code = command()
        finally:
            # Help ends here, too.
            sys.stdout.flush()
    except EsxparseError as error:
        fail(error)
        return 1
    except signals.EndedError as error:
        # A child process that took too long to clean up has left its own files.
        clear_temporary()
        print("esxparse: ended by a signal; unfinished files are removed", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        clear_temporary()
        print("esxparse: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `esxparse info ... | head`: the reader has read enough.
        _discard_the_rest()
        return 0
    except Exception as error:
        if (why := limits.exceeded(error)) is not None:
            print(f"esxparse: {why}", file=sys.stderr)
        elif isinstance(error, OSError) and error.filename is not None:
            fail(EsxparseError(f"{printable(os.fsdecode(error.filename))}: {error.strerror or error}"))
        elif isinstance(error, OSError):
            _discard_the_rest()
            print(f"esxparse: cannot write the output: {error.strerror or error}", file=sys.stderr)
        else:
            raise
        return 1
    return code


def _open_closed_streams() -> None:
    """Open standard streams that were closed, as under cron, on the null device: no file or pipe takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null == number:
                os.set_inheritable(null, True)
            else:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def _public(argument: str) -> str:
    """Return an argument, or the value of `--option=value`, without the secrets of a URL."""
    option, equals, value = argument.partition("=")
    return f"{option}={public(value)}" if equals and argument.startswith("--") else public(argument)


def _discard_the_rest() -> None:
    """Discard the rest of the buffer of standard output: Python would try to write it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
