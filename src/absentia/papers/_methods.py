"""Methods by the names of their classes, and which version of them this is."""

from collections.abc import Mapping
from typing import Any

import absentia
from absentia.core import check_name
from absentia.experiment.engine import fingerprint
from absentia.papers.protocols import PROTOCOLS, protocol


def make(name: str, parameters: Mapping[str, Any], seed: int = 0) -> Any:
    """An unfitted estimator of absentia, seeded if it takes a seed.

    Examples
    --------
    >>> make("MeanFill", {})
    MeanFill()
    """
    made = class_of(name)(**parameters)
    takes = "random_state" in made.get_params() and "random_state" not in parameters
    return made.set_params(random_state=seed) if takes else made


def class_of(name: str) -> Any:
    """A class among the methods of absentia, and nothing else."""
    found = getattr(absentia, name) if name in absentia.__all__ else None
    if not isinstance(found, type) or not found.__module__.startswith("absentia.methods."):
        raise ValueError(f"{name!r} is no method of absentia")
    return found


def version(protocol_name: str, method: str) -> str:
    """A fingerprint of the source that the answers of a method under a protocol come from."""
    check_name("protocol", protocol_name, PROTOCOLS)
    own: Mapping[str, tuple[str, ...]] = getattr(protocol(protocol_name), "MODULES", {})
    around = f"papers.protocols.{PROTOCOLS[protocol_name]}"
    modules = own[method] if method in own else (class_of(method).__module__.removeprefix("absentia."),)
    return fingerprint(*modules, around)
