"""Readers and constructors on whatever may come: they return, or say in one sentence why not.

``fuzz/run.py`` does the same for longer, guided by coverage.  What either has found is kept here.
"""

import contextlib
import json
import random
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from absentia import KernelViews, Views, io, models
from absentia.files import _outputs
from helpers import corrupted_files
from helpers.corrupted_files import READERS, attempt, damaged, place

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.fixture(scope="module")
def seeds():
    return corrupted_files.seeds()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "64M")


@pytest.mark.slow_params("io.read")
@pytest.mark.parametrize("reader", READERS)
def test_the_files_that_are_damaged_are_fine_before(seeds, folder, reader):
    path, taken = place(folder, reader), []
    for data in seeds[reader]:
        path.write_bytes(data)
        taken.append(attempt(reader, path))
    # of the tables, one is a matrix, one has labels of these samples, one of others
    assert any(taken) if READERS[reader][1].startswith(".csv") else all(taken)


@pytest.mark.slow_params("io.read", "models.load")
@pytest.mark.parametrize("reader", [reader for reader in READERS if reader not in corrupted_files.SLOW])
def test_a_damaged_file_is_read_or_refused_with_one_sentence(seeds, folder, reader):
    path = place(folder, reader)

    @FAST
    @given(st.integers(0, 2**32 - 1))
    def check(seed):
        rng = random.Random(seed)
        data = rng.choice(seeds[reader])
        for _ in range(rng.choice([1, 1, 2, 3])):
            data = damaged(rng, reader, data)
        path.write_bytes(data)
        attempt(reader, path)

    check()


@pytest.mark.parametrize("reader", [reader for reader, (_, ending) in READERS.items() if ending == ".npz"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_file_that_becomes_large_is_read_or_refused(folder, reader, seed):
    path = place(folder, reader)
    path.write_bytes(corrupted_files.bomb(random.Random(seed)))
    attempt(reader, path)


# --------------------------------------------------------------------------------------- what was found

FOUND = {
    "an id that is no text": ("io.read", {"view_a": np.eye(2), "ids": np.zeros((2, 0))}),
    "a mask of texts": ("io.read", {"view_a": np.eye(2), "mask": np.array([["1"], ["0"]])}),
    "a million names": ("io.read", {"K": np.eye(2)[None], "names": np.zeros(300_000, "U1")}),
    "views of one number": ("io.read", {"K": np.ones((100_000, 1, 1))}),
    "rows of no training sample": (
        "rows.read_new",
        {"K": np.ones((1, 2, 0)), "column_ids": np.zeros(0, "U1")},
    ),
    "no view, no sample": ("rows.read_new", {"K": np.ones((0, 0, 0)), "column_ids": np.zeros(0, "U1")}),
    "training samples twice": (
        "rows.read_new",
        {"K": np.ones((1, 1, 2)), "column_ids": np.array(["a", "a"])},
    ),
    "names that are numbers": (
        "rows.read_new",
        {"K": np.ones((1, 1, 1)), "column_ids": ["a"], "names": [3]},
    ),
    "a kernel of nobody": (
        "io.read_matrix of arrays",
        {"X": np.ones((0, 3)), "row_kernel": np.ones((0, 0))},
    ),
    "a kernel of 1e308": (
        "io.read_matrix of arrays",
        {"X": np.eye(3), "row_kernel": np.array([[1, 1e308, 0], [-1e308, 1, 0], [0, 0, 1]])},
    ),
    "labels beyond integers": ("io.read_labels of an array", {"y": np.array([1e300] * 6)}),
    "labels that are dates": ("io.read_labels of an array", {"y": np.zeros(6, "M8[D]")}),
    "single precision at its end": ("io.read", {"view_a": np.full((2, 2), np.finfo(np.float32).max)}),
    "half precision": ("io.read", {"view_a": np.ones((2, 2), np.float16)}),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_was_found_stays_mended(folder, case):
    reader, arrays = FOUND[case]
    path = place(folder, reader)
    np.savez_compressed(path, **arrays)
    attempt(reader, path)


# ------------------------------------------------------------------------------------------ descriptions

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
def test_any_field_of_a_model_may_be_anything(seeds, folder):
    """With the checksum made anew, as a forger would."""
    path = place(folder, "models.load")
    content = dict(corrupted_files.members(seeds["models.load"][0]))
    path.write_bytes(seeds["models.load"][0])
    arrays = io.read_arrays(path)
    described = json.loads(str(arrays.pop("model")))

    @FAST
    @given(st.sampled_from(["format", "version", "made", "about", "tree"]), anything)
    @example("version", 10**400)
    @example("about", {"x": "\ud800"})
    @example("tree", {"is": "models.Model", "state": {"classifier": 3}})
    def check(where, value):
        changed = described | {where: value}
        changed["checksum"] = _outputs._checksum(changed, arrays)
        text = corrupted_files._npy_of(np.array(json.dumps(changed)))
        path.write_bytes(corrupted_files.packed((content | {"model.npy": text}).items()))
        with contextlib.suppress(io.FileError), warnings.catch_warnings(action="ignore"):
            models.load(path)  # which may warn of another version of scikit-learn

    check()


# ------------------------------------------------------------------------------------------------ tables


@FAST
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "surrogatepass")))
@example(b"id,label\np,\xff\n")
@example(b'id,label\n"p')
@example(b"\xef\xbb\xbf")
@example(b"id,a,b\n" + b"x" * 200_000)
@example(b"id,a,b\np,1_0,2\n")
def test_any_bytes_as_a_table(tmp_path_factory, data):
    for reader in ("io.read_matrix of text", "io.read_labels of text", "io.read of text"):
        path = place(tmp_path_factory.mktemp("t"), reader)
        path.write_bytes(data)
        attempt(reader, path)


# ------------------------------------------------------------------------------------------ constructors

shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
types = st.sampled_from(["f8", "f4", "f2", "g", "i8", "u1", "?", "c16", "U3", "S2", "M8[s]", "m8", "O"])
tables_of_any_kind = st.tuples(types, shapes).flatmap(
    lambda ts: npst.arrays(ts[0], ts[1]) if ts[0] != "O" else npst.arrays(object, ts[1], elements=anything)
)
ids_of_any_kind = (
    st.none() | st.lists(anything, max_size=4) | npst.arrays(st.sampled_from(["f8", "U2", "i8"]), shapes)
)


def holds(views):
    """What every valid object fulfils."""
    assert views.observed.shape == (len(views.ids), len(views.names))
    assert len({repr(x) for x in views.ids.tolist()}) == len(views.ids)
    for v, name in enumerate(views.names):
        block = views.block(name)
        block = block.toarray() if scipy.sparse.issparse(block) else block
        assert len(block) == views.observed[:, v].sum()
        assert not np.isinf(block).any()
        assert block.dtype in (np.float32, np.float64)
        assert not np.isnan(block).all(axis=1).any()
        features = views.features(name)
        assert features is None or len(set(features.tolist())) == block.shape[1]


def tried(make):
    """Made and valid, or refused with a sentence."""
    with warnings.catch_warnings(action="ignore"):
        try:
            views = make()
        except ValueError as error:
            assert "\n\n" not in str(error)  # noqa: PT017
            return
    holds(views)


@FAST
@given(st.lists(tables_of_any_kind, max_size=3), ids_of_any_kind, st.none() | npst.arrays("?", shapes))
@example([np.ones((2, 1))], ["p", None], None)
@example([np.ones((2, 1))], [[], []], None)
@example([np.array([[1j, 2.0]])], None, None)
@example([np.ones((2, 2)), np.ones((2, 0))], None, None)
@example([np.array([[10**400]], object)], None, None)
@example([np.full((1, 1), np.longdouble("1e400"))], None, None)
def test_arrays_of_any_kind_become_views_or_a_sentence(Xs, ids, observed):
    tried(lambda: Views.from_list(Xs, ids=ids, observed=observed))


columns = st.sampled_from(
    [
        [1.5, 2.5],
        [1, 2],
        [True, False],
        ["1", "2"],
        [1j, 2j],
        [None, 2.0],
        [np.inf, 1.0],
        pd.array([1, None], "Int64"),
        pd.array([True, None], "boolean"),
        pd.Categorical([1, 2]),
        pd.Categorical(["a", "b"]),
        pd.to_datetime(["2020-01-01", None]),
        pd.to_timedelta([1, 2], "s"),
        pd.array(["a", None], "string"),
        pd.arrays.SparseArray([0.0, 1.0]),
        pd.interval_range(0, 2),
        [pd.NA, 1],
        [[1], [2]],
    ]
)
indexes = st.sampled_from(
    [
        [0, 1],
        ["a", "a"],
        ["a", None],
        [np.nan, 1.0],
        [("a", 1), ("a", 2)],
        [("a", np.nan), ("a", 2)],
        [1, "1"],
        pd.to_datetime(["2020-01-01", "2020-01-02"]),
        pd.DatetimeIndex(["2020-01-01", pd.NaT]),
        pd.CategoricalIndex(["a", "b"]),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 1)]),
    ]
)


@FAST
@given(
    st.lists(columns, min_size=1, max_size=3),
    indexes,
    indexes,
    st.lists(st.sampled_from(["p", "q", 1, "1"]), min_size=3),
)
@example([pd.Categorical([1, 2])], [0, 1], [0, 1], ["p", "q", 1])
@example([[1j, 2j]], [0, 1], [0, 1], ["p", "q", 1])
@example([pd.to_datetime(["2020-01-01", None])], [0, 1], [0, 1], ["p", "q", 1])
@example([[1.5, 2.5]], ["a", None], [0, 1], ["p", "q", 1])
@example([[1, 2], [1, 2], [1, 2]], [0, 1], [0, 1], ["p", "p", 1])
def test_frames_of_any_kind_become_views_or_a_sentence(parts, index, other, names):
    frame = pd.DataFrame({k: pd.Series(part) for k, part in enumerate(parts)})
    frame.columns, frame.index = pd.Index(names[: len(parts)], dtype=object), pd.Index(index)
    second = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(other))
    tried(lambda: Views.from_dict({"a": frame}))
    tried(lambda: Views.from_dict({"a": frame, "b": second}))
    tried(lambda: Views.from_frame(frame, {"a": list(frame.columns[:1]), "b": list(frame.columns)}))


@FAST
@given(tables_of_any_kind, st.none() | npst.arrays("?", shapes))
@example(np.zeros((1, 0, 0)), None)
@example(np.zeros((0, 2, 2)), None)
def test_kernels_of_any_kind_in_a_file_become_kernels_or_a_sentence(tmp_path_factory, K, mask):
    path = tmp_path_factory.mktemp("k") / "k.npz"
    arrays = {"K": K} if mask is None else {"K": K, "mask": mask}
    with warnings.catch_warnings(action="ignore"):
        try:
            assert isinstance(io.read(io.write_arrays(path, arrays)), KernelViews)
        except io.FileError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
