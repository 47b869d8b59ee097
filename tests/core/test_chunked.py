"""Kernels in chunks: the same answers as NumPy, on threads and on clusters, in bounded memory."""

import json
import logging
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from absentia import MKMC, KernelViews
from absentia.core import Chunked, ChunkedGram, Dense, Gram, Operator, as_dask
from absentia.core._chunked import _PickedArray
from absentia.data import _order as draws
from absentia.methods.completion.mkmc import _solver
from conftest import random_problem

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")

ROWS = 20  # of a chunk
N = 57
CHUNKS = [(10, -1), (10, 13), (-1, -1), (-1, 9)]
LOCAL = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}  # any free port


@pytest.fixture(autouse=True)
def an_end():
    """Whatever a cluster waits for, a test that takes five minutes has failed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise TimeoutError("no answer in five minutes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(actual, wanted, tol=1e-10):
    """Agreement relative to the largest value."""
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=tol * np.abs(wanted).max())


# ------------------------------------------------------------------------------------ operators


def twins(kind, chunks, seed=0):
    """An operator in chunks, and the same from arrays."""
    rng = np.random.default_rng(seed)
    if kind == "chunked":
        A = rng.normal(size=(N, N))
        return Chunked(da.from_array(A, chunks=chunks)), Dense(A)
    left, right = rng.normal(size=(N, 5)), rng.normal(size=(N + 4, 5))
    L, R = da.from_array(left, chunks=(chunks[0], 3)), da.from_array(right, chunks=(7, -1))
    return (ChunkedGram(L), Gram(left)) if kind == "gram" else (ChunkedGram(L, R), Gram(left, right))


def check_twins(op, twin):
    dense, X = twin.to_dense(), np.random.default_rng(1).normal(size=(twin.shape[1], 3))
    assert isinstance(op, Operator)
    assert op.shape == dense.shape
    check(op @ X, dense @ X)
    check(op @ X[:, 0], dense @ X[:, 0])
    check(op.to_dense(), dense)
    check(op.diagonal(), np.diagonal(dense))


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("kind", ["chunked", "gram", "rectangular gram"])
def test_operators_match_their_twins(kind, chunks):
    op, twin = twins(kind, chunks)
    rows, cols = np.array([33, 2, 2, 50, 1]), np.array([40, 2, 8, 50, 11, 12])
    further = np.array([3, 0]), np.array([4, 1, 1])
    check_twins(op, twin)
    check_twins(op.select(rows, cols), twin.select(rows, cols))
    check_twins(op.select(rows, cols).select(*further), twin.select(rows, cols).select(*further))
    check_twins(op.select(rows, rows), twin.select(rows, rows))  # with the diagonal known
    check_twins(twins(kind, chunks)[0].select(rows, rows), twin.select(rows, rows))  # and not known
    check_twins(pickle.loads(pickle.dumps(op)), twin)
    check(op.block(rows, cols), twin.block(rows, cols))
    assert op.select(rows[:0], cols).to_dense().shape == (0, 6)


@pytest.mark.parametrize("kind", ["chunked", "gram"])
def test_single_precision_stays_single(kind):
    op, twin = twins(kind, (10, -1))
    X = np.random.default_rng(1).normal(size=(N, 3)).astype(np.float32)
    single = op.astype("float32")
    assert single.dtype == (single @ X).dtype == single.diagonal().dtype == np.float32
    check(single @ X, twin @ X, 1e-5)
    assert op.astype("float64") is op


def test_products_can_be_written_to_and_diagonals_cannot():
    op, _ = twins("chunked", (-1, -1))
    (op @ np.ones((N, 1)))[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        op.diagonal()[0] = 1.0


def test_a_matrix_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a matrix of 3 rows came, 57 are wanted"):
        twins("gram", (10, -1))[0] @ np.ones((3, 1))


class Counter(dask.callbacks.Callback):
    """Counts computations and tasks."""

    def __init__(self):
        self.computations = self.tasks = 0

    def _start(self, dsk):
        self.computations += 1

    def _pretask(self, key, dsk, state):
        self.tasks += 1


@pytest.mark.parametrize(("kind", "passes"), [("chunked", 1), ("gram", 2)])
def test_a_pass_is_one_computation_of_few_tasks(kind, passes):
    op, _ = twins(kind, (10, -1))
    some = np.arange(N)[::-2]
    with Counter() as idle:
        smaller = op.astype("float32").select(some, some)
    assert idle.computations == 0
    with Counter() as counter:
        smaller @ np.ones((len(some), 2))
    assert counter.computations == passes
    assert counter.tasks <= 50
    with Counter() as narrow:
        op.select(np.array([3]), np.arange(N)) @ np.ones((N, 1))
    assert narrow.tasks < counter.tasks  # chunks without a wanted row are not read


# ----------------------------------------------------------------------------------------- data


def parts(seed=0, n=80, factors=False):
    """``{name: (ids, array)}`` of a random problem, one view in another order than the others."""
    kernels = random_problem(n, 3, 0.3, seed)
    result = {}
    for name, seen in zip(kernels.names, kernels.observed.T, strict=True):
        K = kernels.block(name)
        if factors:
            values, vectors = np.linalg.eigh(K)
            K = vectors[:, -15:] * np.sqrt(values[-15:])
        result[name] = (kernels.ids[seen], K)
    ids, K = result["view1"]
    order = np.random.default_rng(seed).permutation(len(ids))
    result["view1"] = (ids[order], K[order] if factors else K[np.ix_(order, order)])
    return result


def on_disk(folder, blocks, dtype=np.float64):
    """The same with zarr arrays on disk, chunked by rows."""
    stored = {}
    for name, (ids, A) in blocks.items():
        Z = zarr.create_array(folder / name, shape=A.shape, chunks=(ROWS, A.shape[1]), dtype=dtype)
        Z[:] = A
        stored[name] = (ids, Z)
    return stored


def from_zarr(stored):
    return {name: (ids, da.from_zarr(Z)) for name, (ids, Z) in stored.items()}


def kernels_of(blocks, factors=False):
    return KernelViews.from_factors(blocks, copy=False) if factors else KernelViews.from_blocks(blocks)


def completion(kernels, covariance="pca", tol=1e-2, **options):
    """All that a user may look at, without forming a kernel."""
    mkmc = MKMC(covariance, n_components=4, tol=tol, **options)
    completed = mkmc.fit_transform(kernels)
    X = np.random.default_rng(5).normal(size=(len(kernels), 2))
    found = [mkmc.objective_, mkmc.model_ @ X]
    for name in completed.names:
        found += [completed.operator(name) @ X, completed.operator(name).diagonal()]
    return found


def check_same(found, wanted, tol=1e-10):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        check(one, other, tol)


# -------------------------------------------------------------------------- in the same process


def as_if_many(monkeypatch):
    """Few samples treated as many, arrays and chunks alike: no exact start, draws in the same order."""
    monkeypatch.setattr(_solver, "_SMALL", 0)
    monkeypatch.setattr(draws, "_row_squares", lambda operator, scale: operator.diagonal() / scale)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["pca", "fa"])
@pytest.mark.parametrize("factors", [False, True])
def test_threads_agree_with_numpy_and_nothing_is_formed(tmp_path, monkeypatch, covariance, factors):
    as_if_many(monkeypatch)
    blocks = parts(factors=factors)
    wanted = completion(kernels_of(blocks, factors), covariance, tol=1e-4)
    stored = on_disk(tmp_path, blocks)

    def refuse(self):
        raise AssertionError("a kernel in chunks was formed")

    monkeypatch.setattr(_PickedArray, "dense", refuse)
    check_same(completion(kernels_of(stored, factors), covariance, tol=1e-4), wanted)
    check_same(completion(kernels_of(from_zarr(stored), factors), covariance, tol=1e-4), wanted)
    square = {name: (ids, da.from_array(A, chunks=(30, 40))) for name, (ids, A) in blocks.items()}
    check_same(completion(kernels_of(square, factors), covariance, tol=1e-4), wanted)


def test_some_views_may_be_arrays(monkeypatch):
    as_if_many(monkeypatch)
    blocks = parts()
    ids, A = blocks["view2"]
    mixed = blocks | {"view2": (ids, da.from_array(A, chunks=(ROWS, -1)))}
    check_same(completion(kernels_of(mixed)), completion(kernels_of(blocks)))


@pytest.mark.slow
def test_single_precision_agrees_as_far_as_it_goes(tmp_path):
    blocks = parts()
    wanted = completion(kernels_of(blocks))
    stored = kernels_of(on_disk(tmp_path, blocks, np.float32))
    assert stored.operator("view0").dtype == np.float32
    check_same(completion(stored, dtype="float32", max_iter=100)[1:], wanted[1:], 2e-2)
    check_same(completion(stored), wanted, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("factors", [False, True])
def test_new_samples(tmp_path, factors):
    blocks = parts(factors=factors)
    known, new = np.arange(65), np.arange(65, 80)
    found = []
    for given in (blocks, on_disk(tmp_path, blocks)):
        kernels = kernels_of(given, factors)
        mkmc = MKMC("pca", n_components=4, tol=1e-4).fit(kernels[np.ix_(known, known)])
        rows = mkmc.transform(kernels[np.ix_(new, known)])
        found.append([rows.block(name) for name in rows.names])
    check_same(found[1], found[0])


def test_hiding_and_choosing_views_stays_in_chunks(tmp_path):
    blocks = parts()
    keep = np.random.default_rng(0).random((80, 3)) < 0.8
    keep[:, 0] = True
    hidden = [kernels_of(given).hide(keep) for given in (blocks, on_disk(tmp_path, blocks))]
    assert all(isinstance(hidden[1].operator(name), Chunked) for name in hidden[1].names)
    np.testing.assert_array_equal(hidden[1].to_dense(), hidden[0].to_dense())


def spoiled(how):
    ids, A = parts()["view0"]
    A = A.copy()
    if how == "nan":
        A[7, 30] = A[30, 7] = np.nan
    elif how == "infinite":
        A[30, 30] = A[2, 30] = A[30, 2] = np.inf
    elif how == "asymmetric":
        A[7, 30] += 1e-3
    else:
        A[7, 7] = -0.5
    return ids, A


@pytest.mark.parametrize("how", ["nan", "infinite", "asymmetric", "negative"])
def test_what_is_wrong_is_found_and_named_as_in_arrays(how):
    ids, A = spoiled(how)
    with pytest.raises(ValueError, match="view 'a': kernel") as wanted:
        KernelViews.from_blocks({"a": (ids, A)})
    with pytest.raises(ValueError, match=re.escape(str(wanted.value))):
        KernelViews.from_blocks({"a": (ids, da.from_array(A, chunks=(ROWS, -1)))})


def test_rounding_is_not_asymmetry():
    ids, A = parts()["view0"]
    A = A + 1e-7 * np.random.default_rng(0).normal(size=A.shape)
    kernels = KernelViews.from_blocks({"a": (ids, da.from_array(A, chunks=(ROWS, -1)))})
    assert len(kernels) == len(ids)


def test_factors_that_are_not_finite_are_found():
    Phi = np.ones((9, 2))
    Phi[4, 1] = np.nan
    with pytest.raises(ValueError, match="view 'a', sample 4: factor is NaN"):
        KernelViews.from_factors({"a": (range(9), da.from_array(Phi, chunks=(2, -1)))})


def test_what_cannot_be_a_kernel_is_refused():
    with pytest.raises(ValueError, match="view 'a': values of type complex128 are not numbers"):
        as_dask("a", da.zeros((3, 3), dtype=complex))
    with pytest.raises(ValueError, match="two dimensions"):
        as_dask("a", da.zeros(3))
    unknown = da.ones((9, 9), chunks=(3, -1))
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        as_dask("a", unknown)
    with pytest.raises(ValueError, match=r"kernel has shape \(3, 4\) but 3 ids"):
        KernelViews.from_blocks({"a": (range(3), da.zeros((3, 4)))})
    assert as_dask("a", da.ones((3, 3), dtype=int)).dtype == np.float64


def test_small_chunks_on_disk_are_read_together(tmp_path):
    Z = zarr.create_array(tmp_path / "a", shape=(5000, 5000), chunks=(100, 1000), dtype=float)
    assert as_dask("a", Z).chunks == ((800,) * 6 + (200,), (5000,))
    Z = zarr.create_array(tmp_path / "b", shape=(5000, 5000), chunks=(1000, 2500), dtype=float)
    assert as_dask("b", Z).chunks == ((1000,) * 5, (2500,) * 2)


@pytest.mark.slow
def test_without_dask_it_says_what_to_install():
    code = """
    import sys
    import numpy as np, zarr
    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("dask", "distributed"):
                raise ImportError(name)
    sys.meta_path.insert(0, Refuse())
    from absentia import KernelViews
    KernelViews.from_blocks({"a": (range(3), np.eye(3))})
    try:
        KernelViews.from_blocks({"a": (range(3), zarr.array(np.eye(3)))})
    except ImportError as error:
        print(error)
    """
    code = textwrap.dedent(code)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "absentia[dask]"' in result.stdout


# --------------------------------------------------------------------------------- on a cluster


@pytest.fixture(scope="module")
def client():
    """Two worker processes that are started again when they die."""
    with (
        distributed.LocalCluster(n_workers=2, silence_logs=logging.CRITICAL, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def pids(client):
    return set(client.run(os.getpid).values())


@pytest.mark.slow
@pytest.mark.parametrize(("covariance", "factors"), [("pca", False), ("fa", False), ("pca", True)])
def test_a_cluster_agrees_with_numpy(client, tmp_path, monkeypatch, covariance, factors):
    as_if_many(monkeypatch)
    blocks = parts(factors=factors)
    given = kernels_of(from_zarr(on_disk(tmp_path, blocks)), factors)
    check_same(completion(given, covariance), completion(kernels_of(blocks, factors), covariance))


@pytest.mark.slow
def test_large_thin_matrices_travel_without_complaint(client):
    factors = ChunkedGram(da.ones((80_000, 2), chunks=(20_000, -1)))
    X = np.ones((80_000, 20))  # 12.8 MB; dask warns of 10
    np.testing.assert_array_equal(factors @ X, 160_000 * X)


def deadly(block, trap, safe):
    """A chunk; whoever makes it while the trap is set dies, once."""
    assert os.getpid() != safe
    try:
        os.unlink(trap)
    except FileNotFoundError:
        return block
    return os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_dies_in_the_middle_of_a_product_changes_nothing(client, tmp_path, monkeypatch):
    as_if_many(monkeypatch)
    blocks, trap = parts(), tmp_path / "trap"
    stored = from_zarr(on_disk(tmp_path, blocks))
    stored = {
        k: (ids, A.map_blocks(deadly, str(trap), os.getpid(), meta=A)) for k, (ids, A) in stored.items()
    }
    before = pids(client)

    def set_trap(progress):
        if progress.iteration == 2:
            trap.touch()

    found = completion(kernels_of(stored), tol=1e-4, callback=set_trap)
    check_same(found, completion(kernels_of(blocks), tol=1e-4))
    assert not trap.exists()
    client.wait_for_workers(2, timeout=300)
    assert pids(client) != before


@pytest.mark.slow
def test_a_worker_killed_between_iterations_changes_nothing(client, tmp_path, monkeypatch):
    as_if_many(monkeypatch)
    blocks = parts(factors=True)
    client.wait_for_workers(2, timeout=300)
    killed = []

    def kill(progress):
        if progress.iteration == 2 and not killed:
            killed.extend(sorted(pids(client))[:1])
            os.kill(killed[0], signal.SIGKILL)

    found = completion(kernels_of(from_zarr(on_disk(tmp_path, blocks)), True), callback=kill)
    check_same(found, completion(kernels_of(blocks, True)))
    client.wait_for_workers(2, timeout=300)
    assert killed
    assert killed[0] not in pids(client)


@contextmanager
def running(*command):
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(path, seconds=300):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} did not appear"
        time.sleep(0.05)


@pytest.mark.slow
def test_scheduler_and_workers_as_separate_commands(tmp_path, monkeypatch):
    as_if_many(monkeypatch)
    blocks, file = parts(), tmp_path / "scheduler.json"
    wanted = completion(kernels_of(blocks))
    stored = from_zarr(on_disk(tmp_path, blocks))
    here = ("--scheduler-file", str(file), "--no-dashboard")
    worker = partial(running, "worker", *here, "--nthreads", "1", "--no-nanny")
    with running("scheduler", "--host", "127.0.0.1", "--port", "0", *here), worker() as first, worker():
        wait_for(file)
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=300)
            check_same(completion(kernels_of(stored)), wanted)

            def kill(progress):
                if progress.iteration == 2:
                    first.kill()

            check_same(completion(kernels_of(stored), callback=kill), wanted)  # the other one carries on
            assert len(client.run(os.getpid)) == 1


# --------------------------------------------------------------------------------------- memory

LARGE = """
import json, sys
from pathlib import Path
import dask, dask.array as da, numpy as np
from absentia import MKMC, KernelViews

def memory(what):  # of this process alone: ru_maxrss would know of the parent's
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(what))
    return int(line.split()[1]) / 2**10

folder = Path(sys.argv[1])
blocks = {p.name: (np.load(p / "ids.npy"), da.from_zarr(str(p / "kernel"))) for p in folder.iterdir()}
before = memory("VmRSS")
with dask.config.set(scheduler="threads", num_workers=2):
    completed = MKMC("pca", n_components=6, tol=1e-4).fit_transform(KernelViews.from_blocks(blocks))
    operator = completed.operator("a")
    product = operator @ np.ones((len(completed), 2))
    assert np.isfinite(product).all() and (operator.diagonal() > 0).all()
print(json.dumps([before, memory("VmHWM")]))
"""


def write_large_kernels(folder, n=7000, rows=770):
    """Two kernels of about 270 MB each, written a chunk at a time; their size together in MB."""
    rng = np.random.default_rng(0)
    shared, size = rng.normal(size=(n, 6)), 0
    for name in ("a", "b"):
        ids = np.flatnonzero(rng.random(n) < 0.85)
        m = len(ids)
        Phi = (shared[ids] + 0.3 * rng.normal(size=(m, 6))) / np.sqrt(6)
        where = folder / name / "kernel"
        Z = zarr.create_array(where, shape=(m, m), chunks=(rows, m), dtype=float, compressors=None)
        for i in range(0, m, rows):
            part = Phi[i : i + rows] @ Phi.T
            part[np.arange(len(part)), np.arange(i, i + len(part))] += 0.1
            Z[i : i + rows] = part
        np.save(folder / name / "ids.npy", ids)
        size += Z.nbytes / 2**20
    return size


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
def test_kernels_on_disk_complete_in_bounded_memory(tmp_path):
    size = write_large_kernels(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", LARGE, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    before, peak = json.loads(run.stdout)
    shutil.rmtree(tmp_path)
    assert size > 500
    assert peak - before < 0.45 * size  # two chunks of 35 MB at a time, and copies made in reading them
    assert peak < 0.75 * size  # Python and its libraries included
