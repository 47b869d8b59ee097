"""Who has which view: names, positions, and what both data structures share."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import AbsenceWarning, Views
from absentia.data._presence import (
    Presence,
    as_index,
    check_names,
    check_observed,
    default_names,
    positions,
    row_key,
)
from conftest import random_problem

OBSERVED = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)


def some():
    return Presence(np.array(list("pqrs")), ("a", "b", "c"), OBSERVED)


def test_names_are_distinct_texts():
    assert check_names([1, "b"]) == ("1", "b")
    with pytest.raises(ValueError, match=r"view names must differ; repeated: \['1', 'b'\]"):
        check_names(["b", 1, "1", "a", "b"])
    with pytest.raises(ValueError, match="no view given"):
        check_names([])
    assert default_names(2) == ["view0", "view1"]


def test_many_names_are_checked_in_a_moment():
    """Comparing each with each would take hours, and the run's own time limit would end it."""
    names = [f"view{v}" for v in range(300_000)]
    assert check_names(names) == tuple(names)


def test_who_has_what_is_boolean_samples_by_views():
    np.testing.assert_array_equal(check_observed([[1, 0], [0, 1]], 2, 2), np.eye(2, dtype=bool))
    with pytest.raises(ValueError, match=r"shape \(2, 3\), wanted .* = \(3, 2\); it looks transposed"):
        check_observed(np.ones((2, 3)), 3, 2)
    with pytest.raises(ValueError, match=r"shape \(2,\), wanted \(samples, views\) = \(2, 2\)$"):
        check_observed([1, 1], 2, 2)
    with pytest.raises(ValueError, match=r"True .* and False"):
        check_observed([[2]], 1, 1)


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        (slice(1, None, 2), [1, 3]),
        (-1, [3]),
        ([2, -4], [2, 0]),
        ([], []),
        (np.array([True, False, False, True]), [0, 3]),
        (np.array([1], np.uint8), [1]),
    ],
)
def test_any_way_of_picking_is_positions(key, wanted):
    assert as_index(key, 4).tolist() == wanted


@pytest.mark.parametrize("key", [[4], [-5], [True], "a", [0.0], [[0]], (0, 1)])
def test_what_picks_nothing_is_refused(key):
    with pytest.raises(IndexError):
        as_index(key, 4)


def test_what_array_code_adds_to_an_index_is_taken_off():
    assert row_key(([1],)) == row_key(([1], Ellipsis)) == row_key(([1], slice(None))) == [1]
    assert row_key(([1], [2])) == ([1], [2])
    assert row_key(3) == 3


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_positions_inside_a_block_are_those_of_its_samples(observed, data):
    observed = np.array(observed)
    index = np.array(data.draw(st.lists(st.integers(0, len(observed) - 1))), dtype=int)
    block = np.flatnonzero(observed)
    np.testing.assert_array_equal(block[positions(observed, index)], index[observed[index]])


def test_places_and_what_is_left_are_told_for_every_view():
    places = some()._places(np.array([3, 1]))
    assert {name: where.tolist() for name, where in places.items()} == {"a": [2, 1], "b": [2], "c": [2, 0]}
    keep = np.ones((4, 3), bool)
    keep[[0, 3], [0, 2]] = False
    keep[0, 2] = False  # absent before
    observed, left = some()._without(keep)
    np.testing.assert_array_equal(observed, OBSERVED & keep)
    assert {name: where.tolist() for name, where in left.items()} == {
        "a": [1, 2],
        "b": [0, 1, 2],
        "c": [0, 1],
    }


def test_select_takes_what_belongs_to_the_views_named_whatever_it_is():
    part = some().select(["c", "a"])
    assert part.names == ("c", "a")
    np.testing.assert_array_equal(part.observed, OBSERVED[:, [2, 0]])
    rows = random_problem(12, 3)[np.ix_([0, 1, 2], range(3, 12))]
    two = rows.select(["view2", "view0"])
    np.testing.assert_array_equal(two.column_observed, rows.column_observed[:, [2, 0]])
    np.testing.assert_array_equal(two.to_dense(), rows.to_dense()[[2, 0]])
    np.testing.assert_array_equal(two.diagonal("view0"), rows.diagonal("view0"))
    with pytest.raises(KeyError, match=r"no view 'd'; the views are \['a', 'b', 'c'\]"):
        some().select(["d"])
    with pytest.raises(ValueError, match="names must differ"):
        some().select(["a", "a"])


def test_absence_is_warned_of_by_name():
    lonely = Presence(np.array(list("pq")), ("a", "b"), np.array([[True, False], [False, False]]))
    with pytest.warns(AbsenceWarning) as caught:
        lonely.warn_of_absence()
    assert [str(w.message).split(";")[0] for w in caught] == [
        "view 'b' is observed for no sample",
        "1 sample(s) have no view at all, e.g. 'q'",
    ]
    with warnings.catch_warnings(action="error"):
        some().warn_of_absence()


def test_padding_gives_the_rows_asked_for_with_nan_where_absent():
    full = np.random.default_rng(0).normal(size=(3, 4, 2))
    full[~OBSERVED.T] = np.nan
    views = Views.from_list(list(full))
    kernels = random_problem(12, 3)
    for rows in (np.array([3, 0, 0]), np.arange(0), np.arange(4)):
        for v, name in enumerate(views.names):
            np.testing.assert_array_equal(views.padded(name, rows), full[v][rows])
            np.testing.assert_array_equal(kernels.padded(name, rows), kernels.to_dense()[v][rows])
    part = kernels[np.ix_([1, 2, 3], range(4, 12))]
    np.testing.assert_array_equal(part.padded("view1", np.array([2, 0])), part.to_dense()[1][[2, 0]])
