"""Objects as plain data and back: numbers, texts, lists and arrays, never code.

:func:`packed` turns an object into a tree that JSON can hold and arrays that it refers to; :func:`unpacked`
turns them into the object again.  Which classes may take part is a closed list: those marked :func:`kept`,
and some of scikit-learn's, by name.  Nothing that a file says is imported or called.  Attributes that are
computed on demand (``cached_property``) are left out and computed again; functions cannot be kept.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from absentia.core._linalg import Array

Class = TypeVar("Class", bound=type)

#: The key that says what a dict of the tree stands for, if not for itself.
KIND = "is"
#: How deep objects may lie inside one another.
DEEPEST = 50

_CLASSES: dict[str, type] = {}
_FOREIGN = {
    "IsotonicRegression": "sklearn.isotonic",
    "LinearRegression": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "LogisticRegression": "sklearn.linear_model",
    "RBFSampler": "sklearn.kernel_approximation",
    "Ridge": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
}
_PLAIN = (str, bool, int, type(None))


def kept(cls: Class) -> Class:
    """Mark a class whose objects may be kept in files: what they are is what their attributes say."""
    name = _name(cls)
    if _CLASSES.get(name, cls).__module__ != cls.__module__:
        raise TypeError(f"two classes cannot both be kept as {name}")
    _CLASSES[name] = cls
    return cls


def _name(cls: type) -> str:
    """What a class is called in files: its room and its own name, or all of somebody else's."""
    package, *rooms = cls.__module__.split(".")
    if package != "absentia":
        return f"{cls.__module__}.{cls.__qualname__}"
    room = next((part for part in reversed(rooms) if not part.startswith("_")), package)
    return f"{room}.{cls.__name__}"


@dataclass
class Packed:
    """A tree for JSON, and the arrays that it refers to by number."""

    tree: Any = None
    arrays: dict[str, Array] = field(default_factory=dict)


def packed(value: Any, what: str = "model") -> Packed:
    """`value` as plain data; `what` is its name in errors."""
    result = Packed()
    result.tree = _packed(value, what, result.arrays)
    return result


def unpacked(tree: Any, arrays: Mapping[str, Array]) -> Any:
    """What was packed; a :class:`ValueError` says what is wrong with a tree that cannot have been."""
    return _unpacked(tree, arrays, 0)


def altered(one: Any, **changes: Any) -> Any:
    """A copy of an object with some attributes changed."""
    cls: Any = type(one)
    other = cls.__new__(cls)
    other.__dict__.update(one.__dict__, **changes)
    return other


# ------------------------------------------------------------------------------------------------ out


def _packed(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {KIND: "float", "text": repr(value)}
    if isinstance(value, np.ndarray):
        return _packed_array(value, what, arrays)
    if scipy.sparse.issparse(value):
        parts = scipy.sparse.csr_array(value)
        numbers = [parts.data, parts.indices, parts.indptr]
        return {KIND: "sparse", "shape": list(value.shape), "parts": _items(numbers, what, arrays)}
    if isinstance(value, np.dtype):
        return {KIND: "dtype", "text": value.str}
    if type(value) is list:
        return _items(value, what, arrays)
    if type(value) is tuple:
        return {KIND: "tuple", "items": _items(value, what, arrays)}
    if type(value) is dict:
        if KIND not in value and all(type(key) is str for key in value):
            return {key: _packed(one, f"{what}.{key}", arrays) for key, one in value.items()}
        return {KIND: "dict", "items": _items([x for pair in value.items() for x in pair], what, arrays)}
    return _packed_object(value, what, arrays)


def _items(values: Any, what: str, arrays: dict[str, Array]) -> list[Any]:
    return [_packed(one, f"{what}[{i}]", arrays) for i, one in enumerate(values)]


def _packed_array(value: Array, what: str, arrays: dict[str, Array]) -> Any:
    if value.dtype == object:
        tree = {KIND: "objects", "shape": list(value.shape)}
        return tree | {"items": _items(value.ravel().tolist(), what, arrays)}
    if value.dtype.kind not in "biufUmM":
        raise TypeError(f"{what} holds {value.dtype}, which cannot be kept in a file")
    key = str(len(arrays))
    arrays[key] = value
    return {KIND: "array", "number": key}


def _packed_object(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    cls = type(value)
    foreign = cls.__module__.split("._")[0] == _FOREIGN.get(cls.__name__)
    name = cls.__name__ if foreign else _name(cls)
    if not foreign and _CLASSES.get(name) is not cls:
        raise TypeError(
            f"{what} is a {cls.__module__}.{cls.__qualname__}, which cannot be kept in a file: "
            "only data can, no code"
        )
    if isinstance(value, tuple):
        return {KIND: name, "items": _items(value, what, arrays)}
    state = value.__getstate__() if foreign else vars(value)
    inside = {
        key: one for key, one in state.items() if not isinstance(getattr(cls, key, None), cached_property)
    }
    return {KIND: name, "state": {k: _packed(one, f"{what}.{k}", arrays) for k, one in inside.items()}}


# ------------------------------------------------------------------------------------------------- in


def _unpacked(tree: Any, arrays: Mapping[str, Array], depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError("its parts are nested too deeply")
    if isinstance(tree, list):
        return [_unpacked(one, arrays, depth + 1) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if KIND not in tree:
        return {key: _unpacked(one, arrays, depth + 1) for key, one in tree.items()}
    return _of_kind(tree, arrays, depth + 1)


def _of_kind(tree: dict[str, Any], arrays: Mapping[str, Array], depth: int) -> Any:
    kind = tree[KIND]
    if kind == "float":
        return {"inf": math.inf, "-inf": -math.inf}.get(tree["text"], math.nan)
    if kind == "array":
        if tree.get("number") not in arrays:
            raise ValueError(f"its array {tree.get('number')!r} is missing")
        return arrays[tree["number"]]
    if kind == "dtype":
        return np.dtype({"<f4": "<f4"}.get(tree["text"], "<f8"))
    if kind not in ("sparse", "tuple", "dict", "objects"):
        return _object(kind, tree, arrays, depth)
    items = _unpacked(tree["parts" if kind == "sparse" else "items"], arrays, depth)
    if kind == "tuple":
        return tuple(items)
    if kind == "dict":
        return dict(zip(items[::2], items[1::2], strict=True))
    shape = tuple(int(n) for n in tree["shape"])
    if kind == "sparse":
        return scipy.sparse.csr_array(tuple(items), shape=shape)
    found = np.empty(math.prod(shape), dtype=object)
    found[:] = items
    return found.reshape(shape)


def _object(name: Any, tree: dict[str, Any], arrays: Mapping[str, Array], depth: int) -> Any:
    if not isinstance(name, str):
        raise ValueError(f"it holds a {name!r}, which is no class")
    if name in _FOREIGN:
        cls = getattr(import_module(_FOREIGN[name]), name)
    elif name in _CLASSES:
        cls = _CLASSES[name]
    else:
        raise ValueError(
            f"it holds a {name!r}, which is unknown here: a newer version wrote it, or the module that "
            "defines it has to be imported first"
        )
    if issubclass(cls, tuple):
        return cls(*_unpacked(tree["items"], arrays, depth))
    state = _unpacked(tree.get("state"), arrays, depth)
    if not isinstance(state, dict):
        raise ValueError(f"its {name} has no attributes")
    value = cls.__new__(cls)
    if hasattr(cls, "__setstate__"):
        value.__setstate__(state)
    else:
        value.__dict__.update(state)
    return value
