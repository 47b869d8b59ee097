"""Factors of features in chunks: those of the same features in memory, however they are cut and ordered."""

import os
import signal

import numpy as np
import pytest

from absentia import ViewKernels, Views, save

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N = 700


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    tables = {name: rng.normal(size=(N, d)).astype(np.float32) for name, d in (("a", 9), ("b", 12))}
    for name, lacks in {"a": slice(0, 150), "b": slice(400, 500)}.items():
        tables[name][lacks] = np.nan
    tables["a"][200, 3] = np.nan
    tables["b"][:, 4] = np.abs(tables["b"][:, 4])
    return tables


def in_chunks(tables, rows=(97, 150), seed=None):
    """The views in chunks of so many rows; with a seed, each view in an order of its own."""
    parts = {}
    for size, (name, table) in zip(rows, tables.items(), strict=True):
        order = np.arange(N) if seed is None else np.random.default_rng([seed, size]).permutation(N)
        parts[name] = (order, da.from_array(table[order], chunks=(size, 5)))
    return Views.from_dask(parts)


def factors(kernels, views):
    """Factors of each view by sample id."""
    K = kernels.fit_transform(views)
    new = kernels.transform(views)
    found = {}
    for v, name in enumerate(views.names):
        own = np.argsort(views.ids[views.observed[:, v]])
        found[name] = K.operator(name).left[own]
        np.testing.assert_allclose(new.operator(name).left[own], found[name], atol=1e-6)
        assert found[name].dtype == np.float32
    return found


@pytest.mark.parametrize(
    "options",
    [
        {"approx": "nystrom"},
        {"approx": "nystrom", "kernel": "linear"},
        {"approx": "nystrom", "center": True, "normalize": "trace"},
        {"approx": "rff"},
        {"approx": "nystrom", "standardize": False, "gamma": 0.1},
    ],
)
def test_factors_do_not_depend_on_chunks_order_or_being_in_memory(tables, options):
    kernels = ViewKernels(n_landmarks=20, random_state=0, **options)
    wanted = factors(kernels, Views.from_dict(tables))
    for views in (in_chunks(tables), in_chunks(tables, (700, 31), seed=1)):
        for name, Phi in factors(kernels, views).items():
            # rounding of single precision over the root of an eigenvalue that is at least 0.01
            np.testing.assert_allclose(Phi, wanted[name], atol=3e-6)


def test_logarithms_are_taken_chunk_by_chunk(tables):
    counts = {name: np.exp2(np.round(table)) for name, table in tables.items()}
    kernels = ViewKernels(approx="nystrom", log=True, n_landmarks=20)
    wanted = factors(kernels, Views.from_dict(counts))
    for name, Phi in factors(kernels, in_chunks(counts)).items():
        np.testing.assert_allclose(Phi, wanted[name], atol=1e-6)
    with pytest.raises(ValueError, match="view 'a': logarithms are for counts"):
        kernels.fit(in_chunks(tables))


def test_few_samples_in_chunks_give_the_whole_kernels_of_memory(tables, tmp_path):
    wanted = ViewKernels().fit_transform(Views.from_dict(tables))
    kernels = ViewKernels()
    K = kernels.fit_transform(in_chunks(tables))
    save(kernels, tmp_path / "kernels.absentia")  # with the training features, which are in memory
    for name in tables:
        np.testing.assert_allclose(K.block(name), wanted.block(name), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])  # of one, what was sent to it is lost with it
def test_a_cluster_gives_the_same_although_a_worker_is_killed(tables, n_workers):
    kernels = ViewKernels(approx="nystrom", n_landmarks=20)
    wanted = factors(kernels, Views.from_dict(tables))
    views = in_chunks(tables, (20, 20), seed=1)
    options = {
        "n_workers": n_workers,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        "silence_logs": 50,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        ran = client.run(os.getpid)
        seen = 0
        for _ in views.block("a").map(np.sum):
            seen += 1
            if seen == 5:
                os.kill(next(iter(ran.values())), signal.SIGKILL)
        assert seen == len(views.block("a").chunks)
        found = factors(kernels, views)
    for name, Phi in found.items():
        np.testing.assert_allclose(Phi, wanted[name], atol=1e-6)
