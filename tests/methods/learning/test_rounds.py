"""Rounds: what was found for given shares, shares for what was found."""

import numpy as np

from absentia.core import Status
from absentia.methods.learning._rounds import Round, in_rounds


def halving(shares, last):
    """Shares go half the way to 0.4 each time; what is found counts the rounds."""
    following = (shares + 0.4) / 2
    return Round(following, 1 + float(shares.sum()), (0 if last is None else last[0] + 1, shares))


def test_rounds_start_from_shares_of_one_and_hand_on_what_was_found():
    seen = []
    (count, shares), solution = in_rounds(halving, 3, tol=1e-12, max_iter=4, callback=seen.append)
    assert count == 3
    assert [p.objective for p in seen] == list(solution.trace)
    assert solution.trace[0] == 1 + 3
    np.testing.assert_allclose(shares, 0.4 + 0.6 / 2**3)
    assert solution.status is Status.MAX_ITER


def test_rounds_end_when_the_objective_does_not_change():
    (_, shares), solution = in_rounds(halving, 3, tol=1e-6, max_iter=100)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(shares, 0.4, atol=1e-5)
