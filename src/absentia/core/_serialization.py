"""Objects as plain data and back: numbers, texts, lists and arrays, never code.

:func:`packed` turns an object into a tree that JSON can hold and arrays that it refers to; :func:`unpacked`
turns them into the object again.  Which classes may take part is a closed list: those marked :func:`kept`,
and some of scikit-learn's (``_foreign``), by name.  Nothing that a file says is imported or called.
Attributes that are computed on demand (``cached_property``) are left out and computed again; functions
cannot be kept, and a ``callback`` is left behind.  Dates, and ids of several types, stay what they are.
"""

import datetime
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from inspect import getattr_static
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse

from absentia.core._foreign import FOREIGN, foreign_object, foreign_state, is_foreign
from absentia.core.linalg import Array

Class = TypeVar("Class", bound=type)

#: The key that says what a dict of the tree stands for, if not for itself.
KIND = "is"
#: What scikit-learn's callbacks leave on an estimator; no part of what it is.
TRACES = ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")
#: How deep objects may lie inside one another.
DEEPEST = 50

_CLASSES: dict[str, type] = {}
_PLAIN = (str, bool, int, type(None))
_ATTRIBUTES = (cached_property, property, classmethod, staticmethod, type(lambda: 0))  # not data's names


def kept(cls: Class) -> Class:
    """Mark a class whose objects may be kept in files: what they are is what their attributes say."""
    name = _name(cls)
    if _CLASSES.get(name, cls).__module__ != cls.__module__:
        raise TypeError(f"two classes cannot both be kept as {name}")
    _CLASSES[name] = cls
    own: Any = cls
    if own.__getstate__ is object.__getstate__ and not issubclass(cls, tuple):
        own.__getstate__ = lean  # so that pickles, copies and files of skops hold no functions either
    return cls


def _name(cls: type) -> str:
    """What a class is called in files: its room and its own name, or all of somebody else's."""
    package, *rooms = cls.__module__.split(".")
    if package != "absentia":
        return f"{cls.__module__}.{cls.__qualname__}"
    room = next((part for part in reversed(rooms) if not part.startswith("_")), package)
    return f"{room}.{cls.__name__}"


def lean(value: Any) -> dict[str, Any]:
    """Attributes of an object without those that it computes on demand, or that watchers left on it."""
    cls = type(value)
    return {
        key: one
        for key, one in vars(value).items()
        if key not in TRACES and not isinstance(getattr_static(cls, key, None), cached_property)
    }


def kept_types() -> list[str]:
    """Full names of all classes of the package that are marked so far."""
    ours = [cls for cls in _CLASSES.values() if cls.__module__.split(".")[0] == "absentia"]
    return sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in ours)


@kept
class Pairs(NamedTuple):
    """A dict whose keys are not texts or numbers, for formats that have no others."""

    keys: list[Any]
    values: list[Any]


@dataclass
class Packed:
    """A tree for JSON, and the arrays that it refers to by number."""

    tree: Any = None
    arrays: dict[str, Array] = field(default_factory=dict)

    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every object that has attributes: what it is, and these, none of them made; outer ones first."""
        waiting = [self.tree]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                if isinstance(one.get(KIND), str) and isinstance(one.get("state"), dict):
                    yield one[KIND], one["state"]
                one = list(one.values())
            if isinstance(one, list):
                waiting.extend(reversed(one))

    def foreign(self) -> list[str]:
        """Names of the estimators of scikit-learn."""
        return sorted({name for name, _ in self.parts() if name in FOREIGN})


def packed(value: Any, what: str = "model") -> Packed:
    """`value` as plain data; `what` is its name in errors."""
    result = Packed()
    result.tree = _packed(value, what, result.arrays)
    return result


def unpacked(tree: Any, arrays: Mapping[str, Array], objects: bool = True) -> Any:
    """What was packed; an error says what is wrong with a tree that cannot have been.

    Without `objects`, only what is data of Python and NumPy.
    """
    return _Reader(arrays, objects).read(tree, 0)


def altered(one: Any, **changes: Any) -> Any:
    """A copy of an object with some attributes changed."""
    cls: Any = type(one)
    other = cls.__new__(cls)
    other.__dict__.update(one.__dict__, **changes)
    return other


# ------------------------------------------------------------------------------------------------ out


def _packed(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    if isinstance(value, np.generic):
        value = _of_numpy(value)
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {KIND: "float", "text": repr(value)}
    if isinstance(value, np.ndarray):
        return _packed_array(value, what, arrays)
    if scipy.sparse.issparse(value):
        return _packed_sparse(value, what, arrays)
    if isinstance(value, np.dtype):
        return {KIND: "dtype", "text": value.str}
    if isinstance(value, datetime.date | np.datetime64 | np.timedelta64):
        return _packed_date(value, what, arrays)
    if type(value) is list:
        return _items(value, what, arrays)
    if type(value) is tuple:
        return {KIND: "tuple", "items": _items(value, what, arrays)}
    if type(value) is dict:
        if KIND not in value and all(type(key) is str for key in value):
            return {key: _packed(one, f"{what}.{key}", arrays) for key, one in value.items()}
        return {KIND: "dict", "items": _items([x for pair in value.items() for x in pair], what, arrays)}
    return _packed_object(value, what, arrays)


def _of_numpy(value: Any) -> Any:
    """Numbers and texts of NumPy as Python's; dates have units, which Python's have not."""
    return value.item() if value.dtype.kind in "biufSU" else value


def _items(values: Any, what: str, arrays: dict[str, Array]) -> list[Any]:
    return [_packed(one, f"{what}[{i}]", arrays) for i, one in enumerate(values)]


def _packed_array(value: Array, what: str, arrays: dict[str, Array]) -> Any:
    if value.dtype == object:
        tree = {KIND: "objects", "shape": list(value.shape)}
        return tree | {"items": _items(value.ravel().tolist(), what, arrays)}
    if value.dtype.kind not in "biufSUmM" or isinstance(value, np.ma.MaskedArray):
        kind = "a mask" if isinstance(value, np.ma.MaskedArray) else str(value.dtype)
        raise TypeError(f"{what} holds {kind}, which cannot be kept in a file")
    known = next((key for key, one in arrays.items() if one is value), None)
    key = str(len(arrays)) if known is None else known
    arrays[key] = value
    return {KIND: "array", "number": key, **_header(value)}


def _header(value: Array) -> dict[str, Any]:
    """What is said of an array beside it, and has to be so when it is read."""
    finite = value.dtype.kind != "f" or bool(np.isfinite(value).all())
    return {"dtype": value.dtype.str, "shape": list(value.shape), "finite": finite}


def _packed_sparse(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    rows = value.tocsr()
    tree = {KIND: "sparse", "shape": list(value.shape), "matrix": isinstance(value, scipy.sparse.spmatrix)}
    return tree | {"parts": _items([rows.data, rows.indices, rows.indptr], what, arrays)}


def _packed_date(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    if isinstance(value, np.generic):
        return {KIND: "scalar", "of": _packed_array(np.array(value), what, arrays)}
    name = type(value).__name__
    if name not in _DATES:
        raise TypeError(f"{what} is a {name}, which cannot be kept in a file")
    return {KIND: name, "text": value.isoformat()}


def _packed_object(value: Any, what: str, arrays: dict[str, Array]) -> Any:
    cls = type(value)
    foreign = is_foreign(cls)
    name = cls.__name__ if foreign else _name(cls)
    if not foreign and _CLASSES.get(name) is not cls:
        raise TypeError(
            f"{what} is a {cls.__module__}.{cls.__qualname__}, which cannot be kept in a file: "
            f"{_advice(value)}"
        )
    if isinstance(value, tuple):
        return {KIND: name, "items": _items(value, what, arrays)}
    state = foreign_state(value) if foreign else lean(value)
    if callable(state.get("callback")):
        state["callback"] = None
    return {KIND: name, "state": {k: _packed(one, f"{what}.{k}", arrays) for k, one in state.items()}}


def _advice(value: Any) -> str:
    """What to do about an object that is none of ours."""
    package = type(value).__module__.split(".")[0]
    if hasattr(value, "best_estimator_"):
        return "save its best_estimator_, which is what predicts"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return "give a whole number as random_state, and fit again"
    if package == "sklearn" and hasattr(value, "get_params"):
        return f"of scikit-learn's estimators these can: {', '.join(FOREIGN)}"
    return "only data can, no code"


# ------------------------------------------------------------------------------------------------- in


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

    def read(self, tree: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("its parts are nested too deeply")
        if isinstance(tree, list):
            return [self.read(one, depth + 1) for one in tree]
        if not isinstance(tree, dict):
            return tree
        if KIND not in tree:
            return {key: self.read(one, depth + 1) for key, one in tree.items()}
        return self.of_kind(tree, depth + 1)

    def of_kind(self, tree: dict[str, Any], depth: int) -> Any:
        kind = tree[KIND]
        if not isinstance(kind, str):
            raise ValueError(f"it holds a {kind!r}, which is no class")
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf}.get(tree["text"], math.nan)
        if kind == "array":
            return self.array(tree)
        if kind == "scalar":
            return self.array(tree["of"])[()]
        if kind == "dtype":
            return np.dtype({"<f4": "<f4"}.get(tree["text"], "<f8"))
        if kind in _DATES:
            return _DATES[kind](str(tree["text"]))
        if kind not in ("sparse", "tuple", "dict", "objects"):
            return self.object(kind, tree, depth)
        items = self.read(tree["parts" if kind == "sparse" else "items"], depth)
        if kind == "tuple":
            return tuple(items)
        if kind == "dict":
            return dict(zip(items[::2], items[1::2], strict=True))
        shape = tuple(int(n) for n in tree["shape"])
        return _sparse(items, shape, tree) if kind == "sparse" else _objects(items, shape)

    def array(self, tree: dict[str, Any]) -> Array:
        if tree.get("number") not in self.arrays:
            raise ValueError(f"its array {tree.get('number')!r} is missing")
        found = self.arrays[tree["number"]]
        for key, value in _header(found).items():
            if tree.get(key, value) != value:
                raise ValueError(f"its array {tree['number']!r} has {key} {value}, not {tree[key]!r:.40}")
        return found

    def object(self, name: str, tree: dict[str, Any], depth: int) -> Any:
        if not self.objects or (name not in FOREIGN and name not in _CLASSES):
            raise ValueError(
                f"it holds a {name!r}, which is unknown here: a newer version wrote it, or the module that "
                "defines it has to be imported first"
            )
        cls = _CLASSES.get(name)
        if cls is not None and issubclass(cls, tuple):
            return _checked(cls, cls(*self.read(tree["items"], depth)))
        state = self.read(tree.get("state"), depth)
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise ValueError(f"its {name} has no attributes")
        return foreign_object(name, state) if cls is None else _own_object(cls, state)


def _own_object(cls: Any, state: dict[str, Any]) -> Any:
    for key in state:
        if isinstance(getattr_static(cls, key, None), _ATTRIBUTES):
            raise ValueError(f"its {cls.__name__} has {key!r} among its attributes, which is not one")
    value = cls.__new__(cls)
    if hasattr(cls, "__setstate__"):
        value.__setstate__(state)
    else:
        value.__dict__.update(state)
    return _checked(cls, value)


def _checked(cls: Any, value: Any) -> Any:
    """An object whose declared attributes are there and of the declared types."""
    for name, hint in _declared(cls).items():
        one = getattr(value, name, cls)
        if one is cls or not _is_of(one, hint):
            came = "is missing" if one is cls else f"is {one!r:.40}, a {type(one).__name__}"
            raise ValueError(f"{name} of its {cls.__name__} {came}")
    _check_fitted(vars(value) if hasattr(value, "__dict__") else {}, cls.__name__)
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
    for key, one in (("ids_", ids), ("classes_", classes)):
        if key in state and not (isinstance(one, np.ndarray) and one.ndim == 1 and len(one)):
            raise ValueError(f"{key} of its {of} is {one!r:.40}; a list of them is wanted")
    if classes is not None and len(set(classes.tolist())) < len(classes):
        raise ValueError(f"classes_ of its {of} has a class twice")
    seen = state.get("_observed")
    if not isinstance(seen, np.ndarray) or names is None or ids is None:
        return
    if seen.dtype != bool or seen.shape != (len(ids), len(names)) or not seen.any():
        raise ValueError(f"_observed of its {of} does not say which of the ids have which of the names")


@cache
def _declared(cls: Any) -> dict[str, Any]:
    """Types of the attributes that a class declares: those of a tuple, a dataclass, or a method."""
    names = [one.name for one in fields(cls)] if is_dataclass(cls) else getattr(cls, "_fields", ())
    try:
        hints = get_type_hints(cls, include_extras=False)
    except NameError:  # of what only type checkers see
        return {}
    return {name: hints.get(name, Any) for name in names if name != "_"}


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as that can be told."""
    kind, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind is Union or kind is types.UnionType:
        return any(_is_of(value, one) for one in inside)
    if kind is Literal:
        return any(type(value) is type(one) and value == one for one in inside)
    if kind in (list, tuple, Sequence) and isinstance(value, list | tuple):
        each = inside[0] if inside and (kind is not tuple or inside[1:] == (...,)) else Any
        return all(_is_of(one, each) for one in value)
    if kind in (dict, Mapping) and isinstance(value, dict):
        return all(_is_of(one, inside[1] if inside else Any) for one in value.values())
    if hint is float:
        return isinstance(value, float | int)
    if hint is int and isinstance(value, bool):
        return False
    wanted = kind or (type(None) if hint is None else hint)
    return (
        not isinstance(wanted, type) or getattr(wanted, "_is_protocol", False) or isinstance(value, wanted)
    )


def _sparse(items: Any, shape: tuple[int, ...], tree: dict[str, Any]) -> Any:
    fits = len(items) == 3 and all(isinstance(one, np.ndarray) and one.ndim == 1 for one in items)
    if not fits or not all(one.dtype.kind == "i" for one in items[1:]):
        raise ValueError("its sparse matrix is not made of three arrays, two of them whole numbers")
    made = (scipy.sparse.csr_matrix if tree.get("matrix") else scipy.sparse.csr_array)(
        tuple(items), shape=shape
    )
    made.check_format(full_check=True)  # compiled code goes where the indices say
    return made


def _objects(items: Any, shape: tuple[int, ...]) -> Array:
    if len(items) != math.prod(shape):
        raise ValueError(f"it holds {len(items)} values for an array of shape {shape}")
    found = np.empty(len(items), dtype=object)
    for i, one in enumerate(items):  # one by one: NumPy would look into tuples
        found[i] = one
    return found.reshape(shape)
