"""Ids of samples: of any kind, each once, and lined up between views."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import AbsenceWarning, Views
from absentia.data._ids import align_ids, as_ids, check_unique, holders, id_list, normal_id, repeated


@pytest.mark.parametrize(
    ("ids", "kind"),
    [(["a", "b"], "U"), (range(2), "i"), ([0.5, 1.5], "f"), ([1, "a"], "O"), ([("a", 1), ("a", 2)], "O")],
)
def test_ids_of_one_type_are_an_array_and_others_stay_objects(ids, kind):
    found = as_ids(ids, 2)
    assert found.dtype.kind == kind
    assert found.shape == (2,)
    assert id_list(found) == list(ids)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = found[1]


def test_nobody_named_is_counted_and_dates_stay_dates():
    np.testing.assert_array_equal(as_ids(None, 3), [0, 1, 2])
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    assert id_list(as_ids(days, 2)) == list(days)


@pytest.mark.parametrize(("ids", "sentence"), [(["a"], "1 ids for 2 samples"), (7, "int came; a list")])
def test_lists_of_another_length_are_refused(ids, sentence):
    with pytest.raises(ValueError, match=f"rows: {sentence}"):
        as_ids(ids, 2, "rows")


@given(st.lists(st.integers(0, 5)))
def test_what_is_repeated_is_told_once_in_the_order_it_came(values):
    found = repeated(values)
    assert found == [x for x in dict.fromkeys(values) if values.count(x) > 1]


@pytest.mark.parametrize("ids", [["a", "b", "a"], [1, 2, 1], [(1, 2), "x", (1, 2)]])
def test_an_id_that_appears_twice_is_named(ids):
    with pytest.raises(ValueError, match=r"ids: 1 sample id\(s\) appear more than once, e.g. .*a|1"):
        check_unique(as_ids(ids, 3), "ids")
    check_unique(as_ids(ids[:2], 2), "ids")


# ------------------------------------------------------------------------------------------- alignment


def aligned(own, align="union"):
    return align_ids([f"v{v}" for v in range(len(own))], [as_ids(x, len(x)) for x in own], align)


@given(
    st.lists(st.lists(st.integers(0, 8), unique=True, max_size=6), min_size=1, max_size=4), st.booleans()
)
def test_rows_lead_back_to_every_views_own_ids(own, objects):
    """Ids that cannot be sorted are lined up by a path of their own."""
    given_ids = [[("id", x) for x in ids] if objects else ids for ids in own]
    ids, rows = aligned(given_ids)
    everyone = {x for view in given_ids for x in view}
    assert set(id_list(ids)) == everyone
    assert len(ids) == len(everyone)
    for view, row in zip(given_ids, rows, strict=True):
        assert [view[r] if r >= 0 else None for r in row] == [
            x if x in view else None for x in id_list(ids)
        ]


def test_ids_ascend_where_they_do_in_every_view_and_else_keep_their_order():
    assert aligned([["a", "c"], ["b"]])[0].tolist() == ["a", "b", "c"]
    assert aligned([["c", "a"], ["b"]])[0].tolist() == ["c", "a", "b"]


def test_intersection_and_strict_keep_those_of_all():
    ids, rows = aligned([[1, 2, 3], [3, 1]], "intersection")
    assert ids.tolist() == [1, 3]
    assert [row.tolist() for row in rows] == [[0, 2], [1, 0]]
    with pytest.raises(ValueError, match=r"view 'v1' lacks sample 2 \(and 0 more\), which align='strict'"):
        aligned([[1, 2, 3], [3, 1]], "strict")
    with pytest.raises(ValueError, match="align must be"):
        aligned([[1]], "outer")
    with pytest.raises(ValueError, match=r"different types .*\['int', 'str'\]"):
        aligned([[1], ["1"]])
    with pytest.raises(ValueError, match=r"view 'v1': 1 sample id\(s\) appear more than once, e.g. 2"):
        aligned([[1], [2, 2]])


def test_who_has_a_view_and_in_which_order():
    having, order = holders(np.array([1, -1, 0]), 2)
    assert having.tolist() == [0, 2]
    assert order.tolist() == [1, 0]
    having, order = holders(np.array([0, -1, 1]), 2)
    assert having.tolist() == [0, 2]
    assert order is None
    assert holders(np.array([0, 1]), 3)[1].tolist() == [0, 1]  # not all of the table


# --------------------------------------------------------------------------------------------- of views


@pytest.mark.parametrize(
    "ids",
    [
        pd.date_range("2020-01-01", periods=3),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        [1, "1", 2],
    ],
)
def test_ids_of_any_kind_are_kept_and_aligned(ids):
    frames = {
        "a": pd.DataFrame({"p": [1.0, 2.0, 3.0]}, index=ids),
        "b": pd.DataFrame({"q": [6.0, 5.0]}, index=ids[1:]),
    }
    if not isinstance(ids, list):
        views = Views.from_dict(frames)
        np.testing.assert_array_equal(views.observed[:, 1], [False, True, True])
        np.testing.assert_array_equal(views.block("b").ravel(), [6.0, 5.0])
    assert len(set(Views.from_dict({"a": np.ones((3, 1))}, ids=iter(list(ids))).ids.tolist())) == 3


def test_changing_the_ids_given_changes_nothing():
    ids = np.arange(3)
    views = Views.from_dict({"a": np.ones((3, 1))}, ids=ids)
    ids[0] = 99
    assert views.ids[0] == 0


@pytest.mark.parametrize("ids", [np.array(0.0), 7])
def test_ids_that_are_no_list_are_named(ids):
    with pytest.raises(ValueError, match="one id per sample"):
        Views.from_list([np.ones((3, 2))], ids=ids)


def test_ids_that_look_the_same_are_pointed_out():
    forms = ["Jos\u00e9", "Jose\u0301", "Jos\u00e9\u200b", "\ufeffJos\u00e9"]
    assert {normal_id(form) for form in forms} == {"Jos\u00e9"}
    assert normal_id("plain") == "plain"
    for form in forms[1:]:
        frames = {
            v: pd.DataFrame({v: [1.0, 2.0]}, index=[x, "x"]) for v, x in [("a", forms[0]), ("b", form)]
        }
        with pytest.warns(
            AbsenceWarning, match=r"1 sample id\(s\), e.g. '.*', look as others do, 'Jos\\xe9'"
        ):
            assert len(Views.from_dict(frames)) == 3
