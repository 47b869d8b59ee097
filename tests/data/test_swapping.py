"""Cells are hidden with exact counts, the largest wishes first, and nobody is left with nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from absentia import missingness

unhurried = settings(deadline=None)


def test_the_largest_wishes_come_true_where_nobody_goes_empty():
    observed = np.ones((4, 2), bool)
    priority = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.7], [0.2, 0.6]])
    keep = missingness._hide_in_each_view(observed, np.array([2, 1]), priority, allow_empty=False)
    np.testing.assert_array_equal(~keep, [[True, False], [True, False], [False, True], [False, False]])


def test_an_empty_sample_gets_its_smallest_wish_back_and_another_pays():
    observed = np.ones((3, 2), bool)
    priority = np.array([[0.9, 0.8], [0.1, 0.2], [0.3, 0.1]])
    keep = missingness._hide_in_each_view(observed, np.array([1, 1]), priority, allow_empty=False)
    np.testing.assert_array_equal(keep, [[False, True], [True, False], [True, True]])
    empty = missingness._hide_in_each_view(observed, np.array([1, 1]), priority, allow_empty=True)
    np.testing.assert_array_equal(empty, [[False, False], [True, True], [True, True]])


def test_what_cannot_be_says_in_which_views_and_why():
    observed = np.array([[1, 0], [1, 0], [1, 1]], bool)
    with pytest.raises(
        ValueError, match=r"hide 2 of the 4 observed cells in views \[0, 1\], but at most 1"
    ):
        missingness._hide_in_each_view(observed, np.array([2, 0]), np.zeros((3, 2)), allow_empty=False)


@unhurried
@given(arrays(bool, (7, 3)), st.integers(0, 2**32 - 1))
def test_counts_are_exact_and_everyone_keeps_a_view(observed, seed):
    rng = np.random.default_rng(seed)
    n_hidden = np.array([rng.integers(0, n + 1) for n in observed.sum(axis=0)])
    try:
        keep = missingness._hide_in_each_view(observed, n_hidden, rng.random((7, 3)), allow_empty=False)
    except ValueError:
        return
    assert not (keep & ~observed).any()
    np.testing.assert_array_equal((observed & ~keep).sum(axis=0), n_hidden)
    assert keep[observed.any(axis=1)].any(axis=1).all()


@unhurried
@given(arrays(bool, (8, 3)), st.integers(0, 2**32 - 1))
def test_one_view_each_is_as_even_as_it_can_be(observed, seed):
    observed[:, 0] |= ~observed.any(axis=1)
    keep = missingness._keep_one_each(observed, np.random.default_rng(seed).random((8, 3)))
    assert (keep.sum(axis=1) == 1).all()
    assert not (keep & ~observed).any()
    counts = keep.sum(axis=0)
    for row in np.flatnonzero(keep.any(axis=1)):  # nobody could move and leave things more even
        here = int(keep[row].argmax())
        assert all(counts[here] - counts[other] <= 1 for other in np.flatnonzero(observed[row]))


def test_routes_are_the_shortest_to_a_goal():
    passages = np.zeros((4, 4), bool)
    for step in [(0, 1), (1, 2), (0, 3), (3, 2)]:
        passages[step] = True
    routes = missingness._routes(passages, [2])
    assert routes[2] == [2]
    assert routes[1] == [1, 2]
    assert len(routes[0]) == 3
    assert missingness._routes(passages, [0]) == {0: [0]}
