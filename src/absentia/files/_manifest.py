"""A manifest: a TOML file that says which files are which views, and what to make of them.

::

    schema = 1
    [views.expression]
    file = "expr.csv"
    kernel = "cosine"
    [labels]
    file = "labels.csv"
    column = "subtype"

All keys are in ``docs/files.md``.  Files are named relative to the manifest and lie in its folder.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from absentia.files._errors import reading
from absentia.files._frames import Spec
from absentia.files._joining import joined, read_view
from absentia.files._opening import opened
from absentia.files._options import LabelsSource, Opened, Options
from absentia.kernels import KERNELS

SCHEMA = 1
LARGEST = 1 << 20
_TEXT, _TEXTS, _YES = "a text", "a list of texts", "true or false"
VIEW_KEYS = {
    "file": _TEXT,
    "id": _TEXT,
    "kernel": _TEXT,
    "log": _YES,
    "columns": _TEXTS,
    "ignore": _TEXTS,
    "categorical": _TEXTS,
    "missing": _TEXTS,
    "transpose": _YES,
    "sheet": _TEXT,
}
LABEL_KEYS = {"file": _TEXT, "column": _TEXT, "id": _TEXT}


def read_manifest(path: Path, options: Options) -> Opened:
    """The data that a manifest describes.

    Parameters
    ----------
    path : Path
        The manifest.
    options : Options
        ``id`` is for tables of which the manifest does not say it.
    """
    with reading(path):
        options.refuse(
            "views", why="a manifest; it says itself which columns are which view (columns = ...)"
        )
        content = _parsed(path)
        views = {
            name: _table(f"views.{name}", entry, VIEW_KEYS) for name, entry in content["views"].items()
        }
        labels = _labels(path, content.get("labels"))
        for name, entry in views.items():
            if entry.get("kernel", "rbf") not in KERNELS:
                raise ValueError(
                    f"views.{name}: kernel is {entry['kernel']!r}; there are {', '.join(KERNELS)}"
                )
        said = options if options.labels or not labels else replace(options, labels=labels.file)
        frames, notes = {}, list[str]()
        for name, entry in views.items():
            file = inside(path, entry["file"], f"views.{name}")
            if said.is_labels(file) and "columns" not in entry:
                notes.append(
                    f"view {name!r} is left out: {file.name} is taken for labels; columns = [...] says "
                    "which of its columns are features"
                )
            elif not options.is_ignored(name):
                frame, more = read_view(name, file, _spec(entry, options), options)
                frames[name] = frame
                notes += more
        if not frames:
            raise ValueError(f"no view is left ({notes[0] if notes else 'all are ignored'})")
        per_view = {
            name: {key: value for key, value in entry.items() if key in ("kernel", "log")}
            for name, entry in views.items()
            if name in frames
        }
        return joined(frames, notes, {name: own for name, own in per_view.items() if own}, labels)


def _parsed(path: Path) -> dict[str, Any]:
    with opened(path, "a manifest") as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"is larger than {LARGEST} bytes; is this a manifest?")
    try:
        content = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"is not TOML ({error})") from None
    _known("the manifest", content, ("schema", "views", "labels"))
    schema = content.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise ValueError(f"schema is {schema!r}; schema = {SCHEMA} is wanted, the only one there is")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        raise ValueError("names no view; a section such as [views.expression] is wanted for each")
    return content


def _known(where: str, entry: Mapping[str, Any], keys: Any) -> None:
    unknown = [key for key in entry if key not in keys]
    if unknown:
        raise ValueError(
            f"{where}: {', '.join(map(repr, unknown[:5]))} is not known; there are {', '.join(keys)}"
        )


def _table(where: str, entry: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    """A section, its keys known and its values of the right kinds."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is {entry!r}; a section [{where}] is wanted")
    _known(where, entry, keys)
    for key, value in entry.items():
        texts = isinstance(value, list) and all(isinstance(x, str) for x in value)
        kind = {str: _TEXT, bool: _YES}.get(type(value), _TEXTS if texts else None)
        if kind != keys[key]:
            raise ValueError(f"{where}: {key} is {value!r}; {keys[key]} is wanted")
    if "file" not in entry:
        raise ValueError(f'{where}: no file is named; file = "..." is wanted')
    return entry


def _spec(entry: Mapping[str, Any], options: Options) -> Spec:
    said = {key: value for key, value in entry.items() if key not in ("file", "kernel", "log")}
    return Spec(**{"id": options.id, **said})


def _labels(path: Path, entry: Any) -> LabelsSource | None:
    if entry is None:
        return None
    said = _table("labels", entry, LABEL_KEYS)
    return LabelsSource(inside(path, said["file"], "labels"), said.get("column"), said.get("id"))


def inside(manifest: Path, name: str, where: str) -> Path:
    """A file that a manifest names, if it lies in the manifest's folder."""
    if not name or "\0" in name:
        raise ValueError(f"{where}: {name!r} is no name of a file")
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    whole = PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor
    folder = manifest.parent.resolve()
    if whole or ".." in parts or not (folder / name).resolve().is_relative_to(folder):
        raise ValueError(
            f"{where}: {name!r} lies outside the manifest's folder; put the file there and name it "
            "relative to the manifest"
        )
    if not (folder / name).exists():
        raise ValueError(f"{where}: there is no file {name!r} in the manifest's folder")
    return manifest.parent / name
