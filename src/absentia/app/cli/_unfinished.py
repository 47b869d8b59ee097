"""What is done of predictions, kept beside the output until all are, so that a killed run can go on.

In ``.OUTPUT.unfinished/``: ``inputs``, the hash of all that predictions come from; ``lines``, whole blocks
of the table, one JSON text a line; and, for each view whose features are in chunks, an array of scores and
a file with a byte for each chunk whose scores are in it.  Nothing is read from there unless the hash is
that of the present inputs.  The output itself is written at the end, from ``lines``, whole or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import absentia

if TYPE_CHECKING:
    from absentia.core import Array
    from absentia.data import ChunkedTable

Block = tuple[list[list[Any]], int]


def hash_inputs(model: Path, data: Any, *options: Any) -> str:
    """Of a model's file, of new samples and of what else predictions depend on.

    Features in chunks count by the number, sum and sum of squares of each row's values.
    """
    import hashlib

    from absentia.core import serialize
    from absentia.experiment.engine import content_hash

    if getattr(data, "chunked", False):
        blocks = {name: data.block(name) for name in data.names}
        data = replace(data, _blocks={name: getattr(x, "profile", x) for name, x in blocks.items()})
    with open(model, "rb") as file:
        parts = [hashlib.file_digest(file, "sha256").hexdigest(), content_hash(serialize(data))]
    return json.dumps([absentia.__version__, *parts, *options], default=str)


class Unfinished:
    """Blocks of predictions and scores of chunks that are done.

    Parameters
    ----------
    output : Path
        The table to be.
    inputs : str
        As :func:`hash_inputs` gives it.
    force : bool
        Begin anew where other inputs were begun with.
    """

    def __init__(self, output: Path, inputs: str, force: bool) -> None:
        self.folder = output.with_name(f".{output.name}.unfinished")
        self.n_found = 0  # blocks and chunks that a run before this has done
        mark = self.folder / "inputs"
        if mark.is_file() and mark.read_text(encoding="utf-8") != inputs:
            if not force:
                raise ValueError(
                    f"{output}: predictions were begun and not ended there ({self.folder}), of other "
                    "samples, by another model or with other options; give these again, another output, or "
                    "--force, which begins anew"
                )
            self.remove()
        self.folder.mkdir(exist_ok=True)
        absentia.io.write_atomically(mark, lambda file: file.write(inputs.encode()))

    def remove(self) -> None:
        """Keep nothing any more."""
        shutil.rmtree(self.folder)

    def compute(self, name: str, table: ChunkedTable) -> Array:
        """All rows of a table in chunks, of which those of chunks that are done are not made again."""
        import numpy as np

        place = self.folder / f"scores-{name.encode().hex()[:100]}"
        marks, values = place.with_suffix(".done"), place.with_suffix(".npy")
        done = marks.stat().st_size if marks.exists() else 0
        self.n_found += done
        result = np.lib.format.open_memmap(
            values, "r+" if done else "w+", None if done else table.dtype, None if done else table.shape
        )
        with open(marks, "ab", buffering=0) as file:
            for _ in table.fill(result, done):
                result.flush()
                file.write(b".")
        return np.array(result)

    def iterate_blocks(self, make: Callable[[int], Iterable[Block]]) -> Iterator[Block]:
        """All blocks in order; ``make(k)`` makes those from the k-th on, k of which are there."""
        path = self.folder / "lines"
        done = self._count_blocks(path)
        self.n_found += done
        with open(path, "ab") as file:
            for number, block in enumerate(make(done), done):
                file.write(json.dumps([number, *block], default=_as_plain).encode() + b"\n")
                file.flush()
        with open(path, "rb") as file:
            for expected, line in enumerate(file):
                number, lines, nothing = json.loads(line)
                if number != expected:
                    raise ValueError(f"{path}: another process writes to it; let one do it, and try again")
                yield lines, nothing

    @staticmethod
    def _count_blocks(path: Path) -> int:
        """How many whole blocks there are; what stands behind them is cut off."""
        count = size = 0
        if not path.exists():
            return 0
        with open(path, "r+b") as file:
            for line in file:
                try:
                    whole = line.endswith(b"\n") and json.loads(line)[0] == count
                except ValueError:
                    whole = False
                if not whole:
                    break
                count, size = count + 1, size + len(line)
            file.truncate(size)
        return count


def _as_plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item()


@contextmanager
def keep_unfinished(
    output: Path, force: bool, wanted: bool, hash_now: Callable[[], str]
) -> Iterator[Unfinished | None]:
    """What is done of an output, if that is `wanted`; removed at the end, and where inputs are refused."""
    if not wanted:
        yield None
        return
    kept = Unfinished(output, hash_now(), force)
    try:
        yield kept
    except ValueError:  # of the samples: once they are mended, they are others
        kept.remove()
        raise
    kept.remove()
