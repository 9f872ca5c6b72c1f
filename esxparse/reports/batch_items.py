"""The items of a batch, from files, directories and manifests, each with its template and a unique name.

A manifest is TOML:

    template = "auto"                 default for every item; a notebook needs `trust`
    [[item]]
    inputs = ["esx01.csv"]            relative to the manifest; or input = "esx01.csv"
    name = "esx01"                    name of the page
    template = "troubleshooting"
    parameters = {start = "2026-11-20T08:00"}
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from esxparse.errors import EsxparseError, UnknownFormatError
from esxparse.formats.directory import in_order
from esxparse.formats.names import STANDARD_INPUT, recording_name
from esxparse.formats.opening import Options
from esxparse.lakes import is_lake, lake
from esxparse.locations import is_url, public
from esxparse.reports.library import find
from esxparse.reports.pick import AUTO, STUDY, format_of, reading, template_for
from esxparse.shipped import templates_dir
from esxparse.toml.checked import read
from esxparse.toml.document import Document
from esxparse.toml.lines import Place
from esxparse.whole import short_name

_RESERVED: Final = ("index", "summary")
_LIKELY: Final = ".csv"
"""Ending of captures in a directory: an unreadable file with it is a failure, any other file is skipped."""


@dataclass(frozen=True)
class Item:
    """One page to make, or the reason why it cannot be made."""

    inputs: tuple[str, ...]
    template: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    why: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """The key under which an item keeps its name."""
        return (self.inputs, self.template, tuple(sorted((name, repr(one)) for name, one in self.parameters.items())))


@dataclass(frozen=True)
class Plan:
    """Items with their names, and files of directories that are not items."""

    items: tuple[Item, ...]
    left_out: tuple[tuple[str, str], ...]
    """Path and reason."""


def plan(
    inputs: Sequence[str | Path],
    template: str,
    parameters: Mapping[str, Any],
    options: Options,
    known: Mapping[tuple[Any, ...], str],
    output: Path,
    *,
    trust: bool = False,
) -> Plan:
    """Return the items of a batch.

    Args:
        inputs: Files, directories (searched), manifests, and lakes for a template with a parameter `host`, which makes
            a page for each host.
        template: For items without a template; "auto" goes by the inputs.
        parameters: Parameters of every item.
        options: Options of `esxparse.open`.
        known: Earlier names of items, by their key.
        output: Directory of the pages, which is never searched.
        trust: Whether manifests may use notebooks, which are code.

    Raises EsxparseError: A manifest or template is wrong, or there is nothing to make.
    """
    items: list[Item] = []
    files: list[str] = []
    left_out: list[tuple[str, str]] = []
    for one in map(str, inputs):
        where = one if is_url(one) else os.path.abspath(one)  # noqa: PTH100  links keep their names
        if found := _manifest(where):
            if not trust:
                _refuse_code(found, where)
            shared = found.template or template
            items += [_item(entry, Path(where), shared, parameters, options) for entry in found.item]
        elif template != AUTO and find(template).has("host") and is_lake(where):
            items += _of_hosts(where, template, parameters)
        elif not Path(where).is_dir():
            files.append(where)
        else:
            there = list(_recordings(Path(where), output))
            items += _grouped(there, template, parameters, options, left_out if there != [where] else None)
    items += _grouped(files, template, parameters, options, None)
    if not items:
        raise EsxparseError(f"{', '.join(map(str, inputs))}: there is nothing to report on")
    unique = {one.key: one for one in items}
    return Plan(tuple(_with_unique_names(list(unique.values()), known)), tuple(left_out))


def _of_hosts(uri: str, template: str, parameters: Mapping[str, Any]) -> Iterator[Item]:
    """Yield an item for each host of a lake, or for the host in the parameters."""
    hosts = dict.fromkeys(one.host for one in lake(uri).captures)
    for host in [parameters["host"]] if parameters.get("host") else hosts:
        yield Item((uri,), template, {**parameters, "host": host}, name=host)


@dataclass(frozen=True)
class _Entry:
    """The keys of an [[item]]."""

    input: str = ""
    inputs: tuple[str, ...] = ()
    name: Annotated[str | int, Meta(description="text")] = ""
    template: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Report an item without inputs."""
        if not (self.input or self.inputs):
            yield ("inputs",), 'an item has no inputs; write inputs = ["FILE", ...]'


@dataclass(frozen=True)
class _Manifest:
    item: tuple[_Entry, ...]
    template: str = ""


def _manifest(where: str) -> _Manifest | None:
    """Return the manifest in a file; None if it is another kind of file."""
    if not where.endswith(".toml") or is_url(where):
        return None
    try:
        document = Document.read(Path(where))
    except EsxparseError:
        return None
    return read(document, _Manifest) if isinstance(document.tables.get("item"), list) else None


def _refuse_code(found: _Manifest, manifest: str) -> None:
    """Raise EsxparseError for a manifest with a notebook: whoever wrote it chooses the code that runs here."""
    for name in (found.template, *(entry.template for entry in found.item)):
        notebook = Path(name)
        if notebook.suffix == ".ipynb" and notebook.resolve().parent != templates_dir().resolve():
            raise EsxparseError(
                f"{manifest} names the notebook {notebook}, which is code that would run with your rights: "
                "read it, and allow it with --trust (trust=True)"
            )


def _item(entry: _Entry, manifest: Path, template: str, parameters: Mapping[str, Any], options: Options) -> Item:
    inputs = [entry.input] if entry.input else entry.inputs
    paths = [public(one) if is_url(one) else os.path.normpath(manifest.parent / one) for one in inputs]
    item = _chosen(paths, entry.template or template, {**parameters, **entry.parameters}, options)
    return replace(item, name=str(entry.name))


def _chosen(paths: Sequence[str], template: str, parameters: Mapping[str, Any], options: Options) -> Item:
    """Return the item of one page."""
    item = Item(tuple(paths), template, parameters)
    if template != AUTO:
        find(template)
        return item
    try:
        formats = {format_of(path, options) for path in paths}
    except EsxparseError as error:
        return replace(item, why=str(error))
    found = reading(formats)
    why = "" if found else f"no template reads {', '.join(sorted(formats))}: name one with --template"
    return replace(item, template=found or AUTO, why=why)


def _recordings(folder: Path, output: Path) -> Iterator[str]:
    """Yield the recordings in a directory and below: files, directories that are recordings, studies."""
    from esxparse.formats.registry import reader_of_directory  # noqa: PLC0415  polars is not for --help

    if folder.resolve() == output.resolve():
        return
    if (folder / "study.toml").is_file() or reader_of_directory(folder) is not None:
        yield str(folder)
        return
    try:
        there = sorted(
            (one for one in folder.iterdir() if not one.name.startswith(".")), key=lambda one: in_order(one.name)
        )
    except OSError as error:
        raise EsxparseError(f"{folder} cannot be read: {error.strerror}") from None
    yield from (str(one) for one in there if one.is_file())
    for one in there:
        if one.is_dir() and not one.is_symlink():
            yield from _recordings(one, output)


def _grouped(
    paths: Sequence[str],
    template: str,
    parameters: Mapping[str, Any],
    options: Options,
    left_out: list[tuple[str, str]] | None,
) -> list[Item]:
    """Return items of files; files in one directory form one item if a template takes them together.

    `left_out`: receives the files that are not recordings. None if the caller listed each path: such a file is then an
    item that fails.
    """
    items: dict[tuple[str, ...], Item] = {}
    for path in dict.fromkeys(paths):
        try:
            kind = format_of(path, options)
        except EsxparseError as error:
            stranger = isinstance(error, UnknownFormatError) and _LIKELY not in Path(path).suffixes
            if left_out is not None and stranger:
                left_out.append((path, "in no format that esxparse reads"))
            else:
                items[(path,)] = Item((path,), template, parameters, why=str(error))
            continue
        found = template_for(path, kind) if template == AUTO else template
        if found is None:
            why = f"no template reads {kind}"
            if left_out is not None:
                left_out.append((path, why))
            else:
                items[(path,)] = Item((path,), AUTO, parameters, why=f"{why}: name one with --template")
            continue
        together = find(found).has("captures") and kind != STUDY and not Path(path).is_dir()
        key = (found, kind, str(Path(path).parent)) if together else (path,)
        before = items.get(key)
        several = f"{Path(path).parent.name}-{kind}" if before else ""
        items[key] = Item((*(before.inputs if before else ()), path), found, parameters, several)
    return list(items.values())


def unique_names(subjects: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return names of reports (template, recordings) that differ in more than case, with folders if needed."""
    paths = [one if is_url(one) or one == STANDARD_INPUT else str(Path(one).absolute()) for _, (one, *_) in subjects]
    first = [Item((path,), template, {}) for path, (template, _) in zip(paths, subjects, strict=True)]
    return [one.name for one in _with_unique_names(first, {})]


def _with_unique_names(items: Sequence[Item], known: Mapping[tuple[Any, ...], str]) -> Iterator[Item]:
    """Yield the items with unique names, ignoring case: the earlier name, or the file's, with folders if needed."""
    names = {place: name for place, one in enumerate(items) if (name := _before(one, known))}
    taken = {*_RESERVED, *(name.casefold() for name in known.values())}
    open_ = [place for place in range(len(items)) if place not in names]
    depth = 0
    while open_:
        wanted = {place: _name(items[place], depth) for place in open_}
        counts = Counter(name.casefold() for name in wanted.values())
        names |= {
            place: name
            for place, name in wanted.items()
            if counts[name.casefold()] == 1 and name.casefold() not in taken
        }
        taken |= {names[place].casefold() for place in open_ if place in names}
        open_ = [place for place in open_ if place not in names]
        depth += 1
    return (replace(one, name=names[place]) for place, one in enumerate(items))


def _before(item: Item, known: Mapping[tuple[Any, ...], str]) -> str:
    """Return an item's earlier name, even if some files are new; "" if the item has another name now."""
    same = [known[item.key]] if item.key in known else []
    if len(item.inputs) > 1:
        same += [
            name
            for (inputs, *rest), name in known.items()
            if rest == list(item.key[1:]) and not set(item.inputs).isdisjoint(inputs)
        ]
    return next((name for name in same if _name(item, 0) in name), "")


_DEEPEST: Final = 3


def _name(item: Item, depth: int) -> str:
    """Return a name from the last parts of an item's path; from some depth on, with a unique suffix."""
    path = Path(item.inputs[0])
    # Several files share the name of their directory.
    path = path.parent if len(item.inputs) > 1 or path.name == "study.toml" else path
    first = recording_name(f"{item.name}.x" if item.name else str(path))
    folders = [recording_name(f"{part}.x") for part in path.parts[1:-1]][-depth:] if depth else []
    mark = hashlib.sha256(repr((item.key, depth)).encode()).hexdigest()[:6]
    return "-".join([*folders, short_name(first), *([mark] if depth > _DEEPEST else [])])
