"""A folder as one data set: each table is a view, named as its file is.

The file that is named for labels, and files that are called labels, y, target, outcome or phenotype, are
not views.  A manifest (``absentia.toml``,
or the only .toml file) takes the place of all this.  Folders inside are not looked into.
"""

import re
from pathlib import Path
from typing import Any

from absentia.core import warn
from absentia.data import AbsenceWarning
from absentia.files._frames import LABELS, stem
from absentia.files._joining import joined, read_views
from absentia.files._manifest import read_manifest
from absentia.files._options import Opened, Options
from absentia.files._reading import how_to_convert, is_known

MANIFEST = "absentia.toml"
_BESIDE = re.compile(r"\..*|~\$.*|readme.*|.*\.(md|html?|json|toml)", re.IGNORECASE | re.DOTALL)
SHOWN = 6


def read_folder(path: Path, options: Options) -> Opened:
    """The views of a folder.

    Parameters
    ----------
    path : Path
        The folder.
    options : Options
        What is said of every table in it.
    """
    manifest = _manifest_in(path)
    if manifest is not None:
        return read_manifest(manifest, options)
    options.refuse("views", why="a folder; it is for one wide table")
    files, labels, unknown = _sorted_out(path, options)
    if unknown:
        names = ", ".join(file.name for file in unknown[:SHOWN]) + (" ..." if len(unknown) > SHOWN else "")
        how = "".join(f"; {one.name} is {word}" for one in unknown[:SHOWN] if (word := how_to_convert(one)))
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
    notes = [_not_a_view(file, options) for file in labels]
    for file in files:
        found, more = read_views(file, options)
        if twice := sorted(frames.keys() & found.keys()):
            raise ValueError(f"a sheet of {file.name} and another file would both be view {twice[0]!r}")
        frames |= found
        notes += more
    return joined(frames, notes)


def _not_a_view(file: Path, options: Options) -> str:
    said = f"{file.name} is not a view: it is taken for labels"
    if options.is_labels(file) and not options.features_from_labels:
        said += " (--features-from-labels COLUMN ... makes features of others of its columns)"
    return said


def _manifest_in(path: Path) -> Path | None:
    found = sorted(file for file in path.iterdir() if file.name.lower().endswith(".toml"))
    named = [file for file in found if file.name.lower() == MANIFEST]
    if len(found) > 1 and not named:
        raise ValueError(
            f"holds {len(found)} manifests, {', '.join(file.name for file in found[:SHOWN])}; give the one "
            f"that is meant, or call it {MANIFEST}"
        )
    return next(iter(named or found), None)


def _sorted_out(path: Path, options: Options) -> tuple[list[Path], list[Path], list[Path]]:
    """Files that are views, that hold labels, and that nothing is known of."""
    files, labels, unknown = list[Path](), list[Path](), list[Path]()
    for file in sorted(path.iterdir(), key=lambda file: (file.name.lower(), file.name)):
        if _BESIDE.fullmatch(file.name) or (file.is_dir() and not is_known(file)):
            continue
        if is_known(file) and (LABELS.fullmatch(stem(file)) or options.is_labels(file)):
            labels.append(file)
        elif not options.is_ignored(stem(file)):
            (files if is_known(file) else unknown).append(file)
    for file in files:
        if not file.resolve().is_relative_to(path.resolve()):
            raise ValueError(
                f"{file.name} is a link that leads out of the folder; put the file itself there"
            )
    names = [stem(file) for file in files]
    for k, name in enumerate(names):
        if name in names[:k]:
            first = files[names.index(name)].name
            raise ValueError(
                f"{first} and {files[k].name} would both be view {name!r}; rename or remove one"
            )
    return files, labels, unknown
