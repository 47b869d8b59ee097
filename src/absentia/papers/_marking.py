"""Which methods of a row are best, and which of the others cannot be told from them: as papers print."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import ttest_1samp

from absentia.papers._cells import Cell, Row

OURS_WORDS = (
    "bold: best of the row; underlined: not told from it by a one-sample t-test of paired differences"
)


def marked(rows: Sequence[Row], better: str, level: float) -> list[Row]:
    """Rows with marks; columns that read what is hidden take no part."""
    return list(rows) if better == "neither" else [_marked(row, better, level) for row in rows]


def _marked(row: Row, better: str, level: float) -> Row:
    taking = {name: c.mean for name, c in row.cells.items() if c.mean is not None and not c.column.leaks}
    if len(taking) < 2:
        return row
    pick = min if better == "lower" else max
    best = pick(taking, key=lambda name: taking[name])
    cells = dict(row.cells)
    for name in taking:
        if name == best or taking[name] == taking[best]:
            cells[name] = replace(cells[name], mark="best")
        elif not differs(cells[name], cells[best], level):
            cells[name] = replace(cells[name], mark="like the best")
    return Row(row.name, cells)


def differs(one: Cell, other: Cell, level: float) -> bool:
    """Whether chance does not explain the mean of paired differences; True where that cannot be told."""
    shared = sorted(set(one.means) & set(other.means))
    differences = np.array([one.means[repeat] - other.means[repeat] for repeat in shared])
    if len(differences) < 2 or np.ptp(differences) == 0:
        return True
    with warnings.catch_warnings(action="ignore"):  # nearly the same differences throughout
        return bool(ttest_1samp(differences, 0.0).pvalue < level)
