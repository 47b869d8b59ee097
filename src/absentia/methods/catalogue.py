"""Methods by name: every completer and classifier says by which names it is offered (``recipes``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import absentia
from absentia.core import check_name
from absentia.methods.base import Completer, Recipe

FLAGS = {"n_components": "--components", "C": "--C"}

#: What completes one matrix with missing entries, instead of the kernels of several views.
MATRIX = {"pma": Recipe({}, "one matrix (CSV, or X in .npz) with missing entries; rows alike, columns too")}


def recipes(kind: Any = Completer) -> dict[str, tuple[Any, Recipe]]:
    """All classes derived from `kind` that are offered by name, and how."""
    for name in absentia.__all__:
        getattr(absentia, name)  # names load when used; only what is loaded is found below
    offered: dict[str, tuple[Any, Recipe]] = {}
    for method in _subclasses(kind):
        offered |= {name: (method, recipe) for name, recipe in method.recipes.items()}
    return offered


def _subclasses(cls: Any) -> Iterator[Any]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


def make(kind: Any, method: str, **options: Any) -> Any:
    """The method of that name with the options that were given; refuse those it does not have."""
    offered = recipes(kind)
    if method not in offered:
        check_name("method", method, [*offered, *(MATRIX if kind is Completer else ())])
    cls, recipe = offered[method]
    given = {name: value for name, value in options.items() if value is not None}
    taken = set(cls._get_param_names()) - set(recipe.without)
    unknown = [name for name in given if name not in taken]
    if unknown:
        flag = FLAGS.get(unknown[0], "--" + unknown[0].replace("_", "-"))
        raise ValueError(f"{flag} does not apply to method {method!r}")
    return cls(**recipe.parameters, **given)
