"""Completion judged on cells that were hidden on purpose."""

import numpy as np
import pytest

from absentia import (
    CVKT,
    MKMC,
    KernelViews,
    MeanFill,
    ViewKernels,
    ZeroFill,
    datasets,
    metrics,
    missingness,
)
from absentia.experiment import _validation as module
from absentia.experiment import compare_with_baselines, measure_hidden_errors
from absentia.methods.completion import Holdout
from absentia.tasks import completion


@pytest.fixture(scope="module")
def whole():
    return ViewKernels().fit_transform(datasets.load_digit_views(n_samples=50).views)


@pytest.fixture(scope="module")
def kernels(whole):
    return whole.hide(missingness.mcar(whole.observed, 0.3, random_state=1))


def test_errors_of_complete_kernels_are_those_of_the_metrics(whole):
    quality = measure_hidden_errors(whole, {"cvkt": CVKT(), "zero": ZeroFill()})
    keep = np.ones_like(whole.observed)
    keep[tuple(quality.cells.T)] = False
    assert len(quality.cells) == (~keep).sum() == 30
    completed = CVKT().fit_transform(whole.hide(keep))
    np.testing.assert_allclose(
        quality.view_errors("cvkt"), metrics.are(whole, completed, keep, average=False)
    )
    assert quality.mean_errors("zero") == (1.0, 1.0)
    hidden, truth, filled = ~keep[:, 0], whole.block("pixels"), completed.block("pixels")
    cosine = (truth[hidden] * filled[hidden]).sum() / np.linalg.norm(truth[hidden])
    assert quality.ca_errors["cvkt"][0] == pytest.approx(1 - cosine / np.linalg.norm(filled[hidden]))


def test_only_observed_cells_are_hidden_and_nobody_loses_the_last_view(kernels):
    quality = measure_hidden_errors(kernels, {"mean": MeanFill()})
    assert kernels.observed[tuple(quality.cells.T)].all()
    shown = kernels.observed.copy()
    shown[tuple(quality.cells.T)] = False
    assert shown.any(axis=1)[kernels.observed.any(axis=1)].all()
    again = measure_hidden_errors(kernels, {"mean": MeanFill()})
    np.testing.assert_array_equal(quality.row_errors["mean"], again.row_errors["mean"])


def test_rows_are_compared_in_parts_as_at_once(kernels, monkeypatch):
    at_once = measure_hidden_errors(kernels, {"m": CVKT()}, share=0.3)
    monkeypatch.setattr(completion, "_BLOCK_ROWS", 2)
    in_parts = measure_hidden_errors(kernels, {"m": CVKT()}, share=0.3)
    np.testing.assert_allclose(in_parts.row_errors["m"], at_once.row_errors["m"], rtol=1e-12)
    np.testing.assert_allclose(in_parts.ca_errors["m"], at_once.ca_errors["m"], atol=1e-12)


def test_the_callback_of_the_method_that_is_judged_is_not_called(kernels):
    called = []
    method = MKMC(max_iter=2, callback=lambda progress: called.append(progress))
    quality = measure_hidden_errors(kernels, {"mkmc": method})
    assert called == []
    assert "mkmc" in quality.row_errors


def test_a_method_that_fails_says_why_and_the_others_go_on(kernels):
    class Failing(MeanFill):
        def fit_transform(self, X, y=None):
            raise ValueError("no such luck")

    quality = measure_hidden_errors(kernels, {"bad": Failing(), "mean": MeanFill()})
    assert quality.left_out == {"bad": "could not: no such luck"}
    assert list(quality.row_errors) == ["mean"]


def test_values_that_are_no_numbers_are_not_averaged_away(kernels):
    class Infinite(MeanFill):
        def fit_transform(self, X, y=None):
            done = super().fit_transform(X)
            return done.completed({name: np.full((len(X), len(X)), np.inf) for name in X.names})

    with np.errstate(invalid="ignore"):
        quality = measure_hidden_errors(kernels, {"bad": Infinite()})
    assert quality.left_out == {"bad": "gave values that are not finite"}


def test_with_one_view_there_is_nothing_to_hide():
    alone = KernelViews.from_dense(np.eye(8)[None])
    quality = measure_hidden_errors(alone, {"mean": MeanFill()})
    assert (len(quality.cells), quality.row_errors, quality.left_out) == (0, {}, {})


def test_a_method_stands_beside_baselines(kernels):
    ticks = []
    quality = compare_with_baselines("cvkt", CVKT(rounds=2), kernels, lambda: ticks.append(1))
    assert list(quality.row_errors) == ["mean", "zero", "cvkt"]
    trial = Holdout.of(kernels, 0)
    errors, _ = module.compute_row_errors(kernels, CVKT(rounds=2).fit_transform(trial.part), quality.cells)
    np.testing.assert_allclose(quality.row_errors["cvkt"], errors)
    assert len(ticks) == 3
    assert list(compare_with_baselines("mean", MeanFill(), kernels).row_errors) == ["mean", "zero"]


def test_of_many_samples_some_are_judged_on(kernels, monkeypatch):
    monkeypatch.setattr(module, "_MAX_MEASURED_SAMPLES", 30)
    quality = compare_with_baselines("mean", MeanFill(), kernels)
    assert quality.subsample == (30, 50)
    assert quality.cells[:, 0].max() < 30
    order = np.random.default_rng(0).permutation(50)
    again = compare_with_baselines("mean", MeanFill(), kernels[np.ix_(order, order)])
    np.testing.assert_allclose(again.mean_errors("mean"), quality.mean_errors("mean"), rtol=1e-9)
    monkeypatch.setattr(module, "_MAX_MEASURED_SAMPLES", 50)
    assert compare_with_baselines("mean", MeanFill(), kernels).subsample is None
