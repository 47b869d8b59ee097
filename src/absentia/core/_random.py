"""Randomness is handed over, in one way everywhere.

``random_state`` may be

``None``
    The fixed seed 0: the same call gives the same answer every time.
an integer, or anything else that :func:`numpy.random.default_rng` takes as a seed
    That seed.
:class:`numpy.random.Generator`
    Used as it is, and moved on.
:class:`numpy.random.RandomState`
    Moved on by one draw, which is the seed.

NumPy's global state is never read and never moved.
"""

from collections.abc import Sequence

import numpy as np

RandomState = int | Sequence[int] | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState = None) -> np.random.Generator:
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
