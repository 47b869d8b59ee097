"""What the estimators of this package share; checks of classifiers test most of it
(tests/helpers/registry.py)."""

import numpy as np
import pandas as pd
import pytest

from absentia import AbsentClassifier, AutoClassifier, LateFusion, ViewKernels, Views, ViewStacking
from absentia.methods.prediction._composite import CanonicalOrder
from helpers.digit_samples import half_seen_digits


def test_samples_come_in_the_same_order_however_they_came():
    views, y = half_seen_digits()
    turn = np.random.default_rng(0).permutation(len(views))
    weight = np.where(np.arange(len(views)) < 5, 0.0, 1.0)
    kernels = ViewKernels().fit_transform(views)
    for X, other in ((views, views[turn]), (kernels, kernels[np.ix_(turn, turn)])):
        straight = CanonicalOrder.of(X, weight, y)
        again = CanonicalOrder.of(other.select(other.names[::-1]), weight[turn], y[turn])
        assert straight.views == again.views
        np.testing.assert_array_equal(turn[again.samples], straight.samples)
        assert len(straight.select_training(X)) == len(views) - 5
        np.testing.assert_array_equal(straight.select_training(X).ids, X.ids[straight.samples])


def test_who_does_not_count_and_what_nobody_has_are_left_out():
    views, y = half_seen_digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:, 2] = False
    keep[3] = False
    gone = views.hide(keep)
    order = CanonicalOrder.of(gone, np.ones(len(views)), y)
    assert views.names[2] not in order.views
    assert 3 not in order.samples
    rows = order.select_rows(gone, np.array([7, 1]))
    np.testing.assert_array_equal(rows.ids, gone.ids[[7, 1]])


def test_rows_without_a_known_view_are_not_asked_about():
    views, y = half_seen_digits()
    fitted = AbsentClassifier(None, C=1.0).fit(views, y % 3)
    keep = np.ones(views.observed.shape, bool)
    keep[4] = False
    values = fitted._predict_rows(views.hide(keep), (2,), lambda X: np.ones((len(X), 2)))
    assert not values[4].any()
    assert values.sum() == 2 * (len(views) - 1)
    nobody = views.hide(np.zeros(views.observed.shape, bool))
    assert not fitted._predict_rows(nobody, (2,), None).any()


def test_scikit_learn_is_told_that_kernels_will_come():
    def pairwise(kernel):
        return AbsentClassifier(kernel=kernel).__sklearn_tags__().input_tags.pairwise

    assert pairwise("precomputed")
    assert not pairwise("rbf")
    assert not pairwise(ViewKernels("precomputed"))


BASE = AbsentClassifier(None, C=1.0)


@pytest.mark.parametrize(
    "model",
    [
        BASE,
        LateFusion(BASE),
        pytest.param(ViewStacking(BASE), marks=pytest.mark.slow),
        AutoClassifier({"one": BASE}),
    ],
)
def test_views_that_all_new_samples_lack_may_be_left_out(model):
    views, y = half_seen_digits()
    fitted = model.fit(views, y % 3)
    hidden = views.hide(views.observed & (np.arange(views.n_views) > 0))
    some = views.select(views.names[:0:-1])
    np.testing.assert_array_equal(fitted.predict_proba(some), fitted.predict_proba(hidden))


def test_categories_weigh_as_they_do_in_kernels():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    stage = np.array(["I", "II", "III"])[y + rng.integers(0, 2, 40)]
    X = Views.from_dict({"who": pd.DataFrame({"stage": stage, "age": rng.normal(size=40)})})
    fitted = AbsentClassifier(None, C=1.0).fit(X, y)
    wanted = ViewKernels().fit_transform(X).block("who")[:, fitted._order.samples]
    np.testing.assert_allclose(fitted._kernels.transform(X).block("who"), wanted, atol=1e-12)


def test_a_kernel_may_be_said_of_a_view_that_nobody_has_but_not_of_none():
    views, y = half_seen_digits()
    nobody = views.hide(views.observed & (np.arange(views.n_views) > 0))
    kernel = ViewKernels(per_view={views.names[0]: "linear"})
    fitted = AbsentClassifier(None, kernel=kernel, C=1.0).fit(nobody, y % 3)
    assert views.names[0] not in fitted._order.views
    with pytest.raises(ValueError, match="per_view names 'other', but the views are"):
        AbsentClassifier(None, kernel=ViewKernels(per_view={"other": "linear"})).fit(views, y % 3)
