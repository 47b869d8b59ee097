"""Methods for one matrix with missing entries."""

from absentia.methods.catalogue._entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "matrix",
        "a matrix",
        "a matrix",
        "pma",
        "matrix:PMAImputer",
        "one matrix (CSV, or X in .npz) with missing entries; rows alike, columns too",
        "complete a column of which nothing is observed",
        default=True,
    ),
)
