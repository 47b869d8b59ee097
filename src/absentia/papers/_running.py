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
from absentia.papers._experiment import Experiment
from absentia.papers.protocols import find_protocol, perform_trial, version_of

_SEED = 0


class Reproduction:
    """Trials and records of an experiment in a folder, which experiments share.

    Parameters
    ----------
    experiment : Experiment
        In full or reduced.
    folder : path
        Of records; a trial that two experiments have in common is done once.
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
                    if all(setting[factor] in allowed for factor, allowed in column.only.items()):
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
        there = self.records.of(self.trials)
        return [t for t in self.trials if t.hash not in there or (retry and not there[t.hash].done)]

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
    return find_protocol(experiment.protocol).files.get(setting.get("data", ""), experiment.data)


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
