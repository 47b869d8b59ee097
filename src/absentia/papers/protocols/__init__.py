"""How a trial of each paper's experiments is done: data, mask, method, score.

A protocol is a module with ``perform(key)``, which gives ``scores`` (measure -> part -> number; the part is
empty where there is one number) and whatever statistics need beside them.  A key has the design's factors,
``method`` and ``parameters``, ``repeat`` and ``seed``.  ``MODULES`` names, for methods that are words of
the protocol's own, the modules that their answers hang on.
"""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from absentia.core import check_name

#: Name in experiments, and the module beside this one.
PROTOCOLS = {
    "amkl": "_amkl",
    "cvkt": "_cvkt",
    "mkmc": "_mkmc",
    "pma-labels": "_pma_labels",
    "pma-matrices": "_pma_matrices",
    "pma-rows": "_pma_rows",
}


def protocol(name: str) -> ModuleType:
    """The module of a protocol."""
    check_name("protocol", name, PROTOCOLS)
    return import_module(f"{__name__}.{PROTOCOLS[name]}")


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """What comes of a trial."""
    return dict(protocol(key["protocol"]).perform(key))
