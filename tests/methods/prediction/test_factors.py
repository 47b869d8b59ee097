"""Models on factors: the same from features in chunks and in memory, small, and read once."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from absentia import (
    AutoClassifier,
    AutoRegressor,
    AutoSurvival,
    FactorCox,
    FactorLogistic,
    FactorRidge,
    KernelLogistic,
    KernelViews,
    ViewKernels,
    Views,
    load,
    save,
)

da = pytest.importorskip("dask.array")

N = 600
FEW = ViewKernels(n_landmarks=40)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(N, 3))
    tables = {}
    for name, d in (("a", 15), ("b", 20), ("c", 8)):
        table = common @ rng.normal(size=(3, d)) + rng.normal(size=(N, d))
        table[rng.random(N) < 0.3] = np.nan
        tables[name] = table.astype(np.float32)
    tables["c"][np.isnan(tables["a"]).all(axis=1)] = 0.5  # everybody has something
    target = common[:, 0] + 0.3 * rng.normal(size=N)
    chunked = {name: da.from_array(table, chunks=(90 + len(name), -1)) for name, table in tables.items()}
    return Views.from_dict(tables), Views.from_dask(chunked), target


def test_sums_over_blocks_keep_to_one_thread(problem, monkeypatch):
    _, chunked, target = problem
    threads, fit_table = set(), FactorRidge._fit_table

    def count_threads(self, *arguments, **options):
        threads.update(library["num_threads"] for library in threadpool_info())
        return fit_table(self, *arguments, **options)

    monkeypatch.setattr(FactorRidge, "_fit_table", count_threads)
    with threadpool_limits(2):
        FactorRidge(FEW).fit(chunked, target)
    assert threads == {1}


def to_times(target):
    """Times with ties, and events of those that are seen long enough."""
    seen = np.random.default_rng(1).exponential(4.0, len(target))
    time = np.ceil(20 * np.exp(-target)) / 20
    return np.column_stack([np.minimum(time, np.ceil(20 * seen) / 20), time <= seen])


def fit(model, views, target):
    y = np.digitize(target, [-0.5, 0.5]) if isinstance(model, FactorLogistic) else target
    return model.fit(views, to_times(target) if isinstance(model, FactorCox) else y)


def predict(model, views):
    return model.predict_proba(views) if isinstance(model, FactorLogistic) else model.predict(views)


@pytest.mark.parametrize(
    "model",
    [
        FactorLogistic(FEW),
        FactorRidge(FEW),
        FactorCox(FEW),
        FactorLogistic(ViewKernels("linear"), per_view=False),
    ],
)
def test_chunks_and_memory_give_the_same_model(problem, model):
    whole, chunked, target = problem
    one = fit(clone(model), whole, target)
    wanted, fitted = predict(one, whole), fit(model, chunked, target)
    np.testing.assert_allclose(predict(fitted, whole), wanted, atol=1e-5)
    np.testing.assert_allclose(predict(fitted, chunked), wanted, atol=1e-5)  # factors are single precision
    if not isinstance(model, FactorCox):
        assert fitted.score(chunked, one.predict(whole)) > 0.99


@pytest.mark.parametrize(
    ("model", "own", "name"),
    [
        (AutoClassifier(kernel=FEW), FactorLogistic(FEW), "factors"),
        (AutoRegressor(kernel=FEW), FactorRidge(FEW), "factors-ridge"),
        (AutoSurvival(kernel=FEW), FactorCox(FEW), "factors-cox"),
    ],
)
def test_the_defaults_take_chunks_by_factors(problem, model, own, name):
    whole, chunked, target = problem
    y = {"factors": target > 0, "factors-ridge": target, "factors-cox": to_times(target)}[name]
    fitted = model.fit(chunked, y)
    assert fitted.sentence_ == f"{name} alone"
    found, wanted = fitted.predict(chunked), own.fit(whole, y).predict(whole)
    if name == "factors-cox":  # made log-hazards once more, whose slope is one but for its own penalty
        slope = found @ wanted / (wanted @ wanted)
        assert abs(slope - 1) < 1e-3
        found = found / slope
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("model", [FactorLogistic(FEW), FactorRidge(FEW), FactorCox(FEW)])
def test_condensed_models_say_the_same_of_scores(problem, model):
    whole, chunked, target = problem
    fitted = fit(model, whole, target)
    condensed, scores = fitted.condense(chunked)
    assert not scores.chunked
    assert scores.ids.tolist() == whole.ids.tolist()
    part = np.random.default_rng(0).permutation(N)[:50]
    np.testing.assert_allclose(predict(condensed, scores[part]), predict(fitted, whole[part]), atol=1e-6)
    keep = np.ones((50, 3), bool)
    keep[:, 1] = False
    hidden = predict(fitted, whole[part].hide(keep))
    np.testing.assert_allclose(predict(condensed, scores[part].hide(keep)), hidden, atol=1e-6)


def test_side_by_side_is_logistic_regression_on_the_average_kernel(problem):
    """One view, which all have: both members are one machine, and so is that on its kernel."""
    views, _, target = problem
    view = views.select(["c"])[np.flatnonzero(views.observed[:, 2])]
    y = target[views.observed[:, 2]] > 0
    kernels = ViewKernels(approx="nystrom")
    K = kernels.fit_transform(view)
    wanted = KernelLogistic().fit(K, y)
    found = FactorLogistic(kernels).fit(view, y)
    assert found.C_ == wanted.C_
    np.testing.assert_allclose(found.predict_proba(view), wanted.predict_proba(K), atol=1e-6)
    np.testing.assert_allclose(found.loo_proba_, wanted.loo_proba_, atol=1e-6)


def test_a_saved_model_has_no_training_features(problem, tmp_path):
    whole, chunked, target = problem
    fitted = fit(FactorLogistic(ViewKernels(n_landmarks=5)), chunked, target)
    path = save(fitted, tmp_path / "model.absentia")
    assert path.stat().st_size < sum(whole.block(name).nbytes for name in whole.names) / 2
    np.testing.assert_allclose(load(path).predict_proba(whole), fitted.predict_proba(whole))


def test_samples_left_out_are_told_as_well_as_new_ones(problem):
    whole, _, target = problem
    half, y = np.arange(N) < N // 2, (target > 0).astype(int)
    fitted = FactorLogistic().fit(whole[half], y[half])
    losses = [
        -np.log(proba[np.arange(len(proba)), y[rows]]).mean()
        for proba, rows in ((fitted.loo_proba_, half), (fitted.predict_proba(whole[~half]), ~half))
    ]
    assert abs(losses[0] - losses[1]) < 0.08  # three standard errors of the mean of 300


def test_kernels_of_dask_factors_are_learned_from_by_factors_or_refused(monkeypatch):
    """2,500 samples: a whole kernel would be 50 MB, and 10 MB are free."""
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(2500, 5)), rng.integers(0, 2, 2500)
    chunked = KernelViews.from_factors({"a": (range(2500), da.from_array(Phi, chunks=(400, -1)))})
    wanted = KernelLogistic(1.0).fit(KernelViews.from_factors({"a": (range(2500), Phi)}), y)
    monkeypatch.setenv("ABSENTIA_MEMORY", "10M")
    monkeypatch.setattr("absentia.data._kernelviews._DENSE_BYTES", 2**20)
    found = KernelLogistic(1.0).fit(chunked, y)
    np.testing.assert_allclose(found.bias_, wanted.bias_, atol=1e-9)
    with pytest.raises(ValueError, match=r"whole kernels of 2500 x 2500 .* take about 150 MB"):
        chunked.block("a")
