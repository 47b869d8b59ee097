"""A trial: one fit that can be told from all others by what goes into it."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from absentia.core import Serialized

HASH_LENGTH = 24  # hexadecimal digits of a hash


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


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
    found = hashlib.sha256(_to_json(state.tree).encode())
    for key, array in sorted(state.arrays.items()):
        found.update(f"{key} {array.dtype.str} {array.shape}".encode())
        found.update(memoryview(array.tobytes()))
    return found.hexdigest()[:HASH_LENGTH]


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
        return _hash_text(_to_json(dict(self.key)))


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
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"a shard is NUMBER/COUNT from 1/COUNT to COUNT/COUNT, as 3/16, not {text!r}")
    return number, count
