"""Runs trials that have no record yet, in this process, in several, or on a cluster, within limits.

Workers write their own records; what comes back is only for whoever watches.  A worker that dies takes
those that are under way with it: these are run again one at a time, and the one that dies alone has a
record that says so.

A limit on time or memory is enforced twice: first by an exception where the fit is, which leaves the
process as it was, and, in processes of the engine's own, by the operating system, should the fit not listen
(compiled code does not).  Where the operating system knows no such limits (Windows), or outside of the main
thread, there are none.

Trials, told from one another by what goes into them, and what came of them: one small JSON file each.

``trials/<hash>.json`` holds ``trial`` (what was done), ``status``, ``result``, ``error``, ``cost`` and
``made`` (with what).  Everything but ``cost`` and ``made`` is the same whenever the trial is run again.  A
file is there as a whole or not at all.
"""

import errno
import hashlib
import json
import math
import os
import platform
import re
import signal
import stat
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args

import numpy as np
import scipy
import sklearn

import absentia
from absentia.core import Serialized, limit_threads, raw_bytes
from absentia.files import one_line, write_atomically

# ------------------------------------------------------------------------------------- trials and records

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
class Limits:
    """CPU seconds and bytes that a fit may take; None is any number of them."""

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("time_limit", self.seconds), ("memory_limit", self.memory)):
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} is a positive number or None, not {value!r}")

    def as_cost(self) -> dict[str, float | None]:
        """As they stand in a record beside what a fit took."""
        return {"time_limit": self.seconds, "memory_limit": self.memory}


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

    def is_left(self, limits: Limits, retry: bool) -> bool:
        """Whether its trial is to be run again: it failed (`retry`), or hit a limit that is higher now."""
        allowed = {"time": limits.seconds, "memory": limits.memory}.get(self.status)
        before = self.cost.get(f"{self.status}_limit")
        more = before is not None and (allowed is None or allowed > before)
        return not self.done and (retry or more)


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

    def read(self, hash: str, check: bool = True) -> Record | None:
        """The record of that hash; None if there is none, or (`check`) it cannot have come of its trial."""
        path = self.path(hash)
        try:
            record = _make_record(_read_json(path))
            if record.hash != hash:
                raise ValueError("it is of another trial")
            if check:
                self.check(record)
            return record
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RecursionError) as error:
            self.damaged.setdefault(path, one_line(error))
            return None

    def of(self, trials: Iterable[Trial]) -> dict[str, Record]:
        """Those of these trials that there are, by hash."""
        there = self.hashes()
        wanted = (trial.hash for trial in trials)
        found = ((hash, self.read(hash)) for hash in wanted if hash in there)
        return {hash: record for hash, record in found if record is not None}

    def outstanding(self, trials: Sequence[Trial], limits: Limits, retry: bool = False) -> list[Trial]:
        """Those that have no record, or (`retry`) one that failed, or are allowed more than before."""
        there = self.of(trials)
        return [t for t in trials if (own := there.get(t.hash)) is None or own.is_left(limits, retry)]

    def others(self, known: Iterable[str]) -> Iterator[Record]:
        """Records that are not of these hashes: of other data, parameters, versions."""
        for hash in sorted(self.hashes() - set(known)):
            record = self.read(hash, check=False)
            if record is not None:
                yield record

    def hashes(self) -> set[str]:
        """Of the files that there are, whatever they hold."""
        try:
            names = os.listdir(self.place)
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {found[1] for found in map(_NAME.fullmatch, names) if found}


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


# ----------------------------------------------------------------------------- limits, and what a fit took


_MEGABYTE = 1 << 20
_CLOCK_OF_TICKS = -8  # Linux's clock of the user and system time of this process
_GRACE = 5.0  # seconds after which, and a quarter of the time more, the operating system ends a process
_MAX_SECONDS = 1e9  # seconds that clocks can be set to


class _OutOfTime(BaseException):
    """Raised inside a fit; no part of a fit that goes on after errors catches it."""


@contextmanager
def _measure_cost(cost: dict[str, float | None]) -> Iterator[None]:
    """Add to `cost`, at the end, CPU and wall seconds, and megabytes at the peak beyond those at the start.

    CPU seconds are those of the whole process, but of one thread where that is not the main one: others
    may do other things.
    """
    before = _reset_peak()
    clock = time.process_time if _in_main_thread() else time.thread_time
    cpu, wall = clock(), time.monotonic()
    try:
        yield
    finally:
        cost["cpu"] = round(clock() - cpu, 4)
        cost["wall"] = round(time.monotonic() - wall, 4)
        cost["memory"] = _peak_beyond(before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _reset_peak() -> int | None:
    """Bytes in use now, after which the peak begins anew; None where that cannot be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _read_status("VmRSS")


def _peak_beyond(before: int | None) -> float | None:
    peak = None if before is None else _read_status("VmHWM")
    return None if peak is None or before is None else round(max(0, peak - before) / _MEGABYTE, 2)


def _read_status(name: str) -> int | None:
    """A number of bytes that Linux tells of this process."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


@contextmanager
def _enforce_limits(limits: Limits, own_process: bool) -> Iterator[None]:
    """Inside, :class:`_OutOfTime` and :class:`MemoryError` are raised beyond the limits."""
    if not _in_main_thread():  # no signal comes there, and limits are those of the whole process
        yield
        return
    with _limit_memory(limits.memory), _limit_seconds(limits.seconds, own_process):
        yield


@contextmanager
def _limit_seconds(limit: float | None, own_process: bool) -> Iterator[None]:
    if limit is None or not hasattr(signal, "setitimer"):
        yield
        return
    limit, armed = min(limit, _MAX_SECONDS), True

    def over(number: int, frame: FrameType | None) -> None:
        if armed:  # not while things are put back
            raise _OutOfTime

    previous = signal.signal(signal.SIGPROF, over) or signal.SIG_DFL
    with ExitStack() as after:
        after.callback(signal.signal, signal.SIGPROF, previous)
        if own_process:
            after.callback(*_lower_limit("RLIMIT_CPU", _count_cpu_seconds() + 1.25 * limit + _GRACE + 1))
        # again and again, if somebody swallows it
        timer = signal.setitimer(signal.ITIMER_PROF, limit, max(1.0, limit / 10))
        after.callback(signal.setitimer, signal.ITIMER_PROF, *timer)
        try:
            yield
        finally:
            armed = False


def _count_cpu_seconds() -> float:
    """CPU seconds of this process as limits count them: in ticks, on a busy machine more than it had."""
    with suppress(AttributeError, OSError):
        return max(time.process_time(), time.clock_gettime(_CLOCK_OF_TICKS))
    return time.process_time()


@contextmanager
def _limit_memory(limit: int | None) -> Iterator[None]:
    now = None if limit is None else _read_status("VmSize")
    if limit is None or now is None:
        yield
        return
    with ExitStack() as after:
        after.callback(*_lower_limit("RLIMIT_AS", now + limit))
        yield


def _lower_limit(name: str, limit: float) -> tuple[Any, ...]:
    """Lower a limit of the operating system, never raise it; the call that puts it back."""
    import resource

    kind = getattr(resource, name)
    soft, hard = before = resource.getrlimit(kind)
    wanted = int(min(limit, sys.maxsize // 2))
    resource.setrlimit(kind, (wanted if soft == resource.RLIM_INFINITY else min(wanted, soft), hard))
    return resource.setrlimit, kind, before


# -------------------------------------------------------------------------------------------- trials

_Perform = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
_DIED = "its process was ended from outside: it took more time or memory than there is"


class FolderError(ValueError):
    """Something is wrong with what trials are done on, not with a trial: it has no record and all stop."""


def _attempt_trial(
    perform: _Perform, folder: str, key: Mapping[str, Any], limits: Limits, own_process: bool
) -> Record:
    """Do a trial, whatever comes of it, and write its record.

    What ``perform`` needs once in every process it may bring along in a ``prepare(key)``, which is
    neither limited nor measured.  What that raises, and a :class:`FolderError`, is not the trial's fault.
    """
    cost: dict[str, float | None] = {}
    with limit_threads(1, 0), warnings.catch_warnings(action="ignore"):
        if hasattr(perform, "prepare"):
            perform.prepare(key)
        status, result, error = _perform_limited(perform, key, limits, own_process, cost)
    record = Record(dict(key), status, result, error, cost | limits.as_cost(), _used_versions())
    Records(folder).write(record)
    return record


def _perform_limited(
    perform: _Perform,
    key: Mapping[str, Any],
    limits: Limits,
    own_process: bool,
    cost: dict[str, float | None],
) -> tuple[TrialStatus, dict[str, Any], str]:
    """Status and result, or a sentence that says why there is none."""
    try:
        with _measure_cost(cost), _enforce_limits(limits, own_process):
            result = dict(perform(key))
        check_plain(result)
        return "done", result, ""
    except FolderError:
        raise
    except _OutOfTime:
        return "time", {}, f"took more than {limits.seconds:g} CPU seconds"
    except (Exception, SystemExit) as reason:
        if isinstance(reason, MemoryError) or getattr(reason, "errno", None) == errno.ENOMEM:
            return "memory", {}, _describe_error(reason, "memory was too small")
        return "failed", {}, _describe_error(reason, type(reason).__name__)


def _describe_error(error: BaseException, otherwise: str) -> str:
    words = ""
    with suppress(Exception):  # what an error says is its own affair
        words = " ".join(str(error).split())[:500]
    known = isinstance(error, ValueError | MemoryError)
    return (words if known else f"{type(error).__name__}: {words}") if words else otherwise


def _used_versions() -> dict[str, str]:
    """With what a record was made."""
    return {
        "absentia": absentia.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


class Pool:
    """Processes that trials are done in: `jobs` of this machine, or those of a Dask cluster.

    Parameters
    ----------
    jobs : int
        One is this process itself.
    dask : str, optional
        Address of a scheduler whose workers see the same folder under the same name.
    apart : bool
        One job, too, is a process of its own: should it die, this one goes on.
    """

    def __init__(self, jobs: int = 1, dask: str | None = None, apart: bool = False) -> None:
        self.dask, self.apart = dask, apart
        self.jobs = max(1, jobs)

    @property
    def here(self) -> bool:
        return self.jobs == 1 and self.dask is None and not self.apart

    def executor(self) -> AbstractContextManager[Executor]:
        """Ready for work; what is under way when an error comes is ended."""
        return self._cluster() if self.dask else self._processes()

    @contextmanager
    def _processes(self) -> Iterator[Executor]:
        from joblib.externals.loky import ProcessPoolExecutor

        _begin_tracker()
        single = {f"{name}_NUM_THREADS": "1" for name in _THREADS}
        executor = ProcessPoolExecutor(
            self.jobs, initializer=_end_with, initargs=(os.getpid(),), env=single
        )
        try:
            with warnings.catch_warnings():  # workers that have grown too large are replaced: no matter
                warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
                yield executor
        except BaseException:
            executor.shutdown(wait=True, kill_workers=True)  # afterwards nobody writes
            raise
        executor.shutdown(wait=True)

    @contextmanager
    def _cluster(self) -> Iterator[Executor]:
        try:
            from distributed import Client
        except ImportError:
            raise ImportError("a Dask cluster needs the extra dask: pip install 'absentia[dask]'") from None
        with Client(self.dask) as client:  # type: ignore[no-untyped-call]
            self.jobs = max(1, sum(client.nthreads().values()))
            yield client.get_executor(pure=False)


def _end_with(parent: int) -> None:
    """In a worker: should the process that began it be killed, end, and do not wait for work forever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def _begin_tracker() -> None:
    """Of semaphores: a process that comes with the first worker, and where it begins lets interrupts in."""
    if os.name == "posix":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that begin inside never hear of Ctrl-C: the one that began them does, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class Run:
    """Trials that are to be done, and how: `perform` takes a trial's key and gives its result.

    `begin` hears of every trial when it is first handed to a process, `tell` of every record, once.
    """

    records: Records
    perform: _Perform
    limits: Limits = field(default_factory=Limits)
    tell: Callable[[Record], None] = lambda record: None
    begin: Callable[[Trial], None] = lambda trial: None

    def submit(self, executor: Executor, trial: Trial) -> Future[Record]:
        folder = str(self.records.folder.absolute())
        with _interrupts_held():
            return executor.submit(_attempt_trial, self.perform, folder, dict(trial.key), self.limits, True)


def run(trials: Sequence[Trial], how: Run, pool: Pool) -> None:
    """Do all of these trials, in about this order."""
    if pool.here:
        for trial in trials:
            how.begin(trial)
            folder = str(how.records.folder)
            how.tell(_attempt_trial(how.perform, folder, trial.key, how.limits, False))
        return
    queue = _Queue(how, deque(trials), how.records.of(trials))
    while queue.waiting or queue.alone:
        try:
            with pool.executor() as executor:
                queue.go(executor, pool.jobs + 1)  # one more lies ready, so that no process waits
        except _BrokenError:
            queue.recover()


class _BrokenError(Exception):
    """A worker has died."""


@dataclass
class _Queue:
    """Trials on their way: `waiting`, `flying`, and `alone`, which may have ended a worker.

    `before` has the records that were there at the start, of trials that are done again.
    """

    how: Run
    waiting: deque[Trial]
    before: Mapping[str, Record]
    alone: deque[Trial] = field(default_factory=deque)
    flying: dict[Future[Record], Trial] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def go(self, executor: Executor, room: int) -> None:
        """Submit and hear until nothing is left; `alone` are done first, one at a time."""
        while self.waiting or self.alone or self.flying:
            try:
                self._submit(executor, room)
                for future in wait(self.flying, return_when=FIRST_COMPLETED).done:
                    record = future.result()
                    del self.flying[future]
                    self.how.tell(record)
            except Exception as error:
                if _is_death(error):
                    raise _BrokenError from None
                raise

    def _submit(self, executor: Executor, room: int) -> None:
        queue, room = (self.alone, 1) if self.alone else (self.waiting, room)
        while queue and len(self.flying) < room:
            trial = queue[0]
            self.flying[self.how.submit(executor, trial)] = trial  # may find that a worker has died
            queue.popleft()
            if trial.hash not in self.begun:
                self.begun.add(trial.hash)
                self.how.begin(trial)

    def recover(self) -> None:
        """Whoever was under way and has no record: again, alone; or, if it was alone, it is the one."""
        flying, self.flying = list(self.flying.values()), {}
        found = {trial.hash: self.how.records.read(trial.hash) for trial in flying}
        lost = [trial for trial in flying if found[trial.hash] in (None, self.before.get(trial.hash))]
        told = [found[trial.hash] for trial in flying if trial not in lost]
        if len(flying) == 1 and lost:
            key = dict(lost.pop().key)
            cost = self.how.limits.as_cost()
            record = Record(key, "died", error=_DIED, cost=cost, made=_used_versions())
            self.how.records.write(record)
            told.append(record)
        self.alone.extend(lost)
        for one in filter(None, told):
            self.how.tell(one)


def _is_death(error: Exception) -> bool:
    """Whether a worker has died; a Dask cluster has tried again by itself before it says so."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
