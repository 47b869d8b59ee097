"""Multiple kernel learning with absent views read as zero: classes, targets, after completion."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from absentia import (
    MKMC,
    AbsentMKLClassifier,
    EMFill,
    KernelViews,
    MeanFill,
    MKLClassifier,
    MKLRegressor,
    SVTFill,
    ViewKernels,
    datasets,
    missingness,
)


def test_bad_input_is_explained(kernels):
    kv, y = kernels
    with pytest.raises(TypeError, match="KernelViews are wanted, not ndarray"):
        MKLClassifier().fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="119 labels came for 120"):
        MKLClassifier().fit(kv, y[1:])
    for bad in (
        MKLClassifier(C=0),
        MKLClassifier(tol=-1),
        MKLClassifier(norm=0.5),
        AbsentMKLClassifier("x"),
    ):
        with pytest.raises(ValueError, match="must be"):
            bad.fit(kv, y < 5)
    for bad in (
        AbsentMKLClassifier(constraint="all"),
        AbsentMKLClassifier(tau_min=0),
        AbsentMKLClassifier(lam=-1),
    ):
        with pytest.raises(ValueError, match=r"must be|are wanted"):
            bad.fit(kv, y < 5)
    with pytest.raises(ValueError, match="sample_weight"):
        MKLClassifier().fit(kv, y < 5, sample_weight=-np.ones(120))
    fitted = MKLClassifier().fit(kv, y < 5)
    with pytest.raises(ValueError, match="columns must be the 120 training samples"):
        fitted.predict(kv[np.ix_(np.arange(5), np.arange(6))])
    with pytest.raises(TypeError, match=r"new samples against the training"):
        fitted.predict(np.eye(120))


# ------------------------------------------------------------------------------------------ regression


def test_regression_finds_the_view_that_matters_and_predicts(rng):
    x, noise = rng.uniform(-2, 2, 80), rng.standard_normal((80, 3))
    X = {"x": x[:, None], "noise": noise}
    K = [np.exp(-np.square(v[:, None] - v[None]).sum(-1)) for v in X.values()]
    observed = np.ones((80, 2), bool)
    observed[::5, 1] = False
    kv, target = KernelViews.from_dense(K, observed=observed, names=list(X)), np.sin(2 * x)
    a, b = np.arange(0, 80, 2), np.arange(1, 80, 2)
    machine = MKLRegressor(C=10, epsilon=0.01, tol=1e-4).fit(kv[np.ix_(a, a)], target[a])
    assert machine.score(kv[np.ix_(b, a)], target[b]) > 0.95
    assert machine.weight_table()["x"] > 0.9
    assert cross_val_score(machine, kv, target, cv=3).mean() > 0.9
    gone = kv[np.ix_(b, a)].hide(np.column_stack([np.zeros(40, bool), np.zeros(40, bool)]))
    assert machine.unusable(gone).all()
    np.testing.assert_allclose(machine.predict(gone), target[a].mean())


def test_regression_refuses_what_makes_no_sense(kernels):
    kv, y = kernels
    with pytest.raises(ValueError, match="epsilon"):
        MKLRegressor(epsilon=-1).fit(kv, y)
    with pytest.raises(ValueError, match="finite target"):
        MKLRegressor().fit(kv, np.full(120, np.inf))
    with pytest.raises(ValueError, match=r"120 target\(s\) are NaN"):
        MKLRegressor().fit(kv, np.full(120, np.nan))
    with pytest.raises(ValueError, match="3 targets came for 120 samples"):
        MKLRegressor().fit(kv, np.zeros(3))
    with pytest.raises(ValueError, match="complex"):
        MKLRegressor().fit(kv, y + 1j)


# ------------------------------------------------------------------------ completion, then learning


@pytest.fixture(scope="module")
def problem():
    views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.4, random_state=0))
    return views, ViewKernels().fit_transform(views), y


@pytest.mark.parametrize(
    "fill", [MeanFill("blocks"), EMFill(3, ridge=0.1), SVTFill(0.1), MKMC(n_components=3)]
)
def test_completers_before_multiple_kernel_learning(problem, fill):
    views, _, y = problem
    pipeline = make_pipeline(ViewKernels(), fill, MKLClassifier(norm=2))
    scores = cross_val_score(pipeline, views, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.7


def test_new_samples_with_absent_views_are_completed_before_prediction(problem):
    views, _, y = problem
    train, test, y_train, _ = train_test_split(views, y < 5, random_state=0)
    assert not test.observed.all()
    pipeline = make_pipeline(ViewKernels(), MeanFill("blocks"), MKLClassifier()).fit(train, y_train)
    scores = pipeline.decision_function(test)
    assert np.isfinite(scores).all()
    # what the completer hands on has everything, so nobody is left with the prior
    rows = pipeline[:-1].transform(test)
    assert rows.observed.all()
    assert not pipeline[-1].unusable(rows).any()
