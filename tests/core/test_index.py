"""Permutations undone, and rows grouped by their pattern."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from absentia.core._index import by_pattern, inverse


@given(st.permutations(range(7)))
def test_the_inverse_undoes(order):
    order = np.array(order)
    np.testing.assert_array_equal(np.arange(7)[order][inverse(order)], np.arange(7))


@given(hnp.arrays(bool, st.tuples(st.integers(0, 8), st.integers(1, 4))))
def test_every_row_is_in_the_group_of_its_pattern(mask):
    groups = list(by_pattern(mask))
    assert sorted(i for _, rows in groups for i in rows.tolist()) == list(range(len(mask)))
    assert len({pattern.tobytes() for pattern, _ in groups}) == len(groups)
    for pattern, rows in groups:
        assert (mask[rows] == pattern).all()
        assert (np.diff(rows) > 0).all()
