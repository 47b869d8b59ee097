"""How a trial of each paper's experiments is done: data, mask, method, score.

A protocol has ``perform(key)``, which gives ``scores`` (measure -> part -> number; the part is empty where
there is one number) and whatever statistics need beside them.  A key has the design's factors, ``method``
and ``parameters``, ``repeat`` and ``seed``, and the declared versions of what its answer comes from.

:class:`Reproduction` makes trials of an experiment, and runs those that have no record yet.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import absentia
from absentia.datasets import data_folder
from absentia.experiment.engine import Limits, Pool, Record, Records, Run, Trial, declared_versions, run
from absentia.files import FileError
from absentia.methods.base import check_name
from absentia.papers._experiment import Experiment


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


def _find_protocol(name: str) -> Protocol:
    """The protocol of that name; its module is imported when it is first asked for."""
    check_name("protocol", name, _PROTOCOLS)
    module, constant = _PROTOCOLS[name]
    protocol: Protocol = getattr(import_module(f"{__name__}.{module}"), constant)
    return protocol


def perform_trial(key: Mapping[str, Any]) -> dict[str, Any]:
    """What comes of a trial."""
    return dict(_find_protocol(key["protocol"]).perform(key))


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
    protocol = _find_protocol(protocol_name)
    classes = [_find_class(name) for name in protocol.methods.get(method, (method,))]
    return declared_versions(*classes, protocol=protocol.version)


# ---------------------------------------------------------------------------------- an experiment under way

_SEED = 0


class Reproduction:
    """Trials and records of an experiment in a folder, which experiments share.

    Parameters
    ----------
    experiment : Experiment
        In full or reduced.
    folder : path
        Of records; a trial that two experiments have in common is done once.

    Examples
    --------
    >>> from absentia import papers
    >>> experiment = papers.find_experiment("pma-figure2")
    >>> len(papers.Reproduction(experiment, "records").outstanding()) > 100
    True
    """

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.folder = Path(folder)
        self.records = Records(self.folder)

    @cached_property
    def trials(self) -> list[Trial]:
        """In an order in which repeats are finished one after another."""
        return [Trial(key) for key in self._keys()]

    def _keys(self) -> Iterator[dict[str, Any]]:
        experiment = self.experiment
        settings = list(experiment.settings())
        files = [_files_of(experiment, setting) for setting in settings]
        hashes = {names: _hash_files(experiment, names) for names in set(files)}
        for repeat in range(experiment.repeats):
            for setting, names in zip(settings, files, strict=True):
                for column in experiment.columns:
                    if column.runs_in(setting):
                        yield {
                            "protocol": experiment.protocol,
                            **setting,
                            "contents": hashes[names],
                            "repeat": repeat,
                            "method": column.method,
                            "parameters": column.parameters_in(setting),
                            "seed": _SEED,
                            "version": version_of(experiment.protocol, column.method),
                        }

    def outstanding(self, retry: bool = False) -> list[Trial]:
        """Trials without a record, or (`retry`) whose record says that they failed."""
        return self.records.outstanding(self.trials, Limits(), retry)

    def run(
        self,
        trials: Sequence[Trial],
        pool: Pool,
        tell: Callable[[Record], None] = lambda record: None,
        begin: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        """Do these trials; whoever interrupts it loses those under way."""
        run(trials, Run(self.records, perform_trial, tell=tell, begin=begin), pool)

    def done(self) -> list[Record]:
        """Records that are there, in the order of trials."""
        there = self.records.of(self.trials)
        return [there[trial.hash] for trial in self.trials if trial.hash in there]


def missing_data(experiment: Experiment) -> list[str]:
    """Files that it needs and that are not at hand."""
    try:
        folder = data_folder()
    except FileError:
        return list(experiment.data)
    return [name for name in experiment.data if not _files(folder, name)]


def _files(folder: Path, name: str) -> list[Path]:
    """What a name stands for: one file, or all of a folder."""
    file = folder / f"{name}.npz"
    return [file] if file.is_file() else sorted(p for p in (folder / name).rglob("*") if p.is_file())


def _files_of(experiment: Experiment, setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Files that trials with these factors read: those that the protocol has for their ``data``, or all.

    So an experiment on several data sets has its trials in common with those on one of them.
    """
    return _find_protocol(experiment.protocol).files.get(setting.get("data", ""), experiment.data)


def _hash_files(experiment: Experiment, names: Sequence[str]) -> str:
    """A hash of the content of these files: other files make other trials."""
    if not experiment.data:
        return ""
    if missing := missing_data(experiment):
        raise FileError(
            f"{experiment.name} needs {', '.join(missing)} (.npz) in the folder that the variable "
            "ABSENTIA_DATA names; docs/data.md says where the data come from"
        )
    content = hashlib.sha256()
    for name in sorted(names):
        for path in _files(data_folder(), name):
            content.update(path.read_bytes())
    return content.hexdigest()[:12]
