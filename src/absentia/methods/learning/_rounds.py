"""Margins measured in what each sample has: a machine for given shares, shares for the machine, in turn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from absentia.core import Array, Callback, Solution, Stop, iterate

Found = TypeVar("Found")


@dataclass(frozen=True)
class Round(Generic[Found]):
    """After a round: what was found, its objective, and the shares that it leads to."""

    following: Array
    objective: float = np.inf
    found: Found | None = None


def in_rounds(
    step: Callable[[Array, Found | None], Round[Found]],
    n: int,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> tuple[Found, Solution[Round[Found]]]:
    """Rounds of ``step(shares, found before)`` from shares of one: the last find, and how it ended."""
    solution = iterate(
        lambda last: step(last.following, last.found),
        lambda last: last.objective,
        Round[Found](np.ones(n)),
        stop=Stop(tol),
        max_iter=max_iter,
        callback=callback,
    )
    assert solution.state.found is not None
    return solution.state.found, solution
