"""Objects as plain data and back: what can be stored, what cannot, and what a bad tree is told."""

import copy
import datetime
import json
import math
import pickle
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from absentia.core import Dense, Gram, Serialized, deserialize, serializable, serialize


@serializable
@dataclass(frozen=True)
class Thing:
    A: np.ndarray
    name: str

    @cached_property
    def total(self):
        return float(self.A.sum())


@serializable
class Pair(NamedTuple):
    a: int
    b: Thing


def back(value):
    """Through JSON text and arrays, as a file would have it."""
    found = serialize(value)
    return deserialize(json.loads(json.dumps(found.tree, allow_nan=False)), found.arrays)


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


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "<U3", "S3", "datetime64[D]"])
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


DATES = [
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 30, 0, 5),
    datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    np.datetime64("2024-02"),
    np.timedelta64(3, "h"),
]


@pytest.mark.parametrize("date", DATES, ids=repr)
def test_dates_come_back_as_they_were(date):
    assert back(date) == date
    assert type(back(date)) is type(date)
    if isinstance(date, np.generic):
        assert back(date).dtype == date.dtype


def test_dates_of_pandas_come_back_as_they_were():
    pd = pytest.importorskip("pandas")
    stamps = [pd.Timestamp("2024-02-29 12:00:00.000000007"), pd.Timestamp("2024-02-29", tz="UTC")]
    assert back(stamps) == stamps
    assert all(type(one) is pd.Timestamp for one in back(stamps))


def test_ids_that_are_all_tuples_come_back_as_tuples():
    ids = np.empty(3, dtype=object)
    for i in range(3):
        ids[i] = ("a", i)
    assert back(ids).tolist() == ids.tolist()
    assert back(ids.reshape(3, 1)).shape == (3, 1)


def test_texts_of_numpy_become_texts():
    assert type(back(np.str_("a"))) is str
    assert back({np.str_("a"): 1, np.int64(3): 2}) == {"a": 1, 3: 2}


def test_an_array_that_is_there_twice_is_kept_once():
    A = np.arange(3.0)
    found = serialize({"one": A, "two": [A], "other": A.copy(), "whole": A.astype(int)})
    assert len(found.arrays) == 2
    again = deserialize(found.tree, found.arrays)
    assert again["one"] is again["two"][0]
    again["other"][0] = 5.0  # one that was alone is so again
    np.testing.assert_array_equal(again["one"], A)
    np.testing.assert_array_equal(again["whole"], A)


def test_rows_in_another_order_are_kept_as_their_positions():
    A = np.random.default_rng(0).standard_normal((300, 4))
    A[7] = A[9]
    turned, others = A[::-1].copy(), A + 1
    found = serialize([A, turned, turned.copy(), others])
    assert [array.shape for array in found.arrays.values()] == [(300, 4), (300,), (300, 4)]
    assert found.arrays["1"].dtype == np.uint16
    again = deserialize(found.tree, found.arrays)
    for value, expected in zip(again, [A, turned, turned, others], strict=True):
        np.testing.assert_array_equal(value, expected)
    again[1][0] = 0.0
    np.testing.assert_array_equal(again[2], turned)


@pytest.mark.parametrize("rows", [np.zeros(2, np.uint8), np.array([0, 1, 9], np.uint8), np.arange(3.0)])
def test_positions_of_rows_that_were_changed_are_refused(rows):
    found = serialize([np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2)[::-1]])
    found.tree[1]["rows"] = {"is": "array", "number": "1"}
    with pytest.raises((ValueError, IndexError)):
        deserialize(found.tree, found.arrays | {"1": rows})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_half_of_a_symmetric_matrix_is_kept(dtype):
    A = np.random.default_rng(0).standard_normal((5, 5)).astype(dtype)
    A = A + A.T
    A[0, 1], A[1, 0] = 0.0, -0.0  # equal, but not to the bit
    B = A + np.eye(5, dtype=dtype)
    B[1, 0] = 0.0
    found = serialize([A, B, B])
    assert [array.shape for array in found.arrays.values()] == [(5, 5), (15,)]
    again = deserialize(found.tree, found.arrays)
    assert again[1] is again[2]
    for value, expected in zip(again, [A, B, B], strict=True):
        assert value.dtype == dtype
        assert value.tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match=r"its symmetric matrix of shape \[5, 5\] is made of .* \(14,\)"):
        deserialize([found.tree[1] | {"of": {"is": "array", "number": "1"}}], {"1": found.arrays["1"][:14]})


@serializable
class Shaped:
    """Declares shapes, as estimators may."""

    _shapes = {"coef": "kp", "offset": "k|"}


def shaped(**state):
    value = Shaped()
    value.__dict__.update(state)
    return value


def test_declared_shapes_are_checked_when_an_object_is_read():
    for offset in (np.zeros(2), 0.5):
        assert back(shaped(coef=np.ones((2, 3)), offset=offset)).coef.shape == (2, 3)
    for wrong in (np.ones(2), np.ones((4, 3)), np.full((2, 3), np.nan), np.array([["a"], ["b"]])):
        with pytest.raises(
            ValueError, match=r"its Shaped has parts that do not go together|is an array of"
        ):
            back_unchecked({"coef": wrong, "offset": np.zeros(2)})


def back_unchecked(state):
    found = serialize(dict(state))
    return deserialize({"is": serialize(shaped()).tree["is"], "state": found.tree}, found.arrays)


def test_arrays_of_texts_lie_where_names_are():
    assert back(shaped(ids_=np.array(["a"]), classes_=np.array(["b"]))).ids_.tolist() == ["a"]
    assert back(shaped(basis_={"view": np.array(["a"])})).basis_["view"].tolist() == ["a"]
    with pytest.raises(ValueError, match="weights of its Shaped is an array of texts"):
        back_unchecked({"weights": np.array(["1", "2"])})
    with pytest.raises(TypeError, match="weights of model is an array of texts"):
        serialize(shaped(weights=np.array(["1", "2"])))


def test_sparse_matrices_stay_matrices_and_arrays_arrays():
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.csc_array):
        found = back(kind(np.eye(3)))
        assert isinstance(found, scipy.sparse.spmatrix) == issubclass(kind, scipy.sparse.spmatrix)
        np.testing.assert_array_equal(found.toarray(), np.eye(3))


def test_copies_and_pickles_hold_nothing_that_is_computed_on_demand():
    thing = Thing(np.arange(3.0), "x")
    assert thing.total == 3
    for other in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert "total" not in vars(other)
        assert other.total == 3


def test_a_callback_is_left_behind():
    thing = Thing(np.zeros(1), "x")
    object.__setattr__(thing, "callback", print)
    assert back(thing).callback is None
    assert thing.callback is print


def test_parts_are_told_without_being_made():
    found = serialize({"a": [Pair(1, Thing(np.zeros(2), "inner"))], "b": SVC(C=3.0)})
    names = [name for name, _ in found.parts()]
    assert [name.rpartition(".")[2] for name in names] == ["Thing", "SVC"]
    assert next(found.parts())[1]["name"] == "inner"
    assert found.sklearn_classes() == ["SVC"]
    with pytest.raises(ValueError, match="unknown here"):
        deserialize(found.tree, found.arrays, objects=False)
    assert list(Serialized([1, {"is": "array", "number": "0"}]).parts()) == []


def test_objects_come_back_without_what_they_compute_on_demand():
    thing = Thing(np.arange(3.0), "x")
    assert thing.total == 3
    assert "total" not in serialize(thing).tree["state"]
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
        (np.ma.masked_array([1.0], [True]), "model holds a mask"),
        ({"rng": np.random.default_rng(0)}, "model.rng is a .*give a whole number as random_state"),
        (GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(np.eye(4), [0, 1, 0, 1]), "save its best_estimator_"),
        (RandomForestClassifier(), "of scikit-learn's estimators these can: .*SVC"),
    ],
)
def test_code_and_strange_things_are_refused_by_place(value, what):
    with pytest.raises(TypeError, match=what):
        serialize(value)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"is": "os.system", "items": ["true"]}, "unknown here"),
        ({"is": "Unmarked", "state": {}}, "unknown here"),
        ({"is": "array", "number": "7"}, "array '7' is missing"),
        ({"is": ["list"]}, "no class"),
        ({"is": "objects", "shape": [10**12], "items": [1]}, "1 values for an array of shape"),
        ({"is": "sparse", "shape": [2, 2], "parts": [1, 2, 3]}, "three arrays"),
        ({"is": "operators.Dense", "state": {}}, "unknown here"),
        (
            {"is": "core.Dense", "state": {"to_dense": 1}},
            "'to_dense' among its attributes, which is not one",
        ),
        ({"is": "core.Dense", "state": {"shape": [1]}}, "'shape' among its attributes, which is not one"),
        ({"is": "date", "text": "tomorrow"}, "tomorrow"),
        ({"is": "Pipeline", "state": {"memory": "/tmp"}}, "names a folder"),
    ],
)
def test_a_tree_that_nobody_packed_is_refused(tree, sentence):
    with pytest.raises(ValueError, match=sentence):
        deserialize(tree, {})


def test_endless_nesting_is_refused():
    tree = []
    for _ in range(200):
        tree = [tree]
    with pytest.raises(ValueError, match="too deeply"):
        deserialize(tree, {})


@pytest.mark.parametrize("module", ["__main__", "_mine", "lab._private.methods"])
def test_classes_of_others_are_kept_wherever_they_are_written(module):
    cls = serializable(type("Mine", (), {"__module__": module}))
    mine = cls()
    mine.x = 3
    assert type(back(mine)) is cls
    assert back(mine).x == 3


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([5, 0], [0, 1, 2]),
        ([-1, 0], [0, 1, 2]),
        ([0, 1], [0, 5, 2]),
        ([0, 1], [1, 1, 2]),
        ([0.0, 1.0], [0, 1, 2]),
    ],
)
def test_sparse_matrices_that_lead_outside_are_refused(indices, indptr):
    parts = [{"is": "array", "number": key} for key in "012"]
    arrays = {"0": np.ones(2), "1": np.array(indices), "2": np.array(indptr)}
    with pytest.raises(ValueError, match=r"indi|index|indptr|whole numbers"):
        deserialize({"is": "sparse", "shape": [2, 2], "parts": parts}, arrays)


@serializable
@dataclass
class Declared:
    """Attributes of several declared types."""

    weights: np.ndarray
    name: str
    count: int
    share: float
    parts: list[Thing] | None
    way: Literal["one", "other"] = "one"
    widths: dict[str, float] = field(default_factory=dict)


def declared():
    return Declared(np.arange(3.0), "a", 2, 0.5, [Thing(np.ones(2), "t")], "other", {"a": 1.0})


def test_declared_attributes_come_back():
    state = serialize(declared())
    found = deserialize(state.tree, state.arrays)
    assert (found.name, found.count, found.share, found.way, found.widths) == (
        "a",
        2,
        0.5,
        "other",
        {"a": 1.0},
    )
    assert deserialize(*_changed({"parts": None, "share": 1})).parts is None


def _changed(changes, drop=()):
    """The plain data of an object with other attributes."""
    state = serialize(declared())
    tree = json.loads(json.dumps(state.tree))
    tree["state"] = {k: v for k, v in (tree["state"] | changes).items() if k not in drop}
    return tree, state.arrays


@pytest.mark.parametrize("name", ["weights", "name", "count", "share", "parts", "way", "widths"])
@pytest.mark.parametrize("value", [True, [], {}, {"is": "tuple", "items": [1]}, "x"])
def test_attributes_of_other_types_than_declared_are_refused(name, value):
    fine = {"parts": [], "widths": {}, "name": "x", "share": True}
    if fine.get(name) == value:
        return
    with pytest.raises(ValueError, match=f"{name} of its Declared is"):
        deserialize(*_changed({name: value}))


def test_attributes_that_are_missing_are_refused():
    for name in ("weights", "name", "parts"):
        with pytest.raises(ValueError, match=f"{name} of its Declared is missing"):
            deserialize(*_changed({}, [name]))


@pytest.mark.parametrize(
    ("bend", "words"),
    [
        (lambda a: a[:-1], "has shape"),
        (lambda a: a[None], "has shape"),
        (lambda a: a.astype(int), "has dtype"),
        (lambda a: a.astype(str), "has dtype"),
        (lambda a: a * np.nan, "has finite False, not True"),
        (lambda a: a + np.inf, "has finite False, not True"),
    ],
)
def test_arrays_that_are_not_as_described_are_refused(bend, words):
    tree, arrays = _changed({})
    with pytest.raises(ValueError, match=words):
        deserialize(tree, {key: bend(one) for key, one in arrays.items()})


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"names_in_": 7}, "names_in_ of its Bare is 7"),
        ({"names_in_": ["a", 2]}, "names_in_ of its Bare"),
        ({"names_in_": ["a", "a"]}, "a name twice"),
        ({"ids_": None}, "ids_ of its Bare is None"),
        ({"classes_": np.zeros(2)}, "a class twice"),
        ({"classes_": np.zeros((2, 2))}, "classes_ of its Bare"),
        ({"names_in_": ["a"], "ids_": np.arange(2), "_observed": np.ones((1, 1), bool)}, "_observed"),
        ({"names_in_": ["a"], "ids_": np.arange(2), "_observed": np.zeros((2, 1), bool)}, "_observed"),
    ],
)
def test_names_ids_and_classes_that_cannot_be_are_refused(state, words):
    one = Bare()
    vars(one).update(state)
    kept_state = serialize(one)
    with pytest.raises(ValueError, match=words):
        deserialize(kept_state.tree, kept_state.arrays)


@serializable
class Bare:
    """Nothing is declared."""
