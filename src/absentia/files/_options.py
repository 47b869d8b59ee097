"""What a reader of data is told, and what opening data brings besides them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from absentia.data import KernelViews, Views


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
    """

    id: str | None = None
    views: Mapping[str, Sequence[str]] | None = None
    layer: str | None = None
    use_rep: str | None = None

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
    """

    data: Views | KernelViews
    per_view: dict[str, dict[str, Any]] = field(default_factory=dict)
    labels: LabelsSource | None = None
    notes: tuple[str, ...] = ()
