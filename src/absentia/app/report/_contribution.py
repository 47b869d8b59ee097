"""What each view is worth: how many samples are still right when it is hidden from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from absentia.app.report._text import number, signed
from absentia.core import Array

FEW = 20


@dataclass(frozen=True)
class Worth:
    """Samples that have a view, classified with and without it."""

    name: str
    count: str
    alone: str  # samples for which it is the only view
    with_it: str
    without_it: str
    drop: str  # points
    lost: str
    gained: str
    width: float  # percent of the largest drop
    few: bool


def contributions(
    names: Sequence[str], observed: Array, truth: Array, predicted: Array, without: Array | None
) -> list[Worth]:
    """Of every view that somebody has; `without` (samples x views) is what is said if a view is hidden."""
    if without is None:
        return []
    right, still = predicted == truth, without == truth[:, None]
    drops = [
        float(right[has].mean() - still[has, v].mean()) if has.any() else 0.0
        for v, has in enumerate(observed.T)
    ]
    most = max(max(drops, default=0.0), 1e-300)
    single = observed.sum(axis=1) == 1
    rows = []
    for v, has in enumerate(observed.T):
        if not has.any():
            continue
        n, before, after = int(has.sum()), right[has], still[has, v]
        rows.append(
            Worth(
                names[v],
                number(n),
                number(int((has & single).sum())),
                f"{100 * before.mean():.1f}%",
                f"{100 * after.mean():.1f}%",
                signed(-100 * drops[v]),
                number(int((before & ~after).sum())),
                number(int((~before & after).sum())),
                round(float(np.clip(100 * drops[v] / most, 0, 100)), 1),
                n < FEW,
            )
        )
    return rows
