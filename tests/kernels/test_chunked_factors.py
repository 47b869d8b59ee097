"""Factors of features in chunks: those of the same features in memory, however they are cut and ordered."""

import os
import resource
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from absentia import FactorCox, FactorLogistic, FactorRidge, ViewKernels, Views, save
from absentia.data import ChunkedTable

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


@contextmanager
def start_cluster(n_workers, processes=True):
    """A client of so many workers, processes or threads of this one."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=n_workers, processes=processes, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def kill_worker(client):
    """End one of its processes as the system does where memory runs out."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])  # of one, what was sent to it is lost with it
def test_a_cluster_gives_the_same_although_a_worker_is_killed(tables, n_workers):
    kernels = ViewKernels(approx="nystrom", n_landmarks=20)
    wanted = factors(kernels, Views.from_dict(tables))
    views = in_chunks(tables, (20, 20), seed=1)
    with start_cluster(n_workers) as client:
        seen = 0
        for _ in views.block("a").map(np.sum):
            seen += 1
            if seen == 5:
                kill_worker(client)
        assert seen == len(views.block("a").chunks)
        found = factors(kernels, views)
    for name, Phi in found.items():
        np.testing.assert_allclose(Phi, wanted[name], atol=1e-6)


def read_fit_predict(tables, model, y):
    """What a model says of the views, read, learned from and predicted in chunks."""
    views = in_chunks(tables, (40, 40), seed=1)
    fitted = model.fit(views, y[views.align({k: k for k in range(N)})])
    return fitted.predict_proba(views) if hasattr(fitted, "predict_proba") else fitted.predict(views)


def targets(model):
    """Classes, numbers or times that the first feature of a view says something of."""
    draw = np.random.default_rng(3).exponential(size=(2, N))
    return {
        "FactorLogistic": draw[0] > 0.7,
        "FactorRidge": draw[0],
        "FactorCox": np.column_stack([draw.min(axis=0), draw[0] < draw[1]]),
    }[type(model).__name__]


MODELS = [FactorLogistic(), FactorRidge(), FactorCox()]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_one_process_threads_and_workers_give_the_same_numbers(tables, model):
    wanted = read_fit_predict(tables, model, targets(model))
    for processes in (False, True):
        with start_cluster(2, processes):
            np.testing.assert_array_equal(read_fit_predict(tables, model, targets(model)), wanted)


@pytest.mark.slow
def test_a_worker_may_be_killed_in_every_pass_from_reading_to_predicting(tables, monkeypatch):
    """Each pass over the chunks, of which there are some for each view, loses a worker halfway."""
    wanted = read_fit_predict(tables, MODELS[0], targets(MODELS[0]))
    plain, killed = ChunkedTable.map, []

    def map_and_kill(table, step):
        for number, parts in enumerate(plain(table, step)):
            if number == 4:
                kill_worker(client)
                killed.append([type(s).__name__ for s in (*table.steps, step)])
            yield parts

    monkeypatch.setattr(ChunkedTable, "map", map_and_kill)
    with start_cluster(2) as client:
        found = read_fit_predict(tables, MODELS[0], targets(MODELS[0]))
    np.testing.assert_array_equal(found, wanted)
    last = {name for steps in killed for name in steps}
    assert len(killed) >= 6
    assert {"function", "method", "_ViewScores"} <= last  # who has what, factors, scores


@pytest.mark.slow
def test_a_worker_takes_memory_for_some_chunks_whatever_their_number(tmp_path):
    """64 chunks of 4 MB: of what is read, a few are in a worker at a time."""
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (64 * 2048, 512))
    for a in range(0, len(X), 2048):
        X[a : a + 2048] = np.random.default_rng(a).normal(size=(2048, 512))
    X.flush()
    files = []
    for k in range(64):
        files.append(tmp_path / f"v/part-{k:02d}.parquet")
        files[0].parent.mkdir(exist_ok=True)
        frame = pd.DataFrame(X[k * 2048 : (k + 1) * 2048], columns=[f"f{j}" for j in range(512)])
        frame.insert(0, "id", range(k * 2048, (k + 1) * 2048))
        frame.to_parquet(files[-1], index=False)
    size = 2048 * 512 * 4

    def peak():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with start_cluster(1) as client:
        few = Views.from_parquet({"v": files[0].parent})[: 4 * 2048]
        ViewKernels(approx="nystrom", n_landmarks=20).fit(few)  # what is imported is there
        (before,) = client.run(peak).values()
        views = Views.from_parquet({"v": files[0].parent})
        ViewKernels(approx="nystrom", n_landmarks=20).fit(views)
        (after,) = client.run(peak).values()
    assert after - before < 16 * size  # a quarter of the features


def test_who_waits_for_a_cluster_without_workers_is_told(tables, monkeypatch):
    monkeypatch.setattr("absentia.data._chunked_views._WAIT_SECONDS", 0.3)
    with start_cluster(0, processes=False), pytest.raises(ConnectionError, match="no worker is there"):
        in_chunks(tables)


def test_who_waits_for_a_chunk_that_does_not_come_is_told(tables, monkeypatch):
    monkeypatch.setattr("absentia.data._chunked_views._WAIT_SECONDS", 0.3)
    free = threading.Event()
    with start_cluster(1, processes=False):
        views = in_chunks(tables)
        with pytest.raises(ConnectionError, match="a chunk of features did not come"):
            list(views.block("a").map(lambda X: free.wait(20)))
        free.set()
