"""One classifier per view: what fusion and stacking share."""

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
from absentia.methods.learning import subset
from absentia.methods.prediction._late_fusion import FilledTable, ViewClassifier, _cross_val_proba, _skill
from helpers.digit_samples import half_seen_digits


def test_an_absent_view_says_what_the_frequencies_say():
    views, y = half_seen_digits(120)
    fitted = LateFusion(AbsentClassifier(None, C=1.0)).fit(views, y % 3)
    own = fitted._order.select_rows(views, np.arange(120))
    proba = fitted._view_proba(own)
    assert proba.shape == (6, 120, 3)
    absent = ~own.observed.T
    np.testing.assert_allclose(proba[absent], np.tile(fitted._frequencies, (absent.sum(), 1)))
    np.testing.assert_array_equal(fitted._usable_views(own)[:, :, 0], own.observed.T)
    np.testing.assert_allclose(fitted._log_odds(proba)[absent], 0, atol=1e-12)


def test_every_view_gets_the_kernel_that_is_said_of_it():
    views, y = half_seen_digits(120)
    first, second = views.names[:2]
    kernel = ViewKernels(per_view={first: "linear", second: "cosine"})
    base = AbsentClassifier(None, kernel=kernel, C=1.0)
    for model in (LateFusion(kernel=kernel), LateFusion(base)):
        parts = model.fit(views, y % 3)._view_classifiers
        made = {name: one.estimator._kernels.view_kernels_ for name, one in parts.items()}
        said = {name: one.per_view or {name: one.kernel} for name, one in made.items()}
        wanted = dict.fromkeys(views.names, "rbf") | {first: "linear", second: "cosine"}
        assert said == {name: {name: kind} for name, kind in wanted.items()}
    typo = ViewKernels(per_view={"frist": "linear"})
    for model in (LateFusion(kernel=typo), LateFusion(AbsentClassifier(None, kernel=typo))):
        with pytest.raises(ValueError, match="per_view names 'frist', but the views are"):
            model.fit(views, y % 3)


def one_view():
    views, y = half_seen_digits(120)
    rows = np.flatnonzero(views.observed[:, 0])
    return subset(views.select(views.names[:1]), rows, rows), (y[rows] % 3)


def test_classes_that_are_too_rare_in_a_view_keep_their_frequency():
    X, y = one_view()
    y = y.copy()
    y[:2], y[2:] = 3, y[2:] % 3
    prior = np.bincount(y) / len(y)
    one = ViewClassifier.fit(AbsentClassifier(None, C=1.0), X, y, np.ones(len(y)), prior)
    assert one.known.tolist() == [0, 1, 2]
    probabilities = one.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[:, 3], prior[3], rtol=0.01)
    assert (
        ViewClassifier.fit(AbsentClassifier(None, C=1.0), X, np.zeros(len(y), int), np.ones(len(y)), prior)
        is None
    )


@pytest.mark.parametrize("kind", [LateFusion, pytest.param(ViewStacking, marks=pytest.mark.slow)])
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
    one = ViewClassifier.fit(LogisticRegression(max_iter=500), gapped, y, np.ones(len(y)), prior)
    assert np.isfinite(one.predict_proba(gapped)).all()
    assert one.table.means[0] == pytest.approx(np.nanmean(block[:, 0]))


def test_categories_are_columns_of_the_table_and_new_ones_are_none_of_them():
    frame = pd.DataFrame({"stage": ["I", "II", None, "I"], "age": [1.0, np.nan, 4.0, 1.0]})
    X = Views.from_dict({"who": frame})
    table = FilledTable.learn(X)
    np.testing.assert_allclose(table(X), [[1, 0, 1], [0, 1, 2], [2 / 3, 1 / 3, 4], [1, 0, 1]])
    with pytest.warns(AbsenceWarning, match="'stage' has levels that training did not have"):
        found = table(Views.from_dict({"who": frame.replace("II", "V")}))
    np.testing.assert_allclose(found[1], [0, 0, 2])


def test_what_folds_lack_of_the_levels_is_not_warned_of():
    _, y = one_view()
    stage = np.where(np.arange(len(y)) == 5, "rare", "usual")
    mixed = Views.from_dict({"who": pd.DataFrame({"stage": stage, "x": y + 0.1 * np.arange(len(y))})})
    prior = np.bincount(y) / len(y)
    found = _cross_val_proba(LogisticRegression(), mixed, y, np.ones(len(y)), prior)
    assert not np.allclose(found, prior)


def test_held_out_probabilities_are_of_others_and_worth_less_than_seen_ones():
    X, y = one_view()
    prior, weight = np.bincount(y) / len(y), np.ones(len(y))
    base = AbsentClassifier(None, C=10.0)
    unseen = _cross_val_proba(base, X, y, weight, prior)
    seen = ViewClassifier.fit(base, X, y, weight, prior).predict_proba(X)
    assert 0 < _skill(unseen, y, weight, prior) < _skill(seen, y, weight, prior) < 1
    assert _skill(np.tile(prior, (len(y), 1)), y, weight, prior) == 0


def test_what_cannot_be_a_base_is_refused():
    views, y = half_seen_digits()
    with pytest.raises(ValueError, match="a classifier with predict_proba"):
        LateFusion(3).fit(views, y)
    with pytest.raises(ValueError, match="LogisticRegression takes features, but kernels came"):
        LateFusion(LogisticRegression()).fit(ViewKernels().fit_transform(views), y)
