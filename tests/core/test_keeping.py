"""Objects as plain data and back: what can be kept, what cannot, and what a bad tree is told."""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from absentia.core._keeping import kept, packed, unpacked
from absentia.core._operators import Dense, Gram


@kept
@dataclass(frozen=True)
class Thing:
    A: np.ndarray
    name: str

    @cached_property
    def total(self):
        return float(self.A.sum())


@kept
class Pair(NamedTuple):
    a: int
    b: Thing


def back(value):
    """Through JSON text and arrays, as a file would have it."""
    found = packed(value)
    return unpacked(json.loads(json.dumps(found.tree, allow_nan=False)), found.arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text",
        [1, [2, "x"]],
        (1, (2, 3)),
        {"a": 1, "b": {"c": [None]}},
        {1: "a", (2, 3): "b"},
        {"is": "not a kind"},
        math.inf,
        -math.inf,
    ],
)
def test_plain_values_come_back(value):
    found = back(value)
    assert found == value
    assert type(found) is type(value)


def test_nan_and_numbers_of_numpy_come_back_as_numbers():
    assert math.isnan(back(math.nan))
    assert back(np.float32(0.5)) == 0.5
    assert type(back(np.int64(3))) is int


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "<U3", "datetime64[D]"])
def test_arrays_come_back_to_the_bit(dtype):
    A = np.array([[0, 1], [1, 0]]).astype(dtype)
    found = back({"A": A})["A"]
    np.testing.assert_array_equal(found, A)
    assert found.dtype == A.dtype


def test_ids_of_several_types_and_sparse_matrices_come_back():
    ids = np.empty(3, dtype=object)
    ids[:] = ["a", 2, (1, "b")]
    assert back(ids).tolist() == ids.tolist()
    S = scipy.sparse.random_array((5, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    np.testing.assert_array_equal(back(S).toarray(), S.toarray())


def test_objects_come_back_without_what_they_compute_on_demand():
    thing = Thing(np.arange(3.0), "x")
    assert thing.total == 3
    assert "total" not in packed(thing).tree["state"]
    found = back(Pair(1, thing))
    assert isinstance(found, Pair)
    assert found.b.total == 3
    np.testing.assert_array_equal(found.b.A, thing.A)


def test_operators_stay_read_only():
    found = back({"dense": Dense(np.eye(2)), "gram": Gram(np.ones((3, 2)))})
    np.testing.assert_array_equal(found["gram"].to_dense(), np.full((3, 3), 2.0))
    with pytest.raises(ValueError, match="read-only"):
        found["dense"].A[0, 0] = 2


def test_machines_of_scikit_learn_come_back(rng):
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3
    for machine in (LogisticRegression(), SVC()):
        np.testing.assert_array_equal(
            back(machine.fit(X, y)).decision_function(X), machine.decision_function(X)
        )
    rising = IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], y)
    np.testing.assert_array_equal(back(rising).predict(X[:, 0]), rising.predict(X[:, 0]))


class Unmarked:
    pass


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"f": len}, "model.f is a builtins.builtin_function_or_method"),
        ([1, Unmarked()], r"model\[1\] is a .*Unmarked"),
        (Thing(np.zeros(1), lambda: 0), "model.name is a builtins.function"),
        (np.array([1 + 2j]), "complex128"),
    ],
)
def test_code_and_strange_things_are_refused_by_place(value, what):
    with pytest.raises(TypeError, match=what):
        packed(value)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"is": "os.system", "items": ["true"]}, "unknown here"),
        ({"is": "Unmarked", "state": {}}, "unknown here"),
        ({"is": "array", "number": "7"}, "array '7' is missing"),
        ({"is": ["list"]}, "no class"),
    ],
)
def test_a_tree_that_nobody_packed_is_refused(tree, sentence):
    with pytest.raises(ValueError, match=sentence):
        unpacked(tree, {})


def test_endless_nesting_is_refused():
    tree = []
    for _ in range(200):
        tree = [tree]
    with pytest.raises(ValueError, match="too deeply"):
        unpacked(tree, {})


@pytest.mark.parametrize("module", ["__main__", "_mine", "lab._private.methods"])
def test_classes_of_others_are_kept_wherever_they_are_written(module):
    cls = kept(type("Mine", (), {"__module__": module}))
    mine = cls()
    mine.x = 3
    assert type(back(mine)) is cls
    assert back(mine).x == 3
