"""Runs trials that have no record yet, in this process, in several, or on a cluster.

Workers write their own records; what comes back is only for whoever watches.  A worker that dies takes
those that are under way with it: these are run again one at a time, and the one that dies alone has a
record that says so.
"""

import platform
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
import sklearn

import absentia
from absentia.core import at_most
from absentia.experiment.engine._limits import Limits, OutOfTime, limited, measured
from absentia.experiment.engine._records import Record, Records
from absentia.experiment.engine._trials import Trial

Perform = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Tell = Callable[[Record], None]
THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
DIED = "its process was ended from outside: it took more time or memory than there is"


def attempt(
    perform: Perform, folder: str, key: Mapping[str, Any], limits: Limits, own_process: bool
) -> Record:
    """Do a trial, whatever comes of it, and write its record."""
    status, result, error = "done", {}, ""
    with at_most(1, 0), warnings.catch_warnings(action="ignore"), measured() as meter:
        try:
            with limited(limits, own_process):
                result = dict(perform(key))
        except OutOfTime:
            status, error = "time", f"took more than {limits.seconds:g} CPU seconds"
        except MemoryError as reason:
            status, error = "memory", _sentence(reason, "memory was too small")
        except Exception as reason:
            status, error = "failed", _sentence(reason, type(reason).__name__)
    record = Record(dict(key), status, result, error, {**meter.cost, **_asked(limits)}, made())  # type: ignore[arg-type]
    Records(folder).write(record)
    return record


def _sentence(error: BaseException, otherwise: str) -> str:
    words = " ".join(str(error).split())[:500]
    known = isinstance(error, ValueError | MemoryError)
    return (words if known else f"{type(error).__name__}: {words}") if words else otherwise


def _asked(limits: Limits) -> dict[str, float | None]:
    return {"time_limit": limits.seconds, "memory_limit": limits.memory}


def made() -> dict[str, str]:
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

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """Ready for work; what is under way when an error comes is ended."""
        with self._cluster() if self.dask else self._processes() as executor:
            yield executor

    @contextmanager
    def _processes(self) -> Iterator[Executor]:
        from joblib.externals.loky import ProcessPoolExecutor

        executor = ProcessPoolExecutor(self.jobs, env={f"{name}_NUM_THREADS": "1" for name in THREADS})
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, kill_workers=True)
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


@dataclass
class Run:
    """Trials that are to be done, and how: `perform` takes a trial's key and gives its result."""

    records: Records
    perform: Perform
    limits: Limits = field(default_factory=Limits)
    tell: Tell = lambda record: None
    begin: Callable[[Trial], None] = lambda trial: None

    def submit(self, executor: Executor, trial: Trial) -> Future[Record]:
        self.begin(trial)
        folder = str(self.records.folder.absolute())
        return executor.submit(attempt, self.perform, folder, dict(trial.key), self.limits, True)


def run(trials: Sequence[Trial], how: Run, pool: Pool) -> None:
    """Do all of these trials, in about this order."""
    if pool.here:
        for trial in trials:
            how.begin(trial)
            folder = str(how.records.folder)
            how.tell(attempt(how.perform, folder, trial.key, how.limits, False))
        return
    waiting, alone = deque(trials), deque[Trial]()
    while waiting or alone:
        try:
            with pool.executor() as executor:
                _all(waiting, alone, how, executor, pool)
        except _BrokenError as broken:
            _after(broken.flying, alone, how)


class _BrokenError(Exception):
    """A worker has died; these were under way."""

    def __init__(self, flying: Sequence[Trial]) -> None:
        super().__init__()
        self.flying = flying


def _all(waiting: deque[Trial], alone: deque[Trial], how: Run, executor: Executor, pool: Pool) -> None:
    """Submit and hear until nothing is left; `alone` are done first, one at a time."""
    flying: dict[Future[Record], Trial] = {}
    while waiting or alone or flying:
        room = 1 if alone else pool.jobs + 1  # one more lies ready, so that no process waits
        queue = alone if alone else waiting
        try:
            while queue and len(flying) < room:
                trial = queue.popleft()
                flying[how.submit(executor, trial)] = trial
            finished = wait(flying, return_when=FIRST_COMPLETED).done
            for future in finished:
                record = future.result()
                del flying[future]
                how.tell(record)
        except BrokenExecutor:
            raise _BrokenError(list(flying.values())) from None


def _after(flying: Sequence[Trial], alone: deque[Trial], how: Run) -> None:
    """Whoever was under way and has no record: again, alone; or, if it was alone, it is the one."""
    lost = []
    for trial in flying:
        record = how.records.read(trial.hash)
        if record is None:
            lost.append(trial)
        else:
            how.tell(record)
    if len(flying) == 1 and lost:
        record = Record(dict(lost[0].key), "died", error=DIED, cost=_asked(how.limits), made=made())
        how.records.write(record)
        how.tell(record)
    else:
        alone.extend(lost)
