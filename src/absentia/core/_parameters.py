"""Parameters declared once: in the signature of a method's ``__init__``.

The annotation says the type and, through :class:`Range`, the bounds; the docstring has the words.  From
these come the checks, with their sentences, and the flags of the command line, with their help.

``random_state`` means the same everywhere; it may be

``None``
    The fixed seed 0: the same call gives the same answer every time.
an integer, or anything else that :func:`numpy.random.default_rng` takes as a seed
    That seed.
:class:`numpy.random.Generator`
    Used as it is, and moved on.
:class:`numpy.random.RandomState`
    Moved on by one draw, which is the seed.

NumPy's global state is never read and never moved.

>>> from absentia import MKMC
>>> get_parameters(MKMC)["prior"].wanted
'a number of 0 or more'
>>> get_parameters(MKMC)["n_components"].flag
'--components'
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


@dataclass(frozen=True)
class Range:
    """Where a number may lie; ``above`` and ``below`` are not reached themselves."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def __contains__(self, number: float) -> bool:
        inside = self.least <= number <= self.most and self.above < number < self.below
        return inside and math.isfinite(number)

    @property
    def words(self) -> str:
        low, high = max(self.least, self.above), min(self.most, self.below)
        if high < math.inf:
            ends = f"above {low:g}" if self.above >= low else f"from {low:g}"
            return f" {ends} and below {high:g}" if self.below <= high else f" {ends} up to {high:g}"
        if low > -math.inf:
            return f" above {low:g}" if self.above >= low else f" of {low:g} or more"
        return ""


PositiveInt = Annotated[int, Range(least=1)]
Positive = Annotated[float, Range(above=0)]
NonNegative = Annotated[float, Range(least=0)]
Fraction = Annotated[float, Range(above=0, most=1)]
RandomState = int | Sequence[int] | np.random.Generator | np.random.RandomState | None

#: Flags that are not named after their parameter.
_FLAGS = {"random_state": "--seed", "C": "--C"}
#: The command line shows progress in its own way.
_UNSPOKEN = ("verbose",)
_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method: its name, its alternatives, its default, and the words for it."""

    name: str
    kinds: tuple[_Kind, ...]
    default: Any
    words: str

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return _join_words([kind.words for kind in self.kinds])

    @property
    def said(self) -> str:
        """What it may be as a text."""
        return _join_words([kind.said for kind in self.kinds if kind.parse is not None])

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return _FLAGS.get(self.name, "--" + self.name.removeprefix("n_").replace("_", "-"))

    @property
    def spoken(self) -> bool:
        """Whether it can be given as a text."""
        return self.name not in _UNSPOKEN and any(
            kind.parse is not None for kind in self.kinds if kind.words != "None"
        )

    def check(self, value: Any, of: str) -> None:
        """Raise unless `value` is one of the alternatives; `of` is the method's name."""
        if not any(kind.holds(value) for kind in self.kinds):
            raise ValueError(f"{of}: {self.name} must be {self.wanted}, not {value!r}")

    def parse(self, text: str) -> Any:
        """The value that `text` stands for; an error that says what it may be if it stands for none."""
        for kind in self.kinds:
            with suppress(ValueError, KeyError):  # not of this kind
                if kind.parse is not None and kind.holds(value := kind.parse(text)):
                    return value
        raise ValueError(f"{self.flag} is {self.said}, not {text!r}")


@dataclass(frozen=True)
class _Kind:
    """One alternative: words for it, whether a value is of it, how to read one from a text, if at all.

    `parse` raises a ValueError or KeyError for a text that stands for no such value.
    """

    words: str
    holds: Callable[[Any], bool]
    parse: Callable[[str], Any] | None = None

    @property
    def said(self) -> str:
        return self.words.replace("'", "").replace("None", "none").replace("True or False", "yes or no")


def list_some(words: Iterable[str], most: int) -> str:
    """The first of many words, and how many more there are."""
    words = list(words)
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise unless `name` is one of the known ones; say which of them it may have meant."""
    names = list(known)
    if name in names:
        return
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise ValueError(f"no {what} {name!r}; {meant}choose one of {', '.join(names)}")


def get_parameters(method: Any) -> dict[str, Parameter]:
    """The parameters of a class, in the order of its signature."""
    return _parameters(method if isinstance(method, type) else type(method))


@cache
def _parameters(cls: type) -> dict[str, Parameter]:
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    hints, words = _hints(cls), _parameter_docs(cls)
    return {
        name: Parameter(name, _kinds(hints.get(name, Any)), given.default, words.get(name, ""))
        for name, given in signature.parameters.items()
        if name != "self" and given.kind not in (given.VAR_KEYWORD, given.VAR_POSITIONAL)
    }


def make_generator(random_state: RandomState = None) -> np.random.Generator:
    """The generator that `random_state` stands for; see the module's docstring."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(0 if random_state is None else random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, a whole number from 0 on, or NumPy's Generator or RandomState, "
            f"not {random_state!r}"
        ) from None


# ------------------------------------------------------------------------------------------ from hints


def _hints(cls: type) -> dict[str, Any]:
    """Types of the parameters; those of a dataclass's fields as the class means them that has the field."""
    if not is_dataclass(cls):
        return get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for field in fields(base) if is_dataclass(base) else ():
            if field.name in inspect.get_annotations(base):
                text, space = field.type, vars(sys.modules[base.__module__])
                hints[field.name] = eval(text, space) if isinstance(text, str) else text
    return hints


def _kinds(hint: Any, bounds: Range | None = None) -> tuple[_Kind, ...]:
    bounds = Range() if bounds is None else bounds
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *notes = get_args(hint)
        return _kinds(inner, next((n for n in notes if isinstance(n, Range)), None))
    if origin in (Union, types.UnionType):
        return tuple(kind for part in get_args(hint) for kind in _kinds(part))
    if origin is Literal:
        return tuple(_literal_kind(word) for word in get_args(hint))
    if hint is type(None):
        return (_Kind("None", lambda x: x is None, lambda text: {"none": None}[text.lower()]),)
    if hint is bool:
        return (
            _Kind(
                "True or False",
                lambda x: isinstance(x, bool | np.bool_),
                lambda text: _TRUTHS[text.lower()],
            ),
        )
    if hint in (int, float):
        words, number = ("a whole number", Integral) if hint is int else ("a number", Real)
        return (_Kind(words + bounds.words, lambda x: _is_number(x, number) and x in bounds, hint),)
    if hint is str:
        return (_Kind("a text", lambda x: isinstance(x, str), str),)
    if hint is not Any and isinstance(origin or hint, type):
        kind = origin or hint
        return (_Kind(f"a {kind.__name__}", lambda x: isinstance(x, kind)),)
    return (_Kind("anything", lambda x: True),)


def _literal_kind(word: Any) -> _Kind:
    def holds(value: Any) -> bool:
        return type(value) is type(word) and bool(value == word)

    return _Kind(repr(word), holds, lambda text: {str(word): word}[text])


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def _join_words(words: list[str]) -> str:
    distinct = list(dict.fromkeys(words))
    *first, last = distinct or ["anything"]
    return f"{', '.join(first)} or {last}" if first else last


# -------------------------------------------------------------------------------------- from docstrings

_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: : .*)?$")
_SEE = re.compile(r"As in :class:`(\w+)`")


def _parameter_docs(cls: type) -> dict[str, str]:
    """The words for each parameter: those of the class's docstring, or of the class it refers to."""
    words: dict[str, str] = {}
    names: list[str] = []
    for line in _section(cls):
        entry = None if line.startswith(" ") else _ENTRY.match(line)
        if entry:
            names = entry["names"].split(", ")
            words |= dict.fromkeys(names, "")
        else:
            for name in names:
                words[name] = f"{words[name]} {line.strip()}".strip()
    for name, text in words.items():
        reference = _SEE.match(text)
        if reference:
            words[name] = _parameter_docs(_find_class(reference[1], cls)).get(name, text)
    return words


def _find_class(name: str, cls: type) -> type:
    """The class of that name beside `cls`, or among the public ones."""
    beside = getattr(sys.modules[cls.__module__], name, None)
    return beside if isinstance(beside, type) else getattr(import_module("absentia"), name)


def _section(cls: type) -> list[str]:
    """The lines of "Parameters" in a class's docstring."""
    lines = inspect.cleandoc(cls.__doc__ or "").splitlines()
    if "Parameters" not in lines:
        return []
    start = lines.index("Parameters") + 2
    ends = [i for i in range(start, len(lines) - 1) if lines[i + 1].startswith("---")]
    return [line for line in lines[start : ends[0] if ends else None] if line.strip()]
