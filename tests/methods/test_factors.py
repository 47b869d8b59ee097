"""Nobody makes whole kernels of factors without being asked: methods work on factors, or refuse."""

import tracemalloc
import warnings

import numpy as np
import pytest

from absentia import AverageKernelSVC, EMFill, KernelViews, KNNFill, SVTFill
from absentia.data import _inputs
from absentia.methods.catalogue import list_entries

N, WHOLE = 1500, 8 * 1500**2
#: What would take long and says nothing of memory.
QUICK = {
    "max_iter": 3,
    "n_components": 3,
    "threshold": 0.2,
    "ridge": 0.3,
    "C": 1.0,
    "alpha": 1.0,
    "rounds": 1,
}
TAKERS = [
    (family, name)
    for family in ("completer", "classifier", "regressor", "survival")
    for name, entry in list_entries(family).items()
    if "kernels" in entry.takes
]


def factors(n, width, seed=0, dtype=np.float32):
    """Two views of one latent space, each absent for a fifth, and what is to be learned."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 4))
    observed = rng.random((n, 3)) > 0.2
    observed[~observed.any(axis=1), 0] = True
    parts = {}
    for v, has in enumerate(observed.T):
        Phi = latent @ rng.standard_normal((4, width)) + 0.5 * rng.standard_normal((n, width)) + 0.3
        parts[f"view{v}"] = (np.flatnonzero(has), Phi[has].astype(dtype))
    return KernelViews.from_factors(parts), latent


@pytest.fixture(scope="module")
def many():
    kernels, latent = factors(N, 8)
    larger, _ = factors(2100, 4)
    AverageKernelSVC().fit(larger, np.arange(2100) % 2)  # compiled loops take memory once
    return kernels, latent


@pytest.mark.parametrize(("family", "name"), TAKERS)
def test_factors_are_worked_on_or_refused(family, name, many, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MEMORY", "20M")
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 100)  # of whom whole kernels are made, being small
    kernels, latent = many
    survival = np.column_stack([np.exp(latent[:, 0]), latent[:, 1] > 0])
    target = {"classifier": latent[:, 0] > 0, "regressor": latent[:, 0], "survival": survival}.get(family)
    method = list_entries(family)[name].make()
    method.set_params(**{p: x for p, x in QUICK.items() if p in method.get_params(deep=False)})
    refusal = None
    tracemalloc.start()
    try:
        with warnings.catch_warnings(action="ignore"):
            method.fit(kernels, target)
            rows = kernels[np.ix_(np.arange(50), np.arange(N))]
            method.transform(rows) if family == "completer" else method.predict(rows)
    except ValueError as error:
        refusal = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < WHOLE
    assert refusal is None or ("take about" in refusal and "use " in refusal), refusal


@pytest.mark.parametrize(
    "method",
    [EMFill(ridge=0.3), EMFill(3, ridge=0.3), EMFill(), SVTFill(0.1), SVTFill(), KNNFill(5), KNNFill()],
    ids=repr,
)
def test_factors_are_completed_as_the_kernels_that_they_are(method):
    """To what iterations leave, which stop at a relative change of 1e-6, and rounding."""
    kernels, _ = factors(60, 9, dtype=np.float64)
    whole = KernelViews.from_dense(np.nan_to_num(kernels.to_dense()), observed=kernels.observed)
    train, new = np.arange(45), np.arange(45, 60)
    tolerance = 1e-9 if isinstance(method, KNNFill) else 1e-4
    for X, Y in ((kernels, whole), (kernels[np.ix_(train, train)], whole[np.ix_(train, train)])):
        thin, dense = method.fit_transform(X).to_dense(), method.fit_transform(Y).to_dense()
        np.testing.assert_allclose(thin, dense, atol=tolerance * np.abs(dense).max())
    rows = [method.fit(X).transform(K[np.ix_(new, train)]) for X, K in ((X, kernels), (Y, whole))]
    for name in kernels.names:
        expected = rows[1].block(name)
        np.testing.assert_allclose(rows[0].block(name), expected, atol=tolerance * np.abs(expected).max())
        np.testing.assert_allclose(rows[0].diagonal(name), rows[1].diagonal(name), rtol=10 * tolerance)


@pytest.mark.parametrize("method", [EMFill(ridge=0.3), SVTFill(0.1), KNNFill(5)], ids=repr)
def test_a_constant_view_of_factors_is_its_mean(method):
    kernels, _ = factors(40, 5, dtype=np.float64)
    ids = np.arange(25)
    parts = {
        name: (np.flatnonzero(has), kernels.operator(name).left)
        for name, has in zip(kernels.names, kernels.observed.T, strict=True)
    }
    constant = KernelViews.from_factors({**parts, "constant": (ids, np.ones((25, 2)))})
    np.testing.assert_allclose(method.fit_transform(constant).block("constant"), 2.0, atol=1e-9)
