"""Which version of a method this is: a hash of the source that it is made of, and of no other.

From the module of the method's class on, imports are followed, by reading, through core, data, kernels,
datasets and methods.  A name that a package hands on leads to the module that it comes from, so that a
change to one method leaves the fingerprints of others as they are.  Methods that are found by name in the
catalogue while another runs (``completer="cvkt"``) are named by the caller.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2]
ROOMS = ("core", "data", "kernels", "datasets", "methods")
#: Found by name, never by import: all methods would hang together through it.
NOT_FOLLOWED = ("methods.catalogue", "methods.models")


@cache
def fingerprint(*modules: str) -> str:
    """Of modules of absentia (``"methods.completion._fill"``) and all that they import.

    Examples
    --------
    >>> fingerprint("methods.completion._fill") == fingerprint("methods.completion._svt")
    False
    """
    found = hashlib.sha256()
    for module in sorted(closure(modules)):
        found.update(module.encode())
        found.update(_text(module))
    return found.hexdigest()[:16]


def closure(modules: Iterable[str]) -> set[str]:
    """These modules and those of the same rooms that they import, directly or not."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += _imported(module)
    return seen


@cache
def _imported(module: str) -> tuple[str, ...]:
    found = []
    for package, name in _names(module):
        home = _home(package, name)
        if home and home.split(".")[0] in ROOMS and home not in NOT_FOLLOWED:
            found.append(home)
    return tuple(dict.fromkeys(found))


@cache
def _names(module: str) -> tuple[tuple[str, str], ...]:
    """Package and name of everything that a module imports from absentia, wherever in the file."""
    return tuple(_of_tree(ast.parse(_text(module))))


def _of_tree(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "absentia":
            package = (node.module or "").partition(".")[2]
            yield from ((package, alias.name) for alias in node.names)


def _home(package: str, name: str) -> str | None:
    """The module that a name comes from, through the fronts of packages; None if it is none of ours."""
    below = f"{package}.{name}" if package else name
    if _exists(below):
        return below
    if not _exists(package):
        return None
    if _file(package).name != "__init__.py":
        return package
    for source, handed in _names(package):
        if handed == name:
            return _home(source, name)
    return package  # defined in the front itself


def _exists(module: str) -> bool:
    return module in _modules()


@cache
def _modules() -> frozenset[str]:
    """All that there are, spelt as they are: some file systems take ``MKMC`` for ``mkmc``."""
    places = (path.relative_to(SOURCE).with_suffix("").parts for path in SOURCE.rglob("*.py"))
    return frozenset(".".join(place[:-1] if place[-1] == "__init__" else place) for place in places) - {""}


def _file(module: str) -> Path:
    place = SOURCE.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _text(module: str) -> bytes:
    """Its source, with line ends that are the same on all systems."""
    return _file(module).read_bytes().replace(b"\r\n", b"\n")
