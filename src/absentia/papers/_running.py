"""An experiment under way: its trials, the records of a folder, and what is left to do."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from absentia.datasets import data_folder
from absentia.experiment.engine import Pool, Record, Records, Run, Trial, run
from absentia.files import FileError
from absentia.papers._experiment import Column, Experiment
from absentia.papers._methods import version
from absentia.papers.protocols import perform, protocol

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
        experiment = self.experiment
        names = {files_of(experiment, setting) for setting in experiment.settings()}
        contents = {some: contents_of(experiment, some) for some in names}
        settings = [
            {**setting, "contents": contents[files_of(experiment, setting)]}
            for setting in experiment.settings()
        ]
        for repeat in range(experiment.repeats):
            for setting in settings:
                for column in experiment.columns:
                    if all(setting[factor] in allowed for factor, allowed in column.only.items()):
                        yield self._key(column, {**setting, "repeat": repeat})

    def _key(self, column: Column, setting: Mapping[str, Any]) -> dict[str, Any]:
        name, design = self.experiment.protocol, self.experiment.design
        return {
            "protocol": name,
            **setting,
            "method": column.method,
            "parameters": column.given({factor: setting[factor] for factor in design}),
            "seed": SEED,
            "version": version(name, column.method),
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


def files_of(experiment: Experiment, setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Files that trials with these factors read: those that the protocol has for their ``data``, or all.

    So an experiment on several data sets has its trials in common with those on one of them.
    """
    own: Mapping[str, tuple[str, ...]] = getattr(protocol(experiment.protocol), "FILES", {})
    return own.get(setting.get("data", ""), experiment.data)


def contents_of(experiment: Experiment, names: Sequence[str] | None = None) -> str:
    """A hash of these files, by default of all that it reads: other files make other trials."""
    if not experiment.data:
        return ""
    lacking = missing_data(experiment)
    if lacking:
        raise FileError(
            f"{experiment.name} needs {', '.join(lacking)} (.npz) in the folder that the variable "
            "ABSENTIA_DATA names; docs/data.md says where the data come from"
        )
    found = hashlib.sha256()
    for name in sorted(experiment.data if names is None else names):
        for path in _files(data_folder(), name):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]
