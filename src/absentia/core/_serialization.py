"""Objects as plain data and back: numbers, texts, lists and arrays, never code.

:func:`serialize` turns an object into a tree that JSON can hold and arrays that it refers to;
:func:`deserialize` turns them into the object again.  Which classes may take part is a closed list: those
marked :func:`serializable`, and some of scikit-learn's (``_sklearn_estimators``), by name.  Nothing that a
file says is imported or called.  Attributes that are computed on demand (``cached_property``) are left out
and computed again; functions cannot be serialized, and a ``callback`` is left behind.  Dates, and ids of
several types, stay what they are.  Arrays with the same values, or the same rows in another order, are
stored once, and of symmetric ones one half.

A class may declare the shapes of its arrays, ``_shapes = {"coef": "kp", "offset": "k"}``: letters are
sizes, the same for the same letter, and ``|`` separates alternatives.  Arrays so declared are finite
numbers.  Texts lie only in attributes that are called as names are (``ids_``, ``classes_``).  What is not
so is refused when it is read.
"""

import datetime
import hashlib
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from inspect import getattr_static
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse

from absentia.core._sklearn_estimators import (
    SKLEARN_CLASSES,
    build_sklearn,
    check_shapes,
    is_sklearn,
    sklearn_state,
)
from absentia.core.linalg import Array

_Class = TypeVar("_Class", bound=type)

#: The key that says what a dict of the tree stands for, if not for itself.
_KIND = "is"
_MAX_DEPTH = 50  # of objects inside one another
_CLASSES: dict[str, type] = {}
_CODE = (cached_property, property, classmethod, staticmethod, type(lambda: 0))  # no names of data
_TEXT_ATTRIBUTES = re.compile(r"(.*_)?(ids|classes|columns|names|features|levels|labels|y)(_in)?_?")


def serializable(cls: _Class) -> _Class:
    """Mark a class whose objects may be stored in files: what they are is what their attributes say."""
    name = _class_name(cls)
    if _CLASSES.get(name, cls).__module__ != cls.__module__:
        raise TypeError(f"two classes cannot both be serialized as {name}")
    _CLASSES[name] = cls
    marked: Any = cls
    if marked.__getstate__ is object.__getstate__ and not issubclass(cls, tuple):
        marked.__getstate__ = plain_state  # so that pickles and copies hold no functions
    return cls


def _class_name(cls: type) -> str:
    """What a class is called in files: its room and its own name, or all of somebody else's."""
    package, *rooms = cls.__module__.split(".")
    if package != "absentia":
        return f"{cls.__module__}.{cls.__qualname__}"
    room = next((part for part in reversed(rooms) if not part.startswith("_")), package)
    return f"{room}.{cls.__name__}"


def plain_state(value: Any) -> dict[str, Any]:
    """Attributes of an object without those that it computes on demand."""
    cls = type(value)
    return {
        key: attribute
        for key, attribute in vars(value).items()
        if not isinstance(getattr_static(cls, key, None), cached_property)
    }


def copy_with(value: Any, **changes: Any) -> Any:
    """A copy of an object with some attributes changed."""
    cls: Any = type(value)
    copy = cls.__new__(cls)
    copy.__dict__.update(value.__dict__, **changes)
    return copy


@dataclass
class Serialized:
    """A tree for JSON, and the arrays that it refers to by number."""

    tree: Any = None
    arrays: dict[str, Array] = field(default_factory=dict)

    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every object that has attributes: what it is, and these, none of them made; outer ones first."""
        waiting = [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict):
                if isinstance(node.get(_KIND), str) and isinstance(node.get("state"), dict):
                    yield node[_KIND], node["state"]
                node = list(node.values())
            if isinstance(node, list):
                waiting.extend(reversed(node))

    def sklearn_classes(self) -> list[str]:
        """Names of the estimators of scikit-learn."""
        return sorted({name for name, _ in self.parts() if name in SKLEARN_CLASSES})


# --------------------------------------------------------------------------------------------- writing


def serialize(value: Any, what: str = "model") -> Serialized:
    """`value` as plain data; `what` is its name in errors."""
    writer = _Writer({})
    return Serialized(writer.write(value, what), writer.arrays)


@dataclass(frozen=True)
class _Writer:
    """Makes a tree, and gathers the arrays that it refers to, each once."""

    arrays: dict[str, Array]
    trees: dict[int, tuple[Array, Any]] = field(default_factory=dict)  # of arrays, by identity
    stored: dict[Any, tuple[str, Array]] = field(default_factory=dict)  # number and order, by sorted rows
    taken: set[str] = field(default_factory=set)  # trees of arrays, as texts

    def write(self, value: Any, what: str) -> Any:
        if isinstance(value, np.generic) and value.dtype.kind in "biufSU":
            value = value.item()
        if value is None or type(value) in (str, bool, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {_KIND: "float", "text": repr(value)}
        if isinstance(value, np.ndarray):
            return self.write_array(value, what)
        if scipy.sparse.issparse(value):
            rows, matrix = value.tocsr(), isinstance(value, scipy.sparse.spmatrix)
            parts = self.write_items([rows.data, rows.indices, rows.indptr], what)
            return {_KIND: "sparse", "shape": list(value.shape), "matrix": matrix, "parts": parts}
        if isinstance(value, np.dtype):
            return {_KIND: "dtype", "text": value.str}
        if isinstance(value, np.datetime64 | np.timedelta64):
            return {_KIND: "scalar", "of": self.write_array(np.array(value), what)}
        if isinstance(value, datetime.date) and type(value).__name__ in _DATES:
            return {_KIND: type(value).__name__, "text": value.isoformat()}
        if hasattr(value, "columns") and hasattr(value, "to_dict"):  # a table is kept as a dict of its rows
            value = value.to_dict(orient="index")
        if type(value) is list:
            return self.write_items(value, what)
        if type(value) is tuple:
            return {_KIND: "tuple", "items": self.write_items(value, what)}
        if type(value) is dict:
            if _KIND not in value and all(type(key) is str for key in value):
                return {key: self.write(part, f"{what}.{key}") for key, part in value.items()}
            pairs = [x for pair in value.items() for x in pair]
            return {_KIND: "dict", "items": self.write_items(pairs, what)}
        return self.write_object(value, what)

    def write_items(self, values: Sequence[Any], what: str) -> list[Any]:
        return [self.write(item, f"{what}[{i}]") for i, item in enumerate(values)]

    def write_array(self, value: Array, what: str) -> Any:
        if value.dtype == object:
            items = self.write_items(value.ravel().tolist(), what)
            return {_KIND: "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in "biufSUmM" or isinstance(value, np.ma.MaskedArray):
            kind = "a mask" if isinstance(value, np.ma.MaskedArray) else str(value.dtype)
            raise TypeError(f"{what} holds {kind}, which cannot be stored in a file")
        if id(value) not in self.trees:
            packed = _pack_symmetric(value)
            tree = self.store(value if packed is None else packed)
            if packed is not None:
                tree = {_KIND: "symmetric", "shape": list(value.shape), "of": tree}
            if (text := repr(tree)) in self.taken:  # another array, which may be changed alone
                tree |= {"copy": True}
            self.taken.add(text)
            self.trees[id(value)] = value, tree
        return self.trees[id(value)][1]

    def store(self, value: Array) -> dict[str, Any]:
        """What stands for an array: one that is stored, or its rows in another order."""
        key, order = _sort_rows(value)
        if key not in self.stored:
            self.stored[key] = str(len(self.arrays)), order
            self.arrays[self.stored[key][0]] = value
        number, stored_order = self.stored[key]
        tree = {_KIND: "array", **_array_header(value), "number": number}
        if np.array_equal(order, stored_order):
            return tree
        rows = np.empty(len(order), np.min_scalar_type(len(order)))
        rows[order] = stored_order
        return {_KIND: "reordered", "of": tree, "rows": self.store(rows)}

    def write_object(self, value: Any, what: str) -> Any:
        cls = type(value)
        theirs = is_sklearn(cls)
        name = cls.__name__ if theirs else _class_name(cls)
        if not theirs and _CLASSES.get(name) is not cls:
            raise TypeError(
                f"{what} is a {cls.__module__}.{cls.__qualname__}, which cannot be stored in a file: "
                f"{_give_advice(value)}"
            )
        if isinstance(value, tuple):
            return {_KIND: name, "items": self.write_items(value, what)}
        state = sklearn_state(value) if theirs else plain_state(value)
        if callable(state.get("callback")):
            state["callback"] = None
        if not theirs:
            _check_texts(state, what, TypeError)
        tree = {key: self.write(attribute, f"{what}.{key}") for key, attribute in state.items()}
        return {_KIND: name, "state": tree}


def raw_bytes(array: Array) -> memoryview:
    """The bytes of an array, row by row; not a copy of them where they lie so already."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.nbytes else memoryview(b"")


def _sort_rows(array: Array) -> tuple[Any, Array]:
    """What arrays with the same rows have in common, and the rows' positions from the first to the last.

    Of arrays with less than two columns the order is not looked at: there is little to save.
    """
    checksums = [hashlib.sha256(raw_bytes(array)).digest()]
    if array.ndim > 1 and math.prod(array.shape[1:]) > 1:
        checksums = [hashlib.sha256(raw_bytes(row)).digest() for row in array]
    order = sorted(range(len(checksums)), key=checksums.__getitem__)
    whole = hashlib.sha256(b"".join(checksums[row] for row in order)).digest()
    return (array.dtype.str, array.shape, whole), np.array(order)


def _pack_symmetric(array: Array) -> Array | None:
    """The lower half of a symmetric matrix, row by row, with its diagonal; None of any other array."""
    if array.ndim != 2 or not array.shape[0] == array.shape[1] > 1 or array.dtype.kind != "f":
        return None
    transposed = raw_bytes(array.T)  # bytes, so that zeros keep their sign
    return array[np.tri(len(array), dtype=bool)] if raw_bytes(array) == transposed else None


def _unpack_symmetric(packed: Array, shape: Any) -> Array:
    n = math.isqrt(2 * packed.size)
    if packed.shape != (n * (n + 1) // 2,) or shape != [n, n]:
        raise ValueError(
            f"its symmetric matrix of shape {shape} is made of an array of shape {packed.shape}"
        )
    array, lower = np.empty((n, n), packed.dtype), np.tri(n, dtype=bool)
    array[lower] = packed
    array.T[lower] = packed
    return array


def _array_header(value: Array) -> dict[str, Any]:
    """What is said of an array beside it, and has to be so when it is read."""
    finite = value.dtype.kind != "f" or bool(np.isfinite(value).all())
    return {"dtype": value.dtype.str, "shape": list(value.shape), "finite": finite}


def _give_advice(value: Any) -> str:
    """What to do about an object that is none of ours."""
    package = type(value).__module__.split(".")[0]
    if hasattr(value, "best_estimator_"):
        return "save its best_estimator_, which is what predicts"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return "give a whole number as random_state, and fit again"
    if package == "sklearn" and hasattr(value, "get_params"):
        return f"of scikit-learn's estimators these can: {', '.join(SKLEARN_CLASSES)}"
    return "only data can, no code"


# --------------------------------------------------------------------------------------------- reading


def deserialize(tree: Any, arrays: Mapping[str, Array], objects: bool = True) -> Any:
    """What was serialized; an error says what is wrong with a tree that cannot have been.

    Without `objects`, only what is data of Python and NumPy.
    """
    return _Reader(arrays, objects).read(tree, 0)


def _timestamp(text: str) -> Any:
    try:
        from pandas import Timestamp
    except ImportError:
        raise ValueError("it holds dates of pandas; pip install pandas") from None
    return Timestamp(text)


_DATES: dict[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "Timestamp": _timestamp,
}


@dataclass(frozen=True)
class _Reader:
    """What a tree stands for, with the arrays that it refers to."""

    arrays: Mapping[str, Array]
    objects: bool
    unpacked: dict[str, Array] = field(default_factory=dict)  # by what is said of them

    def read(self, tree: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("its parts are nested too deeply")
        if isinstance(tree, list):
            return [self.read(part, depth + 1) for part in tree]
        if not isinstance(tree, dict):
            return tree
        if _KIND not in tree:
            return {key: self.read(part, depth + 1) for key, part in tree.items()}
        return self.read_kind(tree, depth + 1)

    def read_kind(self, tree: dict[str, Any], depth: int) -> Any:
        kind = tree[_KIND]
        if not isinstance(kind, str):
            raise ValueError(f"it holds a {kind!r}, which is no class")
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf}.get(tree["text"], math.nan)
        if kind in ("array", "reordered", "symmetric"):
            return self.read_array(tree)
        if kind == "scalar":
            return self.read_array(tree["of"])[()]
        if kind == "dtype":
            return np.dtype({"<f4": "<f4"}.get(tree["text"], "<f8"))
        if kind in _DATES:
            return _DATES[kind](str(tree["text"]))
        if kind not in ("sparse", "tuple", "dict", "objects"):
            return self.read_object(kind, tree, depth)
        items = self.read(tree["parts" if kind == "sparse" else "items"], depth)
        if kind == "tuple":
            return tuple(items)
        if kind == "dict":
            return dict(zip(items[::2], items[1::2], strict=True))
        shape = tuple(int(n) for n in tree["shape"])
        return _build_sparse(items, shape, tree) if kind == "sparse" else _build_objects(items, shape)

    def read_array(self, tree: dict[str, Any]) -> Array:
        text = repr({key: value for key, value in tree.items() if key != "copy"})
        if text not in self.unpacked:
            self.unpacked[text] = self.unpack(tree)
        return self.unpacked[text].copy() if tree.get("copy") is True else self.unpacked[text]

    def unpack(self, tree: dict[str, Any]) -> Array:
        if tree[_KIND] == "array":
            return self.find_stored(tree)
        if tree[_KIND] == "symmetric":
            return _unpack_symmetric(self.unpack(tree["of"]), tree["shape"])
        array, rows = self.find_stored(tree["of"]), self.find_stored(tree["rows"])
        if rows.dtype.kind != "u" or rows.shape != array.shape[:1]:
            raise ValueError(
                f"it has {len(array)} rows in the order of {rows.shape} numbers ({rows.dtype})"
            )
        return array[rows]

    def find_stored(self, tree: dict[str, Any]) -> Array:
        if tree.get("number") not in self.arrays:
            raise ValueError(f"its array {tree.get('number')!r} is missing")
        array = self.arrays[tree["number"]]
        for key, value in _array_header(array).items():
            if tree.get(key, value) != value:
                raise ValueError(f"its array {tree['number']!r} has {key} {value}, not {tree[key]!r:.40}")
        return array

    def read_object(self, name: str, tree: dict[str, Any], depth: int) -> Any:
        if not self.objects or (name not in SKLEARN_CLASSES and name not in _CLASSES):
            raise ValueError(
                f"it holds a {name!r}, which is unknown here: a newer version wrote it, or the module that "
                "defines it has to be imported first"
            )
        cls = _CLASSES.get(name)
        if cls is not None and issubclass(cls, tuple):
            return _check_object(cls, cls(*self.read(tree["items"], depth)))
        state = self.read(tree.get("state"), depth)
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise ValueError(f"its {name} has no attributes")
        return build_sklearn(name, state) if cls is None else _build_object(cls, state)


def _build_object(cls: Any, state: dict[str, Any]) -> Any:
    for key in state:
        if isinstance(getattr_static(cls, key, None), _CODE):
            raise ValueError(f"its {cls.__name__} has {key!r} among its attributes, which is not one")
    _check_texts(state, f"its {cls.__name__}", ValueError)
    value = cls.__new__(cls)
    if hasattr(cls, "__setstate__"):
        value.__setstate__(state)
    else:
        value.__dict__.update(state)
    return _check_object(cls, value)


def _build_sparse(items: Any, shape: tuple[int, ...], tree: dict[str, Any]) -> Any:
    fits = len(items) == 3 and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in items)
    if not fits or not all(part.dtype.kind == "i" for part in items[1:]):
        raise ValueError("its sparse matrix is not made of three arrays, two of them whole numbers")
    make = scipy.sparse.csr_matrix if tree.get("matrix") else scipy.sparse.csr_array
    matrix = make(tuple(items), shape=shape)
    matrix.check_format(full_check=True)  # compiled code goes where the indices say
    return matrix


def _build_objects(items: Any, shape: tuple[int, ...]) -> Array:
    if len(items) != math.prod(shape):
        raise ValueError(f"it holds {len(items)} values for an array of shape {shape}")
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # one by one: NumPy would look into tuples
        array[i] = item
    return array.reshape(shape)


# ---------------------------------------------------------------------------------------------- checks


def _check_texts(state: Mapping[str, Any], what: str, error: type[Exception]) -> None:
    """Refuse arrays of texts in attributes that are not called as names of something are."""
    for key, value in state.items():
        for array in value if isinstance(value, list | tuple) else [value]:  # dicts may hold ids by view
            texts = isinstance(array, np.ndarray) and array.dtype.kind in "SU"
            if texts and not _TEXT_ATTRIBUTES.fullmatch(key):
                raise error(f"{key} of {what} is an array of texts; numbers are wanted")


def _check_object(cls: Any, value: Any) -> Any:
    """An object whose declared attributes are there, and of the declared types and shapes."""
    for name, hint in _declared_types(cls).items():
        attribute = getattr(value, name, cls)
        if attribute is cls or not _has_type(attribute, hint):
            is_what = f"is {attribute!r:.40}, a {type(attribute).__name__}"
            raise ValueError(
                f"{name} of its {cls.__name__} {'is missing' if attribute is cls else is_what}"
            )
    state = vars(value) if hasattr(value, "__dict__") else {}
    check_shapes(state, getattr(cls, "_shapes", {}), cls.__name__)
    _check_fitted(state, cls.__name__)
    return value


def _check_fitted(state: Mapping[str, Any], of: str) -> None:
    """Refuse names, ids and classes of a fitted estimator that cannot be those of any."""
    names, ids, classes = (state.get(key) for key in ("names_in_", "ids_", "classes_"))
    if "names_in_" in state and not (
        isinstance(names, list | tuple) and all(type(x) is str for x in names)
    ):
        raise ValueError(f"names_in_ of its {of} is {names!r:.40}; names are wanted")
    if names is not None and len(set(names)) < len(names):
        raise ValueError(f"names_in_ of its {of} has a name twice")
    for key, values in (("ids_", ids), ("classes_", classes)):
        if key in state and not (isinstance(values, np.ndarray) and values.ndim == 1 and len(values)):
            raise ValueError(f"{key} of its {of} is {values!r:.40}; a list of them is wanted")
    if classes is not None and len(set(classes.tolist())) < len(classes):
        raise ValueError(f"classes_ of its {of} has a class twice")
    observed = state.get("_observed")
    if not isinstance(observed, np.ndarray) or names is None or ids is None:
        return
    if observed.dtype != bool or observed.shape != (len(ids), len(names)) or not observed.any():
        raise ValueError(f"_observed of its {of} does not say which of the ids have which of the names")


@cache
def _declared_types(cls: Any) -> dict[str, Any]:
    """Types of the attributes that a class declares: those of a tuple, a dataclass, or an estimator."""
    names = [x.name for x in fields(cls)] if is_dataclass(cls) else getattr(cls, "_fields", ())
    try:
        hints = get_type_hints(cls, include_extras=False)
    except NameError:  # of what only type checkers see
        return {}
    return {name: hints.get(name, Any) for name in names if name != "_"}


def _has_type(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as that can be told."""
    kind, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind is Union or kind is types.UnionType:
        return any(_has_type(value, alternative) for alternative in inside)
    if kind is Literal:
        return any(type(value) is type(word) and value == word for word in inside)
    if kind in (list, tuple, Sequence) and isinstance(value, list | tuple):
        each = inside[0] if inside and (kind is not tuple or inside[1:] == (...,)) else Any
        return all(_has_type(item, each) for item in value)
    if kind in (dict, Mapping) and isinstance(value, dict):
        return all(_has_type(item, inside[1] if inside else Any) for item in value.values())
    if hint is float:
        return isinstance(value, float | int)
    if hint is int and isinstance(value, bool):
        return False
    wanted = kind or (type(None) if hint is None else hint)
    if not isinstance(wanted, type) or getattr(wanted, "_is_protocol", False):
        return True
    return isinstance(value, wanted)
