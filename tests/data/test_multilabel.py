"""Multi-label measures: scikit-learn's where nothing is missing, and blind to what is unknown."""

import numpy as np
import pytest
import sklearn.metrics

from absentia import metrics

MEASURES = [metrics.one_error, metrics.coverage, metrics.ranking_loss, metrics.average_precision]


@pytest.fixture
def ranked(rng):
    Y = (rng.random((60, 5)) < 0.4).astype(float)
    Y[:, 0] = 1 - Y[:, 1]  # both kinds in every sample
    return Y, np.round(rng.standard_normal(Y.shape), 1)  # with ties


def test_equal_to_scikit_learn_where_nothing_is_missing(ranked):
    Y, S = ranked
    np.testing.assert_allclose(metrics.ranking_loss(Y, S), sklearn.metrics.label_ranking_loss(Y, S))
    np.testing.assert_allclose(
        metrics.average_precision(Y, S), sklearn.metrics.label_ranking_average_precision_score(Y, S)
    )
    np.testing.assert_allclose(metrics.coverage(Y, S) + 1, sklearn.metrics.coverage_error(Y, S))
    top = Y[np.arange(len(Y)), S.argmax(axis=1)]
    np.testing.assert_allclose(metrics.one_error(Y, S), 1 - top.mean())


@pytest.mark.parametrize("measure", MEASURES)
def test_an_unknown_label_counts_as_if_it_were_not_there(measure, ranked, rng):
    Y, S = ranked
    gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    rows = [(gaps[[i]], S[[i]], ~np.isnan(gaps[i])) for i in range(len(Y))]
    by_row = [measure(y[:, k], s[:, k]) for y, s, k in rows if k.any()]
    np.testing.assert_allclose(measure(gaps, S), np.nanmean(by_row))
    scrambled = np.where(np.isnan(gaps), 99.0, S)
    assert measure(gaps, scrambled) == measure(gaps, S)


@pytest.mark.parametrize("measure", MEASURES)
def test_bad_input_is_refused_and_nothing_to_measure_is_nan(measure):
    with pytest.raises(ValueError, match="pass \\(samples, labels\\) in both"):
        measure(np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="sample 1, label 0 is NaN"):
        measure([[0.0], [1.0]], [[0.0], [np.nan]])
    with pytest.raises(ValueError, match="complex"):
        measure([[0.0], [1.0]], np.ones((2, 1)) + 1j)
    assert np.isnan(measure([[0.0, 0.0]], [[1.0, 2.0]]))


def test_normalized_coverage_is_between_zero_and_one(ranked):
    Y, S = ranked
    np.testing.assert_allclose(metrics.coverage(Y, S, normalize=True), metrics.coverage(Y, S) / 4)


def test_the_area_under_the_curve_is_that_of_scikit_learn(ranked):
    Y, S = ranked
    wanted = sklearn.metrics.roc_auc_score(Y, S, average=None)
    np.testing.assert_allclose(metrics.roc_auc(Y, S, average=False), wanted, rtol=1e-12)
    np.testing.assert_allclose(metrics.roc_auc(Y, S), sklearn.metrics.roc_auc_score(Y, S), rtol=1e-12)
    np.testing.assert_allclose(metrics.roc_auc(2 * Y - 1, S), metrics.roc_auc(Y, S), rtol=1e-12)


def test_unknown_labels_are_left_out_of_the_area(ranked, rng):
    Y, S = ranked
    gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    columns = [(gaps[:, j], S[:, j], ~np.isnan(gaps[:, j])) for j in range(5)]
    wanted = [sklearn.metrics.roc_auc_score(y[k], s[k]) for y, s, k in columns]
    np.testing.assert_allclose(metrics.roc_auc(gaps, S, average=False), wanted, rtol=1e-12)
    np.testing.assert_allclose(metrics.roc_auc(gaps, np.where(np.isnan(gaps), np.nan, S)), np.mean(wanted))


def test_labels_of_one_kind_have_no_area_and_do_not_enter_the_mean():
    Y = np.array([[1.0, 0.0, 1.0, np.nan], [1.0, 0.0, 0.0, np.nan]])
    S = np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(metrics.roc_auc(Y, S, average=False), [np.nan, np.nan, 1.0, np.nan])
    assert metrics.roc_auc(Y, S) == 1.0
    assert np.isnan(metrics.roc_auc(Y[:, :2], S[:, :2]))
    assert metrics.roc_auc(Y[:, [2]], np.ones((2, 1))) == 0.5  # ties count half
    with pytest.raises(ValueError, match=r"pass \(samples, labels\)"):
        metrics.roc_auc(Y, S[:, :2])


def test_equal_scores_are_in_the_wrong_order_as_in_scikit_learn():
    Y, S = np.array([[1, 0, 0], [0, 1, 1]]), np.zeros((2, 3))
    assert metrics.ranking_loss(Y, S) == sklearn.metrics.label_ranking_loss(Y, S) == 1
