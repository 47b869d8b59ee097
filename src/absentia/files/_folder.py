"""A folder as one data set: each table is a view, named as its file is.

The file that is named for labels, and files that are called labels, y, target, outcome or phenotype, are
not views.  Folders inside are not looked into.  A manifest (``absentia.toml``, or the only .toml file)
takes the place of all this.  It says which files are which views, and what to make of them:

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

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from absentia.core import warn
from absentia.data import AbsenceWarning
from absentia.files._base import LabelsSource, LoadedData, Options, file_errors, open_regular
from absentia.files._frames import LABEL_NAMES, TableSpec, view_name
from absentia.files._id_matching import join_frames, read_view, read_views
from absentia.files._reading import explain_conversion, is_readable
from absentia.kernels import KERNELS

_MANIFEST = "absentia.toml"
_NOT_DATA = re.compile(r"\..*|~\$.*|readme.*|.*\.(md|html?|json|toml)", re.IGNORECASE | re.DOTALL)
_N_SHOWN = 6


def read_folder(path: Path, options: Options) -> LoadedData:
    """The views of a folder.

    Parameters
    ----------
    path : Path
        The folder.
    options : Options
        What is said of every table in it.
    """
    manifest = _find_manifest(path)
    if manifest is not None:
        return read_manifest(manifest, options)
    options.refuse("views", why="a folder; it is for one wide table")
    files, labels, unknown = _sort_files(path, options)
    if unknown:
        names = ", ".join(file.name for file in unknown[:_N_SHOWN]) + (
            " ..." if len(unknown) > _N_SHOWN else ""
        )
        advice = [(file.name, explain_conversion(file)) for file in unknown[:_N_SHOWN]]
        how = "".join(f"; {name} is {words}" for name, words in advice if words)
        warn(f"{path}: {len(unknown)} file(s) of no known kind are left out: {names}{how}", AbsenceWarning)
    if not files:
        raise ValueError(
            "is a folder without any table; each view is one, e.g. expression.csv with a column of ids"
            + (
                f" ({labels[0].name} is taken for labels; if features stand beside them, give this table "
                "itself, not its folder)"
                if labels
                else ""
            )
        )
    frames: dict[str, Any] = {}
    notes = [_note_labels(file, options) for file in labels]
    for file in files:
        views, more = read_views(file, options)
        if twice := sorted(frames.keys() & views.keys()):
            raise ValueError(f"a sheet of {file.name} and another file would both be view {twice[0]!r}")
        frames |= views
        notes += more
    return join_frames(frames, notes)


def _note_labels(file: Path, options: Options) -> str:
    note = f"{file.name} is not a view: it is taken for labels"
    if options.is_label_table(file) and not options.features_from_labels:
        note += " (--features-from-labels COLUMN ... makes features of others of its columns)"
    return note


def _find_manifest(path: Path) -> Path | None:
    manifests = sorted(file for file in path.iterdir() if file.name.lower().endswith(".toml"))
    named = [file for file in manifests if file.name.lower() == _MANIFEST]
    if len(manifests) > 1 and not named:
        raise ValueError(
            f"holds {len(manifests)} manifests, "
            f"{', '.join(file.name for file in manifests[:_N_SHOWN])}; give the one "
            f"that is meant, or call it {_MANIFEST}"
        )
    return next(iter(named or manifests), None)


def _sort_files(path: Path, options: Options) -> tuple[list[Path], list[Path], list[Path]]:
    """Files that are views, that hold labels, and that nothing is known of."""
    files, labels, unknown = list[Path](), list[Path](), list[Path]()
    for file in sorted(path.iterdir(), key=lambda file: (file.name.lower(), file.name)):
        if _NOT_DATA.fullmatch(file.name) or (file.is_dir() and not is_readable(file)):
            continue
        if is_readable(file) and (LABEL_NAMES.fullmatch(view_name(file)) or options.is_label_table(file)):
            labels.append(file)
        elif not options.is_ignored_view(view_name(file)):
            (files if is_readable(file) else unknown).append(file)
    for file in files:
        if not file.resolve().is_relative_to(path.resolve()):
            raise ValueError(
                f"{file.name} is a link that leads out of the folder; put the file itself there"
            )
    names = [view_name(file) for file in files]
    for k, name in enumerate(names):
        if name in names[:k]:
            first = files[names.index(name)].name
            raise ValueError(
                f"{first} and {files[k].name} would both be view {name!r}; rename or remove one"
            )
    return files, labels, unknown


# ------------------------------------------------------------------------------------------ manifests

_SCHEMA = 1
_MAX_MANIFEST = 1 << 20
_TEXT, _TEXTS, _YES = "a text", "a list of texts", "true or false"
_VIEW_KEYS = {
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
_LABEL_KEYS = {"file": _TEXT, "column": _TEXT, "id": _TEXT}


def read_manifest(path: Path, options: Options) -> LoadedData:
    """The data that a manifest describes.

    Parameters
    ----------
    path : Path
        The manifest.
    options : Options
        ``id`` is for tables of which the manifest does not say it.
    """
    with file_errors(path):
        options.refuse(
            "views", why="a manifest; it says itself which columns are which view (columns = ...)"
        )
        content = _parse_manifest(path)
        views = {
            name: _check_section(f"views.{name}", entry, _VIEW_KEYS)
            for name, entry in content["views"].items()
        }
        labels = _read_labels_section(path, content.get("labels"))
        for name, entry in views.items():
            if entry.get("kernel", "rbf") not in KERNELS:
                raise ValueError(
                    f"views.{name}: kernel is {entry['kernel']!r}; there are {', '.join(KERNELS)}"
                )
        with_labels = options if options.labels or not labels else replace(options, labels=labels.file)
        frames, notes = {}, list[str]()
        for name, entry in views.items():
            file = _resolve_inside(path, entry["file"], f"views.{name}")
            if with_labels.is_label_table(file) and "columns" not in entry:
                notes.append(
                    f"view {name!r} is left out: {file.name} is taken for labels; columns = [...] says "
                    "which of its columns are features"
                )
            elif not options.is_ignored_view(name):
                frame, more = read_view(name, file, _make_spec(entry, options), options)
                frames[name] = frame
                notes += more
        if not frames:
            raise ValueError(f"no view is left ({notes[0] if notes else 'all are ignored'})")
        per_view = {
            name: {key: value for key, value in entry.items() if key in ("kernel", "log")}
            for name, entry in views.items()
            if name in frames
        }
        return join_frames(frames, notes, {name: own for name, own in per_view.items() if own}, labels)


def _parse_manifest(path: Path) -> dict[str, Any]:
    with open_regular(path, "a manifest") as file:
        text = file.read(_MAX_MANIFEST + 1)
    if len(text) > _MAX_MANIFEST:
        raise ValueError(f"is larger than {_MAX_MANIFEST} bytes; is this a manifest?")
    try:
        content = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"is not TOML ({error})") from None
    _check_keys("the manifest", content, ("schema", "views", "labels"))
    schema = content.get("schema")
    if schema != _SCHEMA or isinstance(schema, bool):
        raise ValueError(f"schema is {schema!r}; schema = {_SCHEMA} is wanted, the only one there is")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        raise ValueError("names no view; a section such as [views.expression] is wanted for each")
    return content


def _check_keys(where: str, entry: Mapping[str, Any], keys: Any) -> None:
    unknown = [key for key in entry if key not in keys]
    if unknown:
        raise ValueError(
            f"{where}: {', '.join(map(repr, unknown[:5]))} is not known; there are {', '.join(keys)}"
        )


def _check_section(where: str, entry: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    """A section, its keys known and its values of the right kinds."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is {entry!r}; a section [{where}] is wanted")
    _check_keys(where, entry, keys)
    for key, value in entry.items():
        texts = isinstance(value, list) and all(isinstance(x, str) for x in value)
        kind = {str: _TEXT, bool: _YES}.get(type(value), _TEXTS if texts else None)
        if kind != keys[key]:
            raise ValueError(f"{where}: {key} is {value!r}; {keys[key]} is wanted")
    if "file" not in entry:
        raise ValueError(f'{where}: no file is named; file = "..." is wanted')
    return entry


def _make_spec(entry: Mapping[str, Any], options: Options) -> TableSpec:
    about = {key: value for key, value in entry.items() if key not in ("file", "kernel", "log")}
    return TableSpec(**{"id": options.id, **about})


def _read_labels_section(path: Path, entry: Any) -> LabelsSource | None:
    if entry is None:
        return None
    section = _check_section("labels", entry, _LABEL_KEYS)
    file = _resolve_inside(path, section["file"], "labels")
    return LabelsSource(file, section.get("column"), section.get("id"))


def _resolve_inside(manifest: Path, name: str, where: str) -> Path:
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
