"""Data in several views, whole views absent: complete the kernels, or learn without them.

Names are loaded when first used, so that ``import absentia`` costs nothing.  Which there are, and where
they live, stands in one place: the stub beside this file, which type checkers read too.
"""

import ast
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
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


class _PublicModules:
    """Finds public modules by their public names, for ``from absentia.statistics import holm``."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        module = __getattr__(name) if package == __name__ and name in _HOME else None
        known = isinstance(module, ModuleType)
        return ModuleSpec(fullname, self, loader_state=module.__spec__) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = __getattr__(spec.name.rpartition(".")[2])
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # its own: importing has set that of the public name


sys.meta_path.append(_PublicModules())
