"""Who has which view, what that means, and what is said to something else."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from absentia import (
    CVKT,
    MKMC,
    AbsenceWarning,
    CombineKernels,
    KernelViews,
    MKLClassifier,
    MMAFClassifier,
    ViewKernels,
    Views,
)
from absentia.data import Presence, check_names, check_observed, default_names, show_id, warn_of_unlinked
from conftest import random_kernels, random_problem

OBSERVED = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)


def some():
    return Presence(np.array(list("pqrs")), ("a", "b", "c"), OBSERVED)


def presence(observed):
    n, n_views = observed.shape
    return Presence(np.arange(n), tuple(default_names(n_views)), observed)


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
    assert Views.from_dict({"a": np.eye(4)})[key].ids.tolist() == wanted


@pytest.mark.parametrize("key", [[4], [-5], [True], [0.0], [[0]], (0, 1), ([1], [2])])
def test_what_picks_nothing_is_refused(key):
    with pytest.raises(IndexError):
        Views.from_dict({"a": np.eye(4)})[key]


def test_what_array_code_adds_to_an_index_is_taken_off():
    views = Views.from_dict({"a": np.eye(4)})
    for key in (([1],), ([1], Ellipsis), ([1], slice(None))):
        assert views[key].ids.tolist() == [1]


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_positions_inside_a_block_are_those_of_its_samples(observed, data):
    observed = np.array(observed)
    index = np.array(data.draw(st.lists(st.integers(0, len(observed) - 1))), dtype=int)
    block = np.flatnonzero(observed)
    np.testing.assert_array_equal(
        block[presence(observed[:, None])._places(index)["view0"]], index[observed[index]]
    )


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


masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.int64(3), "3"),
        (np.str_("a"), "'a'"),
        (("p", 1), "('p', 1)"),
        (np.datetime64("2020-01-01"), "np.datetime64('2020-01-01')"),
    ],
)
def test_ids_are_shown_as_they_were_written(x, text):
    assert show_id(x) == text


def test_patterns_are_counted_and_components_found():
    observed = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]], bool)
    with pytest.warns(AbsenceWarning):
        views = Views.from_list(list(np.ones((3, 6, 1))), observed=observed)
    found, counts = views.patterns()
    np.testing.assert_array_equal(found[0], [True, False, False])
    assert counts.tolist() == [2, 1, 1, 1, 1]
    np.testing.assert_array_equal(views.components(), [1, 1, 0, 0, 0, -1])


@given(masks)
def test_every_row_has_its_pattern_and_the_most_frequent_come_first(observed):
    found, counts = presence(observed).patterns()
    assert counts.sum() == len(observed)
    assert (np.diff(counts) <= 0).all()
    for pattern, count in zip(found, counts, strict=True):
        assert (observed == pattern).all(axis=1).sum() == count


@given(masks)
def test_samples_are_of_one_component_if_a_chain_of_shared_views_joins_them(observed):
    labels = presence(observed).components()
    linked = (observed.astype(int) @ observed.T.astype(int)) > 0
    for _ in range(len(observed)):
        linked = linked.astype(int) @ linked.astype(int) > 0
    seen = observed.any(axis=1)
    assert (labels[~seen] == -1).all()
    same = labels[:, None] == labels
    np.testing.assert_array_equal(same[np.ix_(seen, seen)], linked[np.ix_(seen, seen)])
    sizes = np.bincount(labels[seen])
    assert (np.diff(sizes) <= 0).all()


def test_nobody_has_no_component():
    assert presence(np.zeros((0, 3), bool)).components().shape == (0,)


#: Two samples link a and b, one links b and c; d is had by one sample alone, and by nobody else anything of it.
HAS = np.array([[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]], bool)


def test_a_sample_is_strange_to_a_view_that_nobody_links_it_to():
    new = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
    for chained, count, first in [(False, 2, "c"), (True, 1, "d")]:  # of the first; others have 3 and 4
        for rows, total in ((new[:1], count), (new, count + 7)):
            X = SimpleNamespace(
                observed=rows, column_observed=HAS, square=False, ids=np.arange(3), names=list("abcde")
            )
            with pytest.warns(AbsenceWarning, match=rf"^{total} absent.* sample 0 in view '{first}'"):
                warn_of_unlinked(X, chained=chained)


@pytest.mark.parametrize(
    ("chained", "why"), [(True, "is linked by no chain of views to"), (False, "shares no view with")]
)
def test_strangers_are_named_with_what_becomes_of_them(chained, why):
    kernels = KernelViews.from_dense(random_kernels(4, 4), observed=HAS[:, :4], ids=list("pqrs"))
    sentence = rf"6 absent cell\(s\), e.g. sample 'p' in view 'view3': the sample {why} .* becomes the mean"
    with pytest.warns(AbsenceWarning, match=sentence):
        warn_of_unlinked(kernels, chained=chained)
    with warnings.catch_warnings(action="error"):
        warn_of_unlinked(kernels[np.ix_([0, 1], [0, 1])].select(["view0", "view1"]), chained=chained)


VIEWS = Views.from_dict({"a": np.eye(3), "b": np.arange(6.0).reshape(3, 2)})
OTHERS = {
    "Views.from_dict({'name': table, ...})": np.eye(3),
    "Views.from_frame(X, {'name': columns, ...})": pd.DataFrame(np.eye(3)),
    "Views.from_list(X)": [np.eye(3)],
    "Views.from_dict(X)": {"a": np.eye(3)},
}


def verbs(estimator):
    yield lambda X: estimator.fit(X, [0, 1, 1])
    if hasattr(estimator, "fit_transform"):
        yield lambda X: estimator.fit_transform(X)


@pytest.mark.parametrize("estimator", [MKMC(), CVKT(), MKLClassifier(), CombineKernels()])
def test_features_where_kernels_are_wanted(estimator):
    name = type(estimator).__name__
    for verb in verbs(estimator):
        with pytest.raises(TypeError) as error:
            verb(VIEWS)
        assert "KernelViews are wanted, not Views; " in str(error.value)
        assert "ViewKernels().fit_transform(views)" in str(error.value)
        assert f"make_pipeline(ViewKernels(), {name}())" in str(error.value)


def refusals(estimator, remedy):
    """What each verb says to that table."""
    for verb in verbs(estimator):
        with pytest.raises(TypeError) as error:
            verb(OTHERS[remedy])
        yield str(error.value), type(OTHERS[remedy]).__name__


@pytest.mark.parametrize("estimator", [MKMC(), CVKT(), MKLClassifier(), CombineKernels()])
@pytest.mark.parametrize("remedy", OTHERS)
def test_tables_where_kernels_are_wanted(estimator, remedy):
    for said, came in refusals(estimator, remedy):
        assert said.startswith(f"KernelViews are wanted, not {came}; ")
        assert said.endswith(f"views = {remedy}")


@pytest.mark.parametrize("estimator", [MMAFClassifier(), ViewKernels()])
@pytest.mark.parametrize("remedy", OTHERS)
def test_tables_where_views_are_wanted(estimator, remedy):
    for said, came in refusals(estimator, remedy):
        assert said.startswith(f"Views are wanted, not {came}; ")
        assert remedy in said


@pytest.mark.parametrize("estimator", [MMAFClassifier()])
def test_kernels_where_features_are_wanted(estimator):
    with pytest.raises(TypeError, match=r"Views are wanted, not KernelViews; .* takes the features"):
        estimator.fit(KernelViews.from_dense([np.eye(3)]), [0, 1, 1])


def test_scores_and_rows_get_a_sentence_too():
    kernels = ViewKernels("linear").fit_transform(VIEWS)
    with pytest.raises(TypeError, match=r"KernelViews are wanted, not Views; .*make_pipeline"):
        CVKT().score(VIEWS)
    fitted = CVKT().fit(kernels), CombineKernels().fit(kernels)
    for verb in (*(one.transform for one in fitted), MKLClassifier().fit(kernels, [0, 1, 1]).predict):
        with pytest.raises(TypeError, match=r"not Views; new samples .*transform\(new_views\)"):
            verb(VIEWS)
