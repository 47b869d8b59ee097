"""Answers that hang on no hidden random state and on no rounding.

``random_state`` means the same everywhere; it may be

``None``
    The fixed seed 0: the same call gives the same answer every time.
an integer, or anything else that :func:`numpy.random.default_rng` takes as a seed
    That seed.
:class:`numpy.random.Generator`
    Used as it is, and moved on.
:class:`numpy.random.RandomState`
    Moved on by one draw, which is the seed.

NumPy's global state is never read and never moved.  Choices among numbers that are equal but for rounding
(errors of several parameters, eigenvalues) go to the first, the simplest, or leave out all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from absentia.core.linalg import Array

RandomState = int | Sequence[int] | np.random.Generator | np.random.RandomState | None

#: Values that differ by less than this, relative, are tied.
TIE_RTOL = 1e-9

#: Values count as different from this share on: far above rounding, far below what data differ in.
DISTINCT_RTOL = 1e-6

_Key = TypeVar("_Key")


def make_generator(random_state: RandomState = None) -> np.random.Generator:
    """The generator that `random_state` stands for; see the module's docstring."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(0 if random_state is None else random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, a whole number from 0 on, or NumPy's Generator or RandomState, "
            f"not {random_state!r}"
        ) from None


def argmin_key(curve: Mapping[_Key, float]) -> _Key:
    """The key of the least value; of those tied with it the first, so let the simplest come first.

    Examples
    --------
    >>> argmin_key({1: 0.5, 2: 0.2 + 1e-12, 3: 0.2})
    2
    """
    low = min(curve.values())
    return next(key for key, value in curve.items() if value <= low + TIE_RTOL * abs(low))


def evaluate_path(
    path: Iterable[_Key], error: Callable[[_Key], float], patience: int = 2, hopeless: float = np.inf
) -> dict[_Key, float]:
    """Errors along a path of values, left once `patience` values in a row were worse than the best.

    It is left at once where the error is more than `hopeless` times the best.
    """
    curve: dict[_Key, float] = {}
    for value in path:
        curve[value] = error(value)
        tried, best = list(curve), argmin_key(curve)
        if len(tried) - 1 - tried.index(best) >= patience or curve[value] > hopeless * curve[best]:
            break
    return curve


def choose_rank(values: Array, most: int) -> int:
    """How many of descending `values` to keep, at most `most`; of those alike all or none.

    A cut between directions whose values are alike (to :data:`DISTINCT_RTOL`) would let rounding say which.
    """
    count = min(most, len(values))
    while 0 < count < len(values) and values[count] >= (1 - DISTINCT_RTOL) * values[count - 1]:
        count -= 1
    return count
