"""An experiment under way: its trials, the records of a folder, and what is left to do."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from absentia.datasets import data_folder
from absentia.experiment.engine import Pool, Record, Records, Run, Trial, run
from absentia.experiment.reproduction._experiment import Column, Experiment
from absentia.experiment.reproduction._methods import version
from absentia.experiment.reproduction.protocols import perform
from absentia.files import FileError

SEED = 0


class Reproduction:
    """Trials and records of an experiment in a folder, which experiments share.

    Parameters
    ----------
    experiment : Experiment
        As it was asked for.
    folder : path
        Of records; a trial that two experiments have in common is done once.
    """

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        if experiment.cannot:
            raise ValueError(f"{experiment.name} cannot be run: {experiment.cannot}")
        self.experiment = experiment
        self.folder = Path(folder)
        self.records = Records(self.folder)

    @cached_property
    def trials(self) -> list[Trial]:
        """In an order in which repeats are finished one after another."""
        return [Trial(key) for key in self._keys()]

    def _keys(self) -> Iterator[dict[str, Any]]:
        experiment, contents = self.experiment, contents_of(self.experiment)
        for repeat in range(experiment.repeats):
            for setting in experiment.settings():
                for column in experiment.columns:
                    if all(setting[factor] in allowed for factor, allowed in column.only.items()):
                        yield self._key(column, {**setting, "repeat": repeat, "contents": contents})

    def _key(self, column: Column, setting: Mapping[str, Any]) -> dict[str, Any]:
        protocol = self.experiment.protocol
        return {
            "protocol": protocol,
            **setting,
            "method": column.method,
            "parameters": dict(column.parameters),
            "seed": SEED,
            "version": version(protocol, column.method),
        }

    def outstanding(self, retry: bool = False) -> list[Trial]:
        """Trials without a record, or (`retry`) whose record says that they failed."""
        found = self.records.of(self.trials)
        return [t for t in self.trials if t.hash not in found or (retry and not found[t.hash].done)]

    def run(
        self,
        trials: Sequence[Trial],
        pool: Pool,
        tell: Callable[[Record], None] = lambda record: None,
        begin: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        """Do these trials; whoever interrupts it loses those under way."""
        run(trials, Run(self.records, perform, tell=tell, begin=begin), pool)

    def found(self) -> list[Record]:
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
    one, many = folder / f"{name}.npz", folder / name
    return [one] if one.is_file() else sorted(path for path in many.rglob("*") if path.is_file())


def contents_of(experiment: Experiment) -> str:
    """A hash of the files that it reads: other files make other trials."""
    if not experiment.data:
        return ""
    lacking = missing_data(experiment)
    if lacking:
        raise FileError(
            f"{experiment.name} needs {', '.join(lacking)} (.npz) in the folder that the variable "
            "ABSENTIA_DATA names; docs/data.md says where the data come from"
        )
    found = hashlib.sha256()
    for name in sorted(experiment.data):
        for path in _files(data_folder(), name):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]
