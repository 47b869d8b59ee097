"""What the estimators of this package share; laws of classifiers test most of it (tests/market.py)."""

import numpy as np
import pandas as pd
import pytest

from absentia import AbsentClassifier, AutoClassifier, LateFusion, ViewKernels, Views, ViewStacking
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._assembled import either, of_rows
from absentia.testing._tools import digits


def test_rows_without_a_known_view_are_not_asked_about():
    views, y = digits()
    arrangement = Arrangement.of(views, np.ones(len(views)), y)
    keep = np.ones(views.observed.shape, bool)
    keep[4] = False
    found = of_rows(arrangement, views.hide(keep), 2, lambda X: np.ones((len(X), 2)))
    assert not found[4].any()
    assert found.sum() == 2 * (len(views) - 1)
    nobody = views.hide(np.zeros(views.observed.shape, bool))
    assert not of_rows(arrangement, nobody, 2, None).any()


def test_scikit_learn_is_told_that_kernels_will_come():
    assert either("precomputed").pairwise
    assert not either("rbf").pairwise
    assert not either(ViewKernels("precomputed")).pairwise
    assert AbsentClassifier(kernel="precomputed").__sklearn_tags__().input_tags.pairwise


BASE = AbsentClassifier(None, C=1.0)


@pytest.mark.parametrize(
    "model", [BASE, LateFusion(BASE), ViewStacking(BASE), AutoClassifier({"one": BASE})]
)
def test_views_that_all_new_samples_lack_may_be_left_out(model):
    views, y = digits()
    fitted = model.fit(views, y % 3)
    hidden = views.hide(views.observed & (np.arange(views.n_views) > 0))
    some = views.select(views.names[:0:-1])
    np.testing.assert_array_equal(fitted.predict_proba(some), fitted.predict_proba(hidden))


def test_categories_weigh_as_they_do_in_kernels():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    stage = np.array(["I", "II", "III"])[y + rng.integers(0, 2, 40)]
    X = Views.from_dict({"who": pd.DataFrame({"stage": stage, "age": rng.normal(size=40)})})
    fitted = AbsentClassifier(None, C=1.0).fit(X, y)
    wanted = ViewKernels().fit_transform(X).block("who")[:, fitted._arrangement.samples]
    np.testing.assert_allclose(fitted._prepared.rows(X).block("who"), wanted, atol=1e-12)


def test_a_kernel_may_be_said_of_a_view_that_nobody_has_but_not_of_none():
    views, y = digits()
    nobody = views.hide(views.observed & (np.arange(views.n_views) > 0))
    kernel = ViewKernels(per_view={views.names[0]: "linear"})
    fitted = AbsentClassifier(None, kernel=kernel, C=1.0).fit(nobody, y % 3)
    assert views.names[0] not in fitted._arrangement.views
    with pytest.raises(ValueError, match="per_view names 'other', but the views are"):
        AbsentClassifier(None, kernel=ViewKernels(per_view={"other": "linear"})).fit(views, y % 3)
