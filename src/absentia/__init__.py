"""Data in several views, whole views absent: complete the kernels, or learn without them.

Names are loaded when first used, so that ``import absentia`` costs nothing.  Which there are, and where
they live, stands in one place: the stub beside this file, which type checkers read too.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

#: The whole public API: each name, the package it comes from, and its name there.
_HOME = {
    alias.asname: (node.module, alias.name)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(name for name in _HOME if name)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"absentia has no {name!r}; it has {', '.join(__all__)}")
    package, own = _HOME[name]
    home = import_module(str(package))
    value = vars(home)[own] if own in vars(home) else import_module(f"{package}.{own}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
