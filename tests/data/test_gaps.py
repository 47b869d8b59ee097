"""What who lacks which view means: patterns, groups that nothing links, samples strange to a view."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from absentia import AbsenceWarning, KernelViews, Views
from absentia.data._gaps import components, patterns, shown, strangers, warn_of_strangers
from conftest import random_kernels

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
    assert shown(x) == text


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
    found, counts = patterns(observed)
    assert counts.sum() == len(observed)
    assert (np.diff(counts) <= 0).all()
    for pattern, count in zip(found, counts, strict=True):
        assert (observed == pattern).all(axis=1).sum() == count


@given(masks)
def test_samples_are_of_one_component_if_a_chain_of_shared_views_joins_them(observed):
    labels = components(observed)
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
    assert components(np.zeros((0, 3), bool)).shape == (0,)


#: Two samples link a and b, one links b and c; d is had by one sample alone, and by nobody else anything of it.
HAS = np.array([[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]], bool)


def test_a_sample_is_strange_to_a_view_that_nobody_links_it_to():
    new = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
    direct = strangers(new, HAS, chained=False)
    np.testing.assert_array_equal(direct[0], [False, False, True, True, False])
    np.testing.assert_array_equal(direct[1], [True, True, True, False, False])
    np.testing.assert_array_equal(direct[2], [True, True, True, True, False])
    chained = strangers(new, HAS, chained=True)
    np.testing.assert_array_equal(chained[0], [False, False, False, True, False])
    np.testing.assert_array_equal(chained[1:], direct[1:])


@pytest.mark.parametrize(
    ("chained", "why"), [(True, "is linked by no chain of views to"), (False, "shares no view with")]
)
def test_strangers_are_named_with_what_becomes_of_them(chained, why):
    kernels = KernelViews.from_dense(random_kernels(4, 4), observed=HAS[:, :4], ids=list("pqrs"))
    sentence = rf"6 absent cell\(s\), e.g. sample 'p' in view 'view3': the sample {why} .* becomes the mean"
    with pytest.warns(AbsenceWarning, match=sentence):
        warn_of_strangers(kernels, chained=chained)
    with warnings.catch_warnings(action="error"):
        warn_of_strangers(kernels[np.ix_([0, 1], [0, 1])].select(["view0", "view1"]), chained=chained)
