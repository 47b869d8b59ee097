"""Trials, told from one another by what goes into them, and what came of them: one small JSON file each.

``trials/<hash>.json`` holds ``trial`` (what was done), ``status``, ``result``, ``error``, ``cost`` and
``made`` (with what).  Everything but ``cost`` and ``made`` is the same whenever the trial is run again.  A
file is there as a whole or not at all.
"""

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from absentia.core import Serialized, raw_bytes
from absentia.files import one_line, write_atomically

TrialStatus = Literal["done", "failed", "time", "memory", "died"]
_STATUSES = get_args(TrialStatus)
_MAX_BYTES = 64_000_000  # of a record; larger files are none of ours
_NAME = re.compile(r"([0-9a-f]{8,64})\.json")
_HASH_LENGTH = 24  # hexadecimal digits of a hash


def _to_json(value: Any) -> str:
    """As JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def check_plain(result: Any) -> None:
    """Refuse what a record cannot hold."""
    try:
        _to_json(result)
    except ValueError as error:
        if "JSON" in str(error):
            raise ValueError("its result holds what is no number (nan or inf)") from None
        raise


def content_hash(state: Serialized) -> str:
    """Of plain data: the tree and every array."""
    digest = hashlib.sha256(_to_json(state.tree).encode())
    for key, array in sorted(state.arrays.items()):
        digest.update(f"{key} {array.dtype.str} {array.shape}".encode())
        digest.update(raw_bytes(array))
    return digest.hexdigest()[:_HASH_LENGTH]


@dataclass(frozen=True)
class Trial:
    """What is to be done: numbers, texts and lists by name, from which it has its hash.

    Examples
    --------
    >>> Trial({"method": "mean", "fold": 0}).hash == Trial({"fold": 0, "method": "mean"}).hash
    True
    """

    key: Mapping[str, Any]

    @cached_property
    def hash(self) -> str:
        return content_hash(Serialized(dict(self.key)))


def declared_versions(*classes: type, **others: int) -> str:
    """Versions that methods declare, and those of whatever else an answer comes from, as one text.

    A class declares ``_version = 2`` when it gives other numbers than before for the same data, parameters
    and seed; one that says nothing is of version 1.

    Examples
    --------
    >>> declared_versions(Trial, protocol=3)
    'Trial 1, protocol 3'
    """
    versions = {cls.__name__: int(getattr(cls, "_version", 1)) for cls in classes} | others
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def shard_of(trials: Iterable[Trial], number: int, count: int) -> list[Trial]:
    """Those of `count` parts that are the `number`-th, from 1 on; the parts depend on hashes alone."""
    return [trial for trial in trials if int(trial.hash, 16) % count == number - 1]


def parse_shard(text: str) -> tuple[int, int]:
    """``3/16`` as its two numbers."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    number, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"a shard is NUMBER/COUNT from 1/COUNT to COUNT/COUNT, as 3/16, not {text!r}")
    return number, count


# --------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Record:
    """What came of a trial; `error` is one sentence where it failed, `cost` seconds and megabytes."""

    trial: Mapping[str, Any]
    status: TrialStatus
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    cost: Mapping[str, float | None] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.status == "done"

    @property
    def hash(self) -> str:
        return Trial(self.trial).hash


class Records:
    """The records of a folder.

    Parameters
    ----------
    folder : path
        Its ``trials`` are made when the first is written.
    check : callable, optional
        Raises ValueError, a sentence, on a record that cannot have come of its trial.

    Attributes
    ----------
    damaged : dict of Path to str
        Files that were met and are no records, and why.
    """

    def __init__(
        self, folder: str | os.PathLike[str], check: Callable[[Record], None] = lambda record: None
    ) -> None:
        self.folder, self.check = Path(folder), check
        self.place = self.folder / "trials"
        self.damaged: dict[Path, str] = {}

    def path(self, hash: str) -> Path:
        return self.place / f"{hash}.json"

    def write(self, record: Record) -> Path:
        """To a temporary name first, flushed to the disk, then renamed."""
        content = json.dumps(asdict(record), allow_nan=False, separators=(",", ":")).encode()
        self.place.mkdir(parents=True, exist_ok=True)
        path = self.path(record.hash)
        if path.is_symlink():  # what it leads to is none of ours
            path.unlink(missing_ok=True)
        return write_atomically(path, lambda file: file.write(content))

    def read(self, hash: str) -> Record | None:
        """The record of that hash; None if there is none, or what is there is not its record."""
        path = self.path(hash)
        try:
            record = _make_record(_read_json(path))
            if record.hash != hash:
                raise ValueError("it is of another trial")
            return record
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RecursionError) as error:
            self.damaged.setdefault(path, one_line(error))
            return None

    def _read_checked(self, hash: str) -> Record | None:
        """The same of a trial that is asked for, if it can have come of it."""
        record = self.read(hash)
        try:
            if record is not None:
                self.check(record)
            return record
        except ValueError as error:
            self.damaged.setdefault(self.path(hash), one_line(error))
            return None

    def of(self, trials: Iterable[Trial]) -> dict[str, Record]:
        """Those of these trials that there are, by hash."""
        there = self.hashes()
        wanted = (trial.hash for trial in trials)
        found = ((hash, self._read_checked(hash)) for hash in wanted if hash in there)
        return {hash: record for hash, record in found if record is not None}

    def hashes(self) -> set[str]:
        """Of the files that there are, whatever they hold."""
        try:
            names = os.listdir(self.place)
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {found[1] for found in map(_NAME.fullmatch, names) if found}

    def others(self, known: Iterable[str]) -> Iterator[Record]:
        """Records that are not of these hashes: of other data, parameters, versions."""
        for hash in sorted(self.hashes() - set(known)):
            record = self.read(hash)
            if record is not None:
                yield record


def _read_json(path: Path) -> Any:
    """What a file says; links, pipes and devices are not looked into."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
        raise ValueError("it is no file, or too large")
    return json.loads(path.read_bytes(), parse_constant=_refuse)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _make_record(content: Any) -> Record:
    """A record out of what a file says."""
    if not isinstance(content, dict) or content.get("status") not in _STATUSES:
        raise ValueError(f"it is no record: its status is none of {', '.join(_STATUSES)}")
    parts: dict[str, Any] = {key: content.get(key) for key in ("trial", "result", "cost", "made")}
    if not all(isinstance(part, dict) for part in parts.values()) or not isinstance(
        content.get("error"), str
    ):
        raise ValueError("it is no record: trial, result, cost and made are by name, error is a text")
    if not all(value is None or _is_cost(value) for value in parts["cost"].values()):
        raise ValueError("its cost is not in numbers of 0 or more")
    if not all(isinstance(value, str) for value in parts["made"].values()):
        raise ValueError("what it was made with is not in texts")
    return Record(status=content["status"], error=content["error"], **parts)


def _is_cost(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max
