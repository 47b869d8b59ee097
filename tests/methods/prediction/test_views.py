"""One classifier per view."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from absentia import (
    AbsenceWarning,
    AbsentClassifier,
    LateFusion,
    ViewKernels,
    Views,
    ViewStacking,
    datasets,
)
from absentia.methods.prediction._views import Filled, OneView, check_base, held_out, of_view, skill
from absentia.testing._tools import digits


def one_view():
    views, y = digits(120)
    rows = np.flatnonzero(views.observed[:, 0])
    return of_view(views, views.names[0], rows), (y[rows] % 3)


def test_classes_that_are_too_rare_in_a_view_keep_their_frequency():
    X, y = one_view()
    y = y.copy()
    y[:2], y[2:] = 3, y[2:] % 3
    prior = np.bincount(y) / len(y)
    one = OneView.fit(AbsentClassifier(None, C=1.0), X, y, np.ones(len(y)), prior)
    assert one.known.tolist() == [0, 1, 2]
    probabilities = one.probabilities(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[:, 3], prior[3], rtol=0.01)
    assert (
        OneView.fit(AbsentClassifier(None, C=1.0), X, np.zeros(len(y), int), np.ones(len(y)), prior) is None
    )


@pytest.mark.parametrize("kind", [LateFusion, ViewStacking])
def test_classes_too_rare_in_a_view_leave_the_columns_of_its_kernel_at_prediction_too(kind):
    views, y = datasets.load_digit_views(n_samples=120, return_X_y=True)
    views = views.select(views.names[:2]).hide(np.arange(240).reshape(120, 2) % 5 > 0)
    y = np.where(np.arange(120) < 8, 3 + np.arange(120) // 4, y % 3)  # two classes of four samples
    K = ViewKernels().fit_transform(views)
    found = kind(kernel="precomputed").fit(K, y).predict_proba(K)
    assert found.shape == (120, 5)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_others_get_a_table_without_gaps():
    X, y = one_view()
    block = X.block(X.names[0]).copy()
    block[3, 0] = np.nan
    gapped = type(X).from_dict({X.names[0]: block})
    prior = np.bincount(y) / len(y)
    one = OneView.fit(LogisticRegression(max_iter=500), gapped, y, np.ones(len(y)), prior)
    assert np.isfinite(one.probabilities(gapped)).all()
    assert one.table.means[0] == pytest.approx(np.nanmean(block[:, 0]))


def test_categories_are_columns_of_the_table_and_new_ones_are_none_of_them():
    frame = pd.DataFrame({"stage": ["I", "II", None, "I"], "age": [1.0, np.nan, 4.0, 1.0]})
    X = Views.from_dict({"who": frame})
    table = Filled.learn(X)
    np.testing.assert_allclose(table(X), [[1, 0, 1], [0, 1, 2], [2 / 3, 1 / 3, 4], [1, 0, 1]])
    with pytest.warns(AbsenceWarning, match="'stage' has levels that training did not have"):
        found = table(Views.from_dict({"who": frame.replace("II", "V")}))
    np.testing.assert_allclose(found[1], [0, 0, 2])


def test_what_folds_lack_of_the_levels_is_not_warned_of():
    _, y = one_view()
    stage = np.where(np.arange(len(y)) == 5, "rare", "usual")
    mixed = Views.from_dict({"who": pd.DataFrame({"stage": stage, "x": y + 0.1 * np.arange(len(y))})})
    prior = np.bincount(y) / len(y)
    found = held_out(LogisticRegression(), mixed, y, np.ones(len(y)), prior)
    assert not np.allclose(found, prior)


def test_held_out_probabilities_are_of_others_and_worth_less_than_seen_ones():
    X, y = one_view()
    prior, weight = np.bincount(y) / len(y), np.ones(len(y))
    base = AbsentClassifier(None, C=10.0)
    unseen = held_out(base, X, y, weight, prior)
    seen = OneView.fit(base, X, y, weight, prior).probabilities(X)
    assert 0 < skill(unseen, y, weight, prior) < skill(seen, y, weight, prior) < 1
    assert skill(np.tile(prior, (len(y), 1)), y, weight, prior) == 0


def test_what_cannot_be_a_base_is_refused():
    views, _ = digits()
    with pytest.raises(ValueError, match="a classifier with predict_proba"):
        check_base(3, views)
    with pytest.raises(ValueError, match="LogisticRegression takes features, but kernels came"):
        check_base(LogisticRegression(), ViewKernels().fit_transform(views))
