"""Whole kernels or factors: which of them, why, and how to choose otherwise."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from absentia import AverageKernelSVC, LateFusion, ViewKernels, Views
from absentia.core import Dense, Gram


def decide(approx, n, n_landmarks=200):
    """What kernels of so many samples in three views are given by."""
    views = Views.from_dict({name: np.ones((n, 1)) for name in "abc"})
    return ViewKernels(approx=approx, n_landmarks=n_landmarks).fix_approximation(views).approx


def test_few_samples_have_whole_kernels_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decide("auto", 5000) == "auto"  # as it was: whole
        assert decide(None, 100) is None
        assert decide("rff", 10**5, 50) == "rff"


def test_many_samples_have_factors_and_the_user_hears_why_and_how_else():
    with pytest.warns(
        UserWarning, match=r"5001 samples: whole kernels of 3 view.* 200 Nystrom factors.*approx=None"
    ):
        assert decide("auto", 5001) == "nystrom"


def test_little_memory_has_factors_too_and_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("ABSENTIA_MEMORY", "100M")
    with pytest.warns(
        UserWarning, match=r"2000 samples: whole kernels of 3 view.* would take about 288 MB,"
    ):
        assert decide("auto", 2000, 50) == "nystrom"
    with pytest.raises(
        ValueError, match=r"288 MB with what is made of them, and 105 MB are free.*ABSENTIA_MEMORY"
    ):
        decide(None, 2000, 50)
    with pytest.raises(ValueError, match=r"5000 factors of 2000 samples.*use fewer"):
        decide("nystrom", 2000, 5000)
    monkeypatch.setenv("ABSENTIA_MEMORY", "1G")
    assert decide(None, 2000, 50) is None


def test_views_become_factors_beyond_the_limit_and_predictions_follow(monkeypatch, rng):
    monkeypatch.setenv("ABSENTIA_MEMORY", "1M")
    X = rng.standard_normal((120, 4))
    views, y = Views.from_dict({"a": X[:, :2], "b": X[:, 2:]}), X[:, 0] > 0
    makes = ViewKernels(n_landmarks=20, per_view={"b": {"approx": None}})
    with pytest.warns(UserWarning, match="120 samples"):
        kernels = makes.fit_transform(views)
    assert makes.approx_ == "nystrom"
    assert isinstance(kernels.operator("a"), Gram)
    assert isinstance(kernels.operator("b"), Dense)  # as it was asked for
    assert ViewKernels().fit(views[:50]).approx_ is None
    with pytest.warns(UserWarning, match="120 samples"):
        model = Pipeline([("k", ViewKernels(n_landmarks=20)), ("svm", AverageKernelSVC())]).fit(views, y)
    assert model.score(views, y) > 0.9


def test_factors_do_without_the_features_of_training_samples(rng):
    X = rng.standard_normal((300, 40))
    makes = ViewKernels(approx="nystrom", n_landmarks=10).fit(Views.from_dict({"a": X}))
    assert not len(makes._raw["a"].X)
    assert not len(makes._maps["a"].kernel.X)
    part = makes.restrict(np.arange(5), np.ones((5, 1), dtype=bool))
    new = Views.from_dict({"a": X[:7]})
    np.testing.assert_allclose(part.transform(new).block("a"), makes.transform(new).block("a")[:, :5])


def test_what_is_decided_for_all_samples_holds_for_parts_of_them(monkeypatch, rng):
    monkeypatch.setenv("ABSENTIA_MEMORY", "300k")
    views = Views.from_dict({"a": rng.standard_normal((60, 2)), "b": rng.standard_normal((60, 2))})
    with pytest.warns(UserWarning, match="60 samples"):
        settled = ViewKernels(n_landmarks=9).fix_approximation(views)
    assert (settled.approx, settled.n_landmarks) == ("nystrom", 9)
    for same in (ViewKernels(approx=None), ViewKernels("precomputed")):
        assert same.fix_approximation(views) is same
    few = ViewKernels()
    assert few.fix_approximation(views[:50]) is few
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        LateFusion(kernel=ViewKernels(n_landmarks=9)).fit(views, rng.random(60) > 0.5)
    assert sum("Nystrom" in str(one.message) for one in heard) == 1


@pytest.mark.parametrize("approx", ["rff", "nystrom"])
def test_new_samples_may_have_a_view_that_nobody_had_in_training(approx):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 4)), np.full((30, 3), np.nan)
    with pytest.warns(UserWarning, match="observed for no sample"):
        train = Views.from_dict({"a": A, "b": B})
    with pytest.warns(UserWarning, match="observed for no sample"):
        fitted = ViewKernels(approx=approx, n_landmarks=6).fit(train)
    rows = fitted.transform(Views.from_dict({"a": A[:5], "b": rng.normal(size=(5, 3))}))
    assert (rows.block("a").shape, rows.block("b").shape) == ((5, 30), (5, 0))
    np.testing.assert_array_equal(rows.block("a"), fitted.transform(train[:5]).block("a"))
