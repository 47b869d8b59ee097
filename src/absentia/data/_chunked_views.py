"""Features that stay where they are: a view in chunks, out of Parquet files, Zarr or Dask arrays.

A block of :class:`Views` is an array, a sparse matrix or a :class:`ChunkedTable`.  The last knows which row
of which chunk each sample is, and reads chunks when a pass over them is made: views need no common order,
and picking samples moves nothing.  What is asked of one row at a time (standardising, factors) is a step,
done where the chunk is read; what comes out is put where the sample is.

Each chunk is one task.  Without a ``distributed.Client`` they run one after the other; with one, on its
workers, a few ahead of what was fetched.  Steps go to the workers once, and what they give comes back from
them directly: the scheduler sees neither.  A chunk lost with its worker is read again, and there is a
deadline for each.  Answers do not depend on who did what: sums are added in the order of the chunks.

:func:`scan` makes one pass over a new view and finds who has it, what samples are like (the keys of their
canonical order) and the moments of every feature.
"""

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from absentia.core import Array, available_memory, check_memory
from absentia.data._ids import show_id
from absentia.data._inputs import ID_COLUMNS, ViewTable, make_view_table

PIECE_BYTES = 16 * 2**20  # of rows that steps are done on at a time
_SCRATCH_SHARE = 8  # what takes more than this part of the free memory goes to a file
_MAX_LOSSES = 5  # workers that may die during one pass
_WAIT_SECONDS = 600.0  # for one chunk, or for a worker to be there
_INDEX_COLUMN = "__index_level_0__"  # what pandas calls an index without a name in Parquet files


@dataclass(frozen=True)
class Moments:
    """Number, mean, sum of squared deviations, least and largest value of every feature, NaN left out.

    Those of two sets of samples are added up (T. Chan, G. Golub and R. LeVeque, 1979).
    """

    count: Array
    mean: Array
    spread: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, X: Array) -> Self:
        """Of the rows of `X`."""
        mean = X.sum(axis=0, dtype=np.float64) / max(len(X), 1)
        if not np.isnan(mean).any():
            gap = X - mean
            spread = np.einsum("ij,ij->j", gap, gap)
            low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
            sides = low.astype(np.float64), high.astype(np.float64)
            return cls(np.full(X.shape[1], len(X)), mean, spread, *sides)
        count = (~np.isnan(X)).sum(axis=0)
        mean = np.nansum(X, axis=0, dtype=np.float64) / np.maximum(count, 1)
        spread = np.nansum((X - mean) ** 2, axis=0)
        low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
        return cls(count, mean, spread, low.astype(np.float64), high.astype(np.float64))

    def __add__(self, other: "Moments") -> "Moments":
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported, with a name
            gap = other.mean - self.mean
            mean = self.mean + gap * share
            spread = self.spread + other.spread + gap**2 * self.count * share
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(count, mean, spread, low, high)

    @property
    def means(self) -> Array:
        """Means; NaN of features without any value."""
        return np.where(self.count > 0, self.mean, np.nan)

    @property
    def deviations(self) -> Array:
        """Standard deviations; NaN of features without any value."""
        return np.where(self.count > 0, np.sqrt(self.spread / np.maximum(self.count, 1)), np.nan)

    @property
    def largest(self) -> Array:
        """Largest absolute values; zero of features without any value."""
        return np.where(self.count > 0, np.maximum(np.abs(self.low), np.abs(self.high)), 0.0)


# ------------------------------------------------------------------------------------------------- chunks


@dataclass(frozen=True)
class ParquetChunk:
    """A row group of a Parquet file; `columns` are its features in order, None: all that are not ids."""

    path: str
    group: int
    n_rows: int
    id: str
    columns: tuple[str, ...] | None
    dtype: str

    def pieces(self) -> Iterator[Array]:
        """Its rows, some at a time."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            names = [name for name in file.schema_arrow.names if name != self.id]
            names = names if self.columns is None else list(self.columns)
            rows = max(PIECE_BYTES // (len(names) * np.dtype(self.dtype).itemsize), 1)
            batches = file.iter_batches(rows, row_groups=[self.group], columns=names, use_threads=False)
            for batch in batches:
                table = np.empty((len(names), batch.num_rows), self.dtype)
                for j, name in enumerate(names):
                    table[j] = batch.column(name).to_numpy(zero_copy_only=False)
                yield table.T


@dataclass(frozen=True)
class ArrayChunk:
    """Some rows of an array, which may be memory-mapped, of a Zarr array, or a chunk of a Dask array."""

    values: Any
    begin: int
    n_rows: int

    def pieces(self) -> Iterator[Array]:
        """Its rows, some at a time."""
        values = self.values
        if hasattr(values, "compute"):  # Dask's, wherever this runs
            values = values.compute(scheduler="synchronous")
        rows = max(PIECE_BYTES // max(values.shape[1] * values.dtype.itemsize, 1), 1)
        for a in range(self.begin, self.begin + self.n_rows, rows):
            part = np.asarray(values[a : min(a + rows, self.begin + self.n_rows)])
            yield part if part.dtype in (np.float32, np.float64) else part.astype(np.float64)


Step = Callable[[Array], Any]


def _work(chunk: Any, rows: Array, steps: Sequence[Step]) -> list[tuple[Array, Any]]:
    """What the steps make of the `rows` of a chunk, piece by piece, and which of them each piece has."""
    done, begin = [], 0
    for piece in chunk.pieces():
        here = np.flatnonzero((rows >= begin) & (rows < begin + len(piece)))
        places, begin = rows[here] - begin, begin + len(piece)
        if not len(here):
            continue
        whole = len(places) == len(piece) and bool((places == np.arange(len(piece))).all())
        result: Any = piece if whole else piece[places]
        for step in steps:
            result = step(result)
        done.append((here, result))
    return done


def _find_client() -> Any:
    """The Dask client in force, if there is one."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    try:
        return distributed.get_client()
    except ValueError:
        return None


class _Workers:
    """Tasks on the workers of a Dask client, in order, a few ahead of what was fetched."""

    def __init__(self, client: Any, steps: Sequence[Step]) -> None:
        self.client, self.steps = client, tuple(steps)
        self.losses = 0
        self._send()

    def _send(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_WAIT_SECONDS)
            self.sent = self.client.scatter([self.steps], broadcast=True, direct=True, hash=False)[0]
        except TimeoutError as error:
            raise self._explain("no worker is there", error) from None

    def _explain(self, what: str, error: Exception) -> Exception:
        """What did not come in time, or was lost too often, in a sentence."""
        where = self.client.scheduler.address if self.client.scheduler else "the cluster"
        return ConnectionError(
            f"Dask at {where}: {what} ({type(error).__name__} after up to {_WAIT_SECONDS:g} s); see that "
            "its workers run, have memory for some chunks and see the files, then run this again"
        )

    def submit(self, chunk: Any, rows: Array) -> Any:
        return self.client.submit(_work, chunk, rows, self.sent, pure=False)

    def fetch(self, chunk: Any, rows: Array, future: Any) -> Any:
        """What a task gave; it is done again if what it rests on was lost with a worker."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        while True:
            gather = partial(self.client.gather, future, direct=True, asynchronous=True)
            try:
                return self.client.sync(gather, callback_timeout=_WAIT_SECONDS)
            except TimeoutError as error:
                raise self._explain("a chunk of features did not come", error) from None
            except (CancelledError, KilledWorker) as error:
                self.losses += 1
                if self.losses > _MAX_LOSSES:
                    raise self._explain(f"workers were lost {self.losses} times", error) from None
                self._send()
                future = self.submit(chunk, rows)

    def run(self, tasks: Sequence[tuple[Any, Array]]) -> Iterator[Any]:
        ahead = 2 * max(sum(self.client.nthreads().values()), 1)
        waiting: deque[Any] = deque()
        for number, task in enumerate(tasks):
            while len(waiting) < ahead and number + len(waiting) < len(tasks):
                waiting.append(self.submit(*tasks[number + len(waiting)]))
            yield self.fetch(*task, waiting.popleft())


# ---------------------------------------------------------------------------------------------- the table


class ChunkedTable:
    """Rows (samples) x columns (features) in chunks that are read when a pass is made.

    Parameters
    ----------
    chunks : sequence of ParquetChunk or ArrayChunk
    chunk, row : arrays of int, shape (n_rows,)
        In which chunk each row is, and where in it.
    width : int
    dtype : dtype
    steps : sequence of callables
        What is done to rows once they are read: arrays rows x columns to such.

    Attributes
    ----------
    shape, dtype
    profile : ndarray of shape (n_rows, 3)
        Of each row how many values it has, their sum and their sum of squares.
    """

    ndim = 2

    def __init__(
        self, chunks: Any, chunk: Array, row: Array, width: int, dtype: Any, steps: Any = ()
    ) -> None:
        self.chunks, self._chunk, self._row = tuple(chunks), chunk, row
        self.shape, self.dtype, self.steps = (len(row), width), np.dtype(dtype), tuple(steps)
        self.profile: Array | None = None
        self._moments: Moments | None = None

    @classmethod
    def of(cls, chunks: Sequence[Any], width: int, dtype: Any) -> Self:
        """All rows of some chunks."""
        sizes = [chunk.n_rows for chunk in chunks]
        chunk = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        row = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes] or [np.zeros(0, np.int32)])
        return cls(chunks, chunk, row, width, dtype)

    @classmethod
    def of_array(cls, name: str, values: Any) -> Self:
        """All rows of an array, of which slices of rows can be taken; `name` is that of the view."""
        _check_array(name, values)
        if type(values).__module__.startswith("dask."):
            A = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
            A = A.rechunk({1: -1}) if A.numblocks[1] > 1 else A
            chunks = [ArrayChunk(A.blocks[k], 0, size) for k, size in enumerate(A.chunks[0])]
            return cls.of(chunks, A.shape[1], A.dtype)
        n, width = values.shape
        rows = max(getattr(values, "chunks", (1,))[0], PIECE_BYTES // max(width * values.dtype.itemsize, 1))
        chunks = [ArrayChunk(values, a, min(rows, n - a)) for a in range(0, n, rows)]
        return cls.of(chunks, width, values.dtype if values.dtype == np.float32 else np.dtype(np.float64))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"ChunkedTable({self.shape[0]} x {self.shape[1]}, {self.dtype}, {len(self.chunks)} chunks)"

    def __getitem__(self, key: Any) -> Any:
        """The rows at these positions, or with ``[:, columns]`` these columns; nothing is read."""
        if isinstance(key, tuple):
            rows, columns = key
            picked = self if isinstance(rows, slice) and rows == slice(None) else self[rows]
            return picked.take_columns(np.arange(self.shape[1])[columns])
        index = np.atleast_1d(np.arange(len(self))[key])
        part = ChunkedTable(
            self.chunks, self._chunk[index], self._row[index], self.shape[1], self.dtype, self.steps
        )
        part.profile = None if self.profile is None else self.profile[index]
        if self.profile is not None and len(np.unique(index)) == len(index):
            lost = (
                self.profile[:, 0].sum() > self.profile[index, 0].sum()
            )  # rows without values are no loss
            part._moments = None if lost else self._moments
        return part

    def take_columns(self, places: Array) -> Any:
        """The columns at these places, NaN where a place is negative."""
        return self.apply(partial(take_columns, np.asarray(places)), len(places))

    def apply(self, step: Step, width: int, dtype: Any = None) -> Any:
        """The same rows after one more step, which makes `width` columns of them."""
        steps = (*self.steps, step)
        return ChunkedTable(self.chunks, self._chunk, self._row, width, dtype or self.dtype, steps)

    def map(self, step: Step) -> Iterator[tuple[Array, Any]]:
        """What a step makes of some rows at a time, and the positions of these; one pass."""
        for parts in self._map_chunks(step):
            yield from parts

    def _map_chunks(self, step: Step, first: int = 0) -> Iterator[Iterator[tuple[Array, Any]]]:
        """The same for one chunk at a time, from the `first` on."""
        order = np.argsort(self._chunk, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self._chunk[order])) + 1) if len(order) else []
        parts = parts[first:]
        tasks = [(self.chunks[self._chunk[places[0]]], self._row[places]) for places in parts]
        client, steps = _find_client(), (*self.steps, step)
        results = (_work(*task, steps) for task in tasks)
        if client is not None and len(tasks) > 1:
            results = _Workers(client, steps).run(tasks)  # type: ignore[assignment]
        for places, result in zip(parts, results, strict=True):
            yield ((places[here], values) for here, values in result)

    def compute(self) -> Array:
        """All rows, in memory or, if they take much of it, mapped from a file that goes with the array."""
        result = _make_array(self.shape, self.dtype)
        for _ in self.fill(result):
            pass
        return result

    def fill(self, result: Array, first: int = 0) -> Iterator[None]:
        """Write rows into `result`, of chunks from the `first` on; something is yielded after each."""
        for parts in self._map_chunks(partial(_cast, self.dtype), first):
            for places, values in parts:
                together = len(places) == places[-1] - places[0] + 1 and (np.diff(places) > 0).all()
                result[slice(places[0], places[-1] + 1) if together else places] = values
            yield

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        n, width = self.shape
        check_memory(
            3.0 * n * width * self.dtype.itemsize,
            f"{n} x {width} features in chunks, made an array,",
            "use a method that takes chunks (factors), or fewer samples",
        )
        return np.asarray(self.compute(), dtype=dtype)

    def moments(self, step: Step | None = None) -> Moments:
        """Of every column, after a step if one is given: one pass, unless it was made already."""
        if step is None and self._moments is not None:
            return self._moments
        table = self if step is None else self.apply(step, self.shape[1])
        moments = Moments.of(np.zeros((0, self.shape[1])))
        for _, part in table.map(Moments.of):
            moments = moments + part
        if step is None:
            self._moments = moments
        return moments


def _make_array(shape: tuple[int, int], dtype: Any) -> Array:
    """An empty array; one that would take much memory is mapped from a file without a name."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if size <= max(available_memory() // _SCRATCH_SHARE, 2**27):
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def take_columns(places: Array, X: Array) -> Array:
    """Columns of an array by place, NaN where that is negative."""
    return np.where(places >= 0, X[:, places], np.nan).astype(X.dtype, copy=False)


def _cast(dtype: Any, X: Array) -> Array:
    return X.astype(dtype, copy=False)


def scan(table: ChunkedTable) -> ChunkedTable:
    """The same table, its rows' profiles and the moments of its features known: one pass."""
    profile, moments = np.zeros((len(table), 3)), Moments.of(np.zeros((0, table.shape[1])))
    for places, (rows, part) in table.map(_scan_rows):
        profile[places] = rows
        moments = moments + part
    table.profile, table._moments = profile, moments
    return table


def _scan_rows(X: Array) -> tuple[Array, Moments]:
    filled = np.nan_to_num(X.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported with a name, later
        columns = [(~np.isnan(X)).sum(axis=1), filled.sum(axis=1), np.einsum("ij,ij->i", filled, filled)]
        return np.column_stack(columns), Moments.of(X)


# ------------------------------------------------------------------------------------- where they come from


def parse_parquet(
    name: str, path: Any, id: str | None, ignore: Callable[[list[str]], list[str]]
) -> ViewTable:
    """A view out of a Parquet file or a folder of them; `ignore` says which of its columns are left out."""
    import pyarrow.parquet as pq

    files = sorted(Path(path).rglob("*.parquet")) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise ValueError(f"view {name!r}: no file in {path} ends in .parquet")
    chunks, ids, features, dtype = [], [], list[str](), np.dtype(np.float32)
    for file in files:
        with pq.ParquetFile(file) as content:
            schema, about = content.schema_arrow, content.metadata
            key = _find_id(name, file, schema.names, id)
            own = [column for column in schema.names if column != key]
            dropped = set(ignore(own))
            kept = [column for column in own if column not in dropped]
            features = features or kept
            if sorted(kept) != sorted(features):
                odd = sorted(set(kept) ^ set(features))[0]
                raise ValueError(
                    f"view {name!r}: column {odd!r} is in some of its files and not in others ({file}); "
                    "give all files of a view the same columns"
                )
            dtype = np.result_type(dtype, *{_number_type(name, schema.field(c)) for c in kept})
            columns = None if own == features else tuple(features)
            groups = range(about.num_row_groups)
            ids += [content.read_row_group(g, columns=[key]).column(0).to_pylist() for g in groups]
            sizes = [(g, about.row_group(g).num_rows) for g in groups]
            chunks += [(str(file), g, size, key, columns) for g, size in sizes]
    parts = [ParquetChunk(*chunk, dtype=dtype.str) for chunk in chunks]
    table = ChunkedTable.of(parts, len(features), dtype)
    return make_view_table(name, [x for some in ids for x in some], table, features)


def _find_id(name: str, file: Path, columns: Sequence[str], wanted: str | None) -> str:
    """The column of a Parquet file that holds the ids."""
    names = {column.lower(): column for column in reversed(columns)}
    known = [names[key] for key in (*ID_COLUMNS, _INDEX_COLUMN) if key in names]
    if wanted is not None and wanted not in columns:
        raise ValueError(f"view {name!r}: {file} has no column {wanted!r} of sample ids")
    if wanted is None and not known:
        raise ValueError(
            f"view {name!r}: which column of {file} holds the sample ids? Say so (id=, --id), or call it id"
        )
    return known[0] if wanted is None else wanted


def _number_type(name: str, field: Any) -> Any:
    """The type of numbers of a column of Arrow; what is no number is refused."""
    import pyarrow.types as kinds

    if kinds.is_float32(field.type) or kinds.is_float16(field.type):
        return np.dtype(np.float32)
    if kinds.is_floating(field.type) or kinds.is_integer(field.type) or kinds.is_boolean(field.type):
        return np.dtype(np.float64)
    raise ValueError(
        f"view {name!r}: column {field.name!r} is {field.type}; features in chunks are numbers: make them "
        "such (one column for each category), or leave the column out (ignore)"
    )


def parse_chunked(name: str, given: Any) -> ViewTable:
    """A view in a Dask or Zarr array (or its path), or mapped from a file; or such with ids before it."""
    ids, values = given if isinstance(given, tuple) else (None, given)
    table = ChunkedTable.of_array(name, _open_zarr(name, values))
    own = range(len(table)) if ids is None else ids
    if len(own) != len(table):
        raise ValueError(f"view {name!r}: {len(own)} ids for {len(table)} rows; one for each is wanted")
    return make_view_table(name, own, table, None)


def _check_array(name: str, values: Any) -> None:
    """Refuse what is no table of numbers of a shape that is known."""
    if values.dtype.kind not in "fiub":
        raise ValueError(f"view {name!r}: values of type {values.dtype} are not numbers")
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"view {name!r} has shape {values.shape}; wanted two dimensions, samples x features, with at "
            "least one feature"
        )
    if any(np.isnan(size) for size in values.shape):
        raise ValueError(
            f"view {name!r}: the dask array does not know its shape, {values.shape}; call its "
            "compute_chunk_sizes() first"
        )


def _open_zarr(name: str, given: Any) -> Any:
    """A Zarr array, opened if its path came."""
    if not isinstance(given, str | Path):
        return given
    import zarr

    array = zarr.open(given, mode="r")
    if not isinstance(array, zarr.Array):
        raise ValueError(f"view {name!r}: {given} is a group; give the path of one array")
    return array


def check_values(name: str, table: ChunkedTable, ids: Array, most: float) -> None:
    """Refuse infinite or huge values, and name the sample and the column."""
    moments = table.moments()
    if moments.largest.max(initial=0.0) <= most:
        return
    column = int(np.argmax(moments.largest > most))
    for places, values in table[:, [column]].map(np.asarray):
        bad = np.abs(values[:, 0]) > most
        if bad.any():
            raise ValueError(
                f"view {name!r}, sample {show_id(ids[places[bad.argmax()]])}, column {column}: infinite or "
                "too large a value; write NaN for a missing value, or transform the feature"
            )
