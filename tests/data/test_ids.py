"""Ids lined up between views, and values that are known by them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import (
    AbsenceWarning,
    CombineKernels,
    KernelViews,
    MKLClassifier,
    MKLRegressor,
    ViewKernels,
    Views,
)
from absentia.data import as_ids, check_unique_ids, find_duplicates, normalize_id


@pytest.mark.parametrize(
    ("ids", "kind"),
    [(["a", "b"], "U"), (range(2), "i"), ([0.5, 1.5], "f"), ([1, "a"], "O"), ([("a", 1), ("a", 2)], "O")],
)
def test_ids_of_one_type_are_an_array_and_others_stay_objects(ids, kind):
    found = as_ids(ids, 2)
    assert found.dtype.kind == kind
    assert found.shape == (2,)
    assert found.tolist() == list(ids)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = found[1]


def test_nobody_named_is_counted_and_dates_stay_dates():
    np.testing.assert_array_equal(as_ids(None, 3), [0, 1, 2])
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    assert list(as_ids(days, 2)) == list(days)


@pytest.mark.parametrize(("ids", "sentence"), [(["a"], "1 ids for 2 samples"), (7, "int came; a list")])
def test_lists_of_another_length_are_refused(ids, sentence):
    with pytest.raises(ValueError, match=f"rows: {sentence}"):
        as_ids(ids, 2, "rows")


@given(st.lists(st.integers(0, 5)))
def test_what_is_repeated_is_told_once_in_the_order_it_came(values):
    found = find_duplicates(values)
    assert found == [x for x in dict.fromkeys(values) if values.count(x) > 1]


@pytest.mark.parametrize("ids", [["a", "b", "a"], [1, 2, 1], [(1, 2), "x", (1, 2)]])
def test_an_id_that_appears_twice_is_named(ids):
    with pytest.raises(ValueError, match=r"ids: 1 sample id\(s\) appear more than once, e.g. .*a|1"):
        check_unique_ids(as_ids(ids, 3), "ids")
    check_unique_ids(as_ids(ids[:2], 2), "ids")


# ------------------------------------------------------------------------------------------- alignment


def aligned(own, align="union"):
    """Ids of views with these samples each, and which of its own ids a view has there, -1 for none."""
    factors = {f"v{v}": (ids, np.arange(1.0, len(ids) + 1)[:, None]) for v, ids in enumerate(own)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsenceWarning)
        views = KernelViews.from_factors(factors, align)
    rows = np.full(views.observed.shape, -1)
    for name, row, seen in zip(views.names, rows.T, views.observed.T, strict=True):
        row[seen] = views.operator(name).left[:, 0] - 1
    return views.ids, rows.T


@given(
    st.lists(st.lists(st.integers(0, 8), unique=True, max_size=6), min_size=1, max_size=4).filter(any),
    st.booleans(),
)
def test_rows_lead_back_to_every_views_own_ids(own, objects):
    """Ids that cannot be sorted are lined up by a path of their own."""
    given_ids = [[("id", x) for x in ids] if objects else ids for ids in own]
    ids, rows = aligned(given_ids)
    everyone = {x for view in given_ids for x in view}
    assert set(ids.tolist()) == everyone
    assert len(ids) == len(everyone)
    for view, row in zip(given_ids, rows, strict=True):
        assert [view[r] if r >= 0 else None for r in row] == [
            x if x in view else None for x in ids.tolist()
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
    assert {normalize_id(form) for form in forms} == {"Jos\u00e9"}
    assert normalize_id("plain") == "plain"
    for form in forms[1:]:
        frames = {
            v: pd.DataFrame({v: [1.0, 2.0]}, index=[x, "x"]) for v, x in [("a", forms[0]), ("b", form)]
        }
        with pytest.warns(
            AbsenceWarning, match=r"1 sample id\(s\), e.g. '.*', look as others do, 'Jos\\xe9'"
        ):
            assert len(Views.from_dict(frames)) == 3


N = 40
IDS = [f"P-{i:03d}" for i in range(N)]


def cohort(ids=IDS):
    """Two views of which the first tells the classes apart, and labels by id."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(N) % 2)
    views = {"a": y[:, None] * 2.0 + rng.standard_normal((N, 3)), "b": rng.standard_normal((N, 2))}
    return Views.from_dict(views, ids=ids), pd.Series(np.where(y, "ill", "well"), index=ids)


def shuffled(y):
    return y.sample(frac=1, random_state=0)


def svm():
    return make_pipeline(ViewKernels(), CombineKernels(), SVC(kernel="precomputed"))


# ------------------------------------------------------------------------------------------------ lining up


def test_values_come_in_the_order_of_the_samples_whatever_carries_them():
    views, y = cohort()
    other = shuffled(y)
    frame = other.rename("subtype").to_frame()
    two = frame.reset_index(names="who")
    for labels in (other, other.to_dict(), frame, two, two[["subtype", "who"]], other.astype("category")):
        np.testing.assert_array_equal(views.align(labels), y)


def test_frames_without_an_index_have_ids_in_a_column():
    polars = pytest.importorskip("polars")
    views, y = cohort()
    other = shuffled(y)
    frame = polars.DataFrame({"subtype": other.to_list(), "who": other.index.to_list()})
    np.testing.assert_array_equal(views.align(frame), y)
    with pytest.raises(TypeError, match=r"^y is a Series and carries no ids; .*mapping"):
        views.align(frame["subtype"])


def test_an_id_column_is_found_by_the_samples_it_names():
    """Labels that look like ids name fewer samples than the ids do."""
    views, _ = cohort(ids=range(N))
    labels = np.arange(N) % 3
    frame = pd.DataFrame({"label": labels, "id": np.arange(N)}).sample(frac=1, random_state=0)
    np.testing.assert_array_equal(views.align(frame.reset_index(drop=True)), labels)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None], [1.0, 2.0, np.nan]),
        ([1, 2.5, float("nan")], [1.0, 2.5, np.nan]),
        (["x", None, "y"], ["x", None, "y"]),
        ([True, pd.NA, False], [True, None, False]),
        ([1, "x", pd.NaT], [1, "x", None]),
    ],
)
def test_what_is_unknown_is_nan_among_numbers_and_none_elsewhere(values, expected):
    views = Views.from_dict({"a": np.ones((3, 1))}, ids=["p", "q", "r"])
    found = views.align(dict(zip("pqr", values, strict=True)))
    assert found.dtype == (float if isinstance(expected[0], float) else object)
    assert str(found.tolist()) == str(expected)
    some, y = views.align(dict(zip("pqr", values, strict=True)), missing="drop")
    known = [x for x in expected if x is not None and x == x]
    assert y.tolist() == known
    assert [x in some.ids for x in "pqr"] == [x is not None and x == x for x in expected]


def test_kernels_are_left_out_by_rows_and_columns():
    views, y = cohort()
    kernels = ViewKernels().fit_transform(views)
    y.iloc[:5] = None
    some, labels = kernels.align(shuffled(y), missing="drop")
    assert some.shape == (N - 5, N - 5)
    assert some.square
    np.testing.assert_array_equal(some.ids, IDS[5:])
    np.testing.assert_array_equal(labels, y.iloc[5:])
    new = kernels[np.ix_(np.arange(8), np.arange(8, N))]
    part, _ = new.align(y.iloc[:8], missing="drop")
    assert part.shape == (3, N - 8)


def test_ids_are_compared_as_they_are_and_then_as_texts():
    views, _ = cohort(ids=range(N))
    values = {str(i): i * i for i in reversed(range(N))}
    np.testing.assert_array_equal(views.align(values), np.arange(N) ** 2)
    as_floats = pd.Series(np.arange(N) ** 2, index=np.arange(N, dtype=float))
    np.testing.assert_array_equal(views.align(as_floats), np.arange(N) ** 2)
    mixed = Views.from_dict({"a": np.ones((2, 1))}, ids=[1, "1"])
    with pytest.warns(AbsenceWarning, match=r"1 of 2 samples have no value, e\.g\. '1'$"):
        assert mixed.align({1: "x"}).tolist() == ["x", None]


def test_dates_are_ids_too():
    days = pd.date_range("2020-01-01", periods=3)
    views = Views.from_dict({"a": pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=days)})
    y = pd.Series([1, 2, 3], index=days)
    assert views.align(y[::-1]).tolist() == [1, 2, 3]
    views.check_order(y)


def test_ids_without_a_counterpart_are_counted():
    views, y = cohort()
    more = pd.concat([y.iloc[3:], pd.Series({"P-900": "ill"})])
    sentence = (
        r"^3 of 40 samples have no value, e\.g\. 'P-000'; 1 id\(s\) of y are no sample, e\.g\. 'P-900'$"
    )
    with pytest.warns(AbsenceWarning, match=sentence):
        found = views.align(more)
    assert found[:3].tolist() == [None] * 3
    np.testing.assert_array_equal(found[3:], y.iloc[3:])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (str.lower, "'P-000' and 'p-000' differ only in case, spaces, - _ . or zeros"),
        (lambda x: f" {x}", "'P-000' and ' P-000' differ only in case, spaces, - _ . or zeros"),
        (lambda x: x.replace("-", "."), "'P-000' and 'P.000' differ only in case, spaces, - _ . or zeros"),
    ],
)
def test_nothing_in_common_is_an_error_that_says_what_differs(change, what):
    views, y = cohort()
    y.index = y.index.map(change)
    with pytest.raises(ValueError, match=f"no id in common; {what}; make them alike"):
        views.align(y)
    y = pd.concat([y.iloc[:1], cohort()[1].iloc[1:]])
    with pytest.warns(AbsenceWarning, match=f"1 id.* of y are no sample.*; {what}$"):
        views.align(y)


def test_leading_zeros_are_pointed_out():
    views, y = cohort(ids=[f"{i:03d}" for i in range(N)])
    with pytest.raises(ValueError, match=r"'000' and '0' differ only in case, spaces, - _ . or zeros"):
        views.align(y.reset_index(drop=True))


def test_what_cannot_be_lined_up_is_refused():
    views, y = cohort()
    with pytest.raises(
        ValueError, match=r"1 id\(s\) appear more than once, e\.g\. 'P-000'; one value each"
    ):
        views.align(pd.concat([y, y.iloc[:1]]))
    with pytest.raises(TypeError, match=r"y has 3 columns \(a, b, c\); take one with an index"):
        views.align(pd.DataFrame(0, index=IDS, columns=list("abc")))
    with pytest.raises(TypeError, match="y is a ndarray and carries no ids"):
        views.align(y.to_numpy())
    with pytest.raises(ValueError, match="missing must be 'keep' or 'drop', not 'no'"):
        views.align(y, missing="no")


# ------------------------------------------------------------------------------------- values by position


@pytest.mark.parametrize("model", [svm(), make_pipeline(ViewKernels(), MKLClassifier())])
def test_a_series_in_another_order_is_refused_and_aligned_scores_the_same(model):
    views, y = cohort()
    right = cross_val_score(model, views, y)
    assert right.mean() > 0.75
    np.testing.assert_array_equal(cross_val_score(model, views, views.align(shuffled(y))), right)
    with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
        cross_val_score(model, views, shuffled(y))
    with pytest.raises(ValueError, match=r"another order: at position 0 .*; take y = views\.align\(y\)$"):
        model.fit(views, shuffled(y))


def test_an_index_that_only_counts_is_taken_by_position():
    views, y = cohort()
    counted = y.reset_index(drop=True)
    right = cross_val_score(svm(), views, y)
    np.testing.assert_array_equal(cross_val_score(svm(), views, counted), right)
    some, _, part, _ = train_test_split(views, counted, random_state=0)
    assert svm().fit(some, part).score(some, part.to_numpy()) > 0.8
    with pytest.raises(
        ValueError, match=r"sorted or shuffled apart from the views; give y\.sort_index\(\)"
    ):
        svm().fit(views, counted.sort_values())


def test_whole_numbers_that_are_ids_are_ids():
    views, y = cohort(ids=np.arange(1, N + 1))
    svm().fit(views, y)
    with pytest.raises(ValueError, match=r"1 that are no sample, 1 samples not among them, e\.g\. 0"):
        svm().fit(views, y.reset_index(drop=True))


def test_other_ids_are_refused():
    views, y = cohort()
    with pytest.raises(ValueError, match=r"0 that are no sample, 5 samples not among them, e\.g\. 'P-000'"):
        svm().fit(views, y.iloc[5:])
    with pytest.raises(ValueError, match=r"no id in common; give y\.to_numpy\(\) if it is in the order"):
        svm().fit(views, y.rename(lambda x: f"somebody {x}"))
    with pytest.raises(TypeError, match=r"y is a dict; one value per sample is wanted: views\.align\(y\)"):
        svm().fit(views, y.to_dict())


def test_scores_and_weights_are_in_the_order_of_the_samples_too():
    views, y = cohort()
    kernels = ViewKernels().fit_transform(views)
    weight = pd.Series(np.arange(1.0, N + 1), index=IDS)
    model = MKLClassifier().fit(kernels, y, sample_weight=weight)
    assert model.score(kernels, y) == np.mean(model.predict(kernels) == y)
    with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
        model.score(kernels, shuffled(y))
    with pytest.raises(ValueError, match=r"sample_weight = views\.align\(sample_weight\)"):
        model.fit(kernels, y, sample_weight=shuffled(weight))
    regressor = MKLRegressor().fit(kernels, weight)
    with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
        regressor.score(kernels, shuffled(weight))
    with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
        regressor.fit(kernels, shuffled(weight))


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
def test_unknown_labels_are_named_with_what_to_do(gap):
    views, y = cohort()
    kernels = ViewKernels().fit_transform(views)
    y = y.astype(object)
    y.iloc[[3, 7]] = gap
    sentence = (
        r"2 label\(s\) are NaN or None, e\.g\. of 'P-003', 'P-007'; .*views\.align\(y, missing='drop'\)"
    )
    with pytest.raises(ValueError, match=sentence):
        MKLClassifier().fit(kernels, y)
    some, labels = kernels.align(y, missing="drop")
    assert MKLClassifier().fit(some, labels).score(some, labels) > 0.8


def test_unknown_targets_are_named_with_what_to_do():
    kernels = KernelViews.from_dense([np.eye(3)])
    with pytest.raises(ValueError, match=r"1 target\(s\) are NaN or None, e\.g\. of 1"):
        MKLRegressor().fit(kernels, [1.0, float("nan"), 2.0])


def test_a_search_takes_views_and_text_labels():
    views, y = cohort()
    search = GridSearchCV(svm(), {"svc__C": [0.1, 1.0], "viewkernels__kernel": ["rbf", "linear"]}, cv=3)
    search.fit(views, views.align(shuffled(y)))
    assert search.best_score_ > 0.75
    assert set(search.predict(views)) <= {"ill", "well"}
    assert search.score(views, y) > 0.8
