"""Methods for one matrix with missing entries."""

from absentia.methods.catalogue._entry import Entry

_PMA = Entry(
    "matrix",
    "a matrix",
    "a matrix",
    "pma",
    "matrix:PMAImputer",
    "one matrix (CSV, or X in .npz) with missing entries; rows alike, columns too",
    "complete a column of which nothing is observed",
    default=True,
    aliases=("PMA-EXACT",),
)

ENTRIES: tuple[Entry, ...] = (
    _PMA,
    _PMA.variant("pma-map", "the same by the paper's alternation; slower", {"inference": "map"}),
    _PMA.variant("pma-gibbs", "the same by Gibbs sampling; slower", {"inference": "gibbs"}),
)
