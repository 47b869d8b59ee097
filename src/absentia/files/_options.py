"""What a reader of data is told, and what opening data brings besides them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from typing import Any

from absentia.data import KernelViews, Views


def fitting(names: Sequence[str], pattern: str) -> list[str]:
    """Names that fit a pattern (as ``gene_*``); a pattern that is itself a name fits that one only."""
    return [pattern] if pattern in names else list(filter(re.compile(translate(pattern)).match, names))


@dataclass(frozen=True)
class Options:
    """What the user says about a file; None where nothing was said.

    Attributes
    ----------
    id : str, optional
        The column of a table that holds the ids of samples.
    views : mapping of str to sequence of str, optional
        For one wide table: patterns (as ``gene_*``) of the columns that make up each view.
    layer : str, optional
        For .h5ad and .h5mu files: which layer holds the values, instead of X.
    use_rep : str, optional
        For .h5ad and .h5mu files: which entry of obsm holds the values, instead of X.
    ignore : sequence of str
        Columns to leave out: ``COLUMN`` of any view or ``VIEW:COLUMN``, names or patterns (as ``date_*``).
    transpose : bool or sequence of str
        Tables whose columns are the samples: these views, or, if True, all.
    labels : Path, optional
        The table of labels, which is no view.
    features_from_labels : sequence of str
        Columns of the table of labels that are features all the same: a view of its name.
    used : set of str
        Which entries of `ignore` have fitted some column so far.
    """

    id: str | None = None
    views: Mapping[str, Sequence[str]] | None = None
    layer: str | None = None
    use_rep: str | None = None
    ignore: Sequence[str] = ()
    transpose: bool | Sequence[str] = False
    labels: Path | None = None
    features_from_labels: Sequence[str] = ()
    used: set[str] = field(default_factory=set, repr=False, compare=False)

    def ignored(self, view: str, columns: Iterable[str]) -> list[str]:
        """Columns of a view that are to be left out."""
        names, found = list(columns), dict[str, None]()
        for entry in self.ignore:
            own = fitting(names, entry)
            if entry.startswith(f"{view}:"):
                own += fitting(names, entry.removeprefix(f"{view}:"))
            if own:
                self.used.add(entry)
            found.update(dict.fromkeys(own))
        return list(found)

    def is_ignored(self, view: str) -> bool:
        """Whether a view is to be left out as a whole, ``VIEW:*``."""
        if f"{view}:*" in self.ignore:
            self.used.add(f"{view}:*")
            return True
        return False

    def turns(self, view: str) -> bool:
        """Whether the samples are the columns of the table of a view."""
        return self.transpose if isinstance(self.transpose, bool) else view in self.transpose

    def is_labels(self, file: Path) -> bool:
        """Whether a file is the table of labels."""
        return self.labels is not None and self.labels.exists() and file.samefile(self.labels)

    def refuse(self, *names: str, why: str) -> None:
        """Raise if something was said that a format has no use for.

        Parameters
        ----------
        *names : str
            Attributes that the format has no use for.
        why : str
            What the format is, as in "an .npz file".
        """
        given = [name for name in names if getattr(self, name) is not None]
        if given:
            raise ValueError(f"{' and '.join(given)} cannot be given for {why}; leave it out")


@dataclass(frozen=True)
class LabelsSource:
    """Where a manifest says that the labels are.

    Attributes
    ----------
    file : Path
        A table, inside the manifest's folder.
    column : str, optional
        Its column with the labels; several, for several labels, are separated by commas.
    id : str, optional
        Its column with the ids of samples.
    """

    file: Path
    column: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class Opened:
    """Data out of files, and what else was found there.

    Attributes
    ----------
    data : Views or KernelViews
    per_view : dict of str to dict
        What a manifest says about the kernel of a view: ``kernel`` and ``log``.
    labels : LabelsSource, optional
        Where a manifest says that the labels are.
    notes : tuple of str
        Sentences worth showing: what was left out, and why.
    table : Path, optional
        The table of labels, if one is named.
    """

    data: Views | KernelViews
    per_view: dict[str, dict[str, Any]] = field(default_factory=dict)
    labels: LabelsSource | None = None
    notes: tuple[str, ...] = ()
    table: Path | None = None
