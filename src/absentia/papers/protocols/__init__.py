"""How a trial of each paper's experiments is done: data, mask, method, score.

A protocol has ``perform(key)``, which gives ``scores`` (measure -> part -> number; the part is empty where
there is one number) and whatever statistics need beside them.  A key has the design's factors, ``method``
and ``parameters``, ``repeat`` and ``seed``, and the declared versions of what its answer comes from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import absentia
from absentia.experiment.engine import declared_versions
from absentia.methods.base import check_name


@dataclass(frozen=True)
class Protocol:
    """How the trials of some experiments are done.

    Attributes
    ----------
    perform : callable
        Takes the key of a trial and gives its result.
    version : int
        To be raised when it gives other numbers than before for the same key.
    methods : mapping of str to tuple of str
        Methods that are words of the protocol's own, and the classes that their answers come from.
    files : mapping of str to tuple of str
        Files that trials on a data set read, where these are not all files of the experiment.
    """

    perform: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    version: int = 1
    methods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


#: Name in experiments; the module beside this one, and the protocol in it.
_PROTOCOLS = {
    "amkl": ("_amkl", "AMKL_PROTOCOL"),
    "cvkt": ("_cvkt", "CVKT_PROTOCOL"),
    "mkmc": ("_mkmc", "MKMC_PROTOCOL"),
    "pma-labels": ("_pma", "PMA_LABELS"),
    "pma-matrices": ("_pma", "PMA_MATRICES"),
    "pma-rows": ("_pma", "PMA_ROWS"),
}


def find_protocol(name: str) -> Protocol:
    """The protocol of that name; its module is imported when it is first asked for."""
    check_name("protocol", name, _PROTOCOLS)
    module, constant = _PROTOCOLS[name]
    protocol: Protocol = getattr(import_module(f"{__name__}.{module}"), constant)
    return protocol


def perform_trial(key: Mapping[str, Any]) -> dict[str, Any]:
    """What comes of a trial."""
    return dict(find_protocol(key["protocol"]).perform(key))


def _find_class(name: str) -> Any:
    """A class among the methods of absentia, and nothing else."""
    found = getattr(absentia, name) if name in absentia.__all__ else None
    if not isinstance(found, type) or not found.__module__.startswith("absentia.methods."):
        raise ValueError(f"{name!r} is no method of absentia")
    return found


def make_method(name: str, parameters: Mapping[str, Any], seed: int = 0) -> Any:
    """An unfitted estimator of absentia, seeded if it takes a seed.

    Examples
    --------
    >>> make_method("MeanFill", {})
    MeanFill()
    """
    estimator = _find_class(name)(**parameters)
    takes_seed = "random_state" in estimator.get_params() and "random_state" not in parameters
    return estimator.set_params(random_state=seed) if takes_seed else estimator


def version_of(protocol_name: str, method: str) -> str:
    """Declared versions of the classes that a method's answers come from, and of the protocol.

    Examples
    --------
    >>> version_of("amkl", "MF-MKL")
    'MeanFill 1, MKLClassifier 1, protocol 1'
    """
    protocol = find_protocol(protocol_name)
    classes = [_find_class(name) for name in protocol.methods.get(method, (method,))]
    return declared_versions(*classes, protocol=protocol.version)
