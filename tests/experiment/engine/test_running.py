"""Every trial gets its record, whatever happens to it, to its process or to its neighbours."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from absentia.experiment import engine as module
from absentia.experiment.engine import FolderError, Limits, Pool, Record, Records, Run, Trial, run
from absentia.files import FileError
from helpers import trial_functions

MEGABYTE = 1 << 20


def trial(do, n=0):
    return Trial({"do": do, "n": n})


class Watcher:
    """Runs trials and hears of them."""

    def __init__(self, folder, perform=trial_functions.perform, limits=None):
        self.records, self.begun, self.told = Records(folder), [], []
        self.how = Run(self.records, perform, limits or Limits(), self.told.append, self.begun.append)

    def run(self, trials, pool):
        run(trials, self.how, pool)
        return self

    def statuses(self):
        """How each deed ended, by the records on the disk."""
        found = (self.records.read(hash) for hash in self.records.hashes())
        return Counter((record.trial["do"], record.status) for record in found)

    def check(self, trials):
        """All have a record, and whoever watches has heard of each once, and as on the disk."""
        hashes = {one.hash for one in trials}
        assert set(self.records.of(trials)) == hashes
        assert Counter(one.hash for one in self.begun) == Counter(hashes)
        assert Counter(record.hash for record in self.told) == Counter(hashes)
        assert all(self.records.read(record.hash).status == record.status for record in self.told)
        assert [name for name in os.listdir(self.records.place) if name.endswith(".part")] == []


def error_of(watcher, one):
    return watcher.records.read(one.hash).error


# ----------------------------------------------------------------------------------------- in process

FAILURES = {
    "fail": ("failed", "KeyError: 'no such luck'"),
    "nan": ("failed", "its result holds what is no number (nan or inf)"),
    "array": ("failed", "TypeError: Object of type ndarray is not JSON serializable"),
    "leave": ("failed", "SystemExit: enough"),
    "silent": ("failed", "SilentError"),
    "no memory": ("memory", "OSError: [Errno 12] Cannot allocate memory"),
}


def test_in_this_process_trials_are_done_in_order_and_failures_stop_nothing(tmp_path):
    trials = [trial("count"), *map(trial, FAILURES), trial("count", 1)]
    watcher = Watcher(tmp_path).run(trials, Pool())
    watcher.check(trials)
    assert [record.hash for record in watcher.told] == [one.hash for one in trials]
    for name, (status, words) in FAILURES.items():
        record = watcher.records.read(trial(name).hash)
        assert (record.status, record.error, record.result) == (status, words, {})
    last = watcher.told[-1]
    assert (last.status, last.result, last.error) == ("done", {"n": 1, "pid": os.getpid()}, "")
    assert set(last.cost) == {"cpu", "wall", "memory", "time_limit", "memory_limit"}
    assert {"absentia", "numpy", "python"} <= set(last.made)


def test_limits_are_kept_in_this_process_and_said(tmp_path):
    # the limit is of the address space, of which a process that ran other tests may give back some meanwhile
    trials = [trial("spin"), trial("large", 20_000), trial("count")]
    watcher = Watcher(tmp_path, limits=Limits(0.2, 150 * MEGABYTE)).run(trials, Pool())
    assert watcher.statuses() == {("spin", "time"): 1, ("large", "memory"): 1, ("count", "done"): 1}
    assert error_of(watcher, trials[0]) == "took more than 0.2 CPU seconds"
    assert "allocate" in error_of(watcher, trials[1])
    assert watcher.told[0].cost["time_limit"] == 0.2
    assert watcher.told[1].cost["memory_limit"] == 150 * MEGABYTE


def test_ctrl_c_stops_and_keeps_what_is_done(tmp_path):
    def perform(key):
        if key["n"] == 2:
            raise KeyboardInterrupt
        return {}

    trials = [trial("count", n) for n in range(4)]
    with pytest.raises(KeyboardInterrupt):
        Watcher(tmp_path, perform).run(trials, Pool())
    assert Records(tmp_path).hashes() == {one.hash for one in trials[:2]}


def test_a_folder_that_cannot_be_written_to_is_an_error_not_a_failure(tmp_path):
    (tmp_path / "trials").write_text("in the way")
    with pytest.raises((FileError, OSError)):
        Watcher(tmp_path).run([trial("count")], Pool())


class Prepared:
    """Wants much once in every process."""

    def __init__(self):
        self.ready = False

    def prepare(self, key):
        if not self.ready:
            trial_functions.large({"n": 300})
            begun = time.process_time()
            while time.process_time() - begun < 0.5:
                pass
        self.ready = True

    def __call__(self, key):
        return {"ready": self.ready}


@pytest.mark.slow
def test_what_is_prepared_is_neither_limited_nor_measured(tmp_path):
    watcher = Watcher(tmp_path, Prepared(), Limits(0.4, 100 * MEGABYTE)).run([trial("count")], Pool())
    record = watcher.told[0]
    assert (record.status, record.result) == ("done", {"ready": True})
    assert record.cost["cpu"] < 0.4
    assert record.cost["memory"] < 100


def test_what_cannot_be_prepared_is_no_failure_of_the_trial(tmp_path):
    perform = Prepared()
    perform.prepare = lambda key: trial_functions.fail(key)
    with pytest.raises(KeyError, match="no such luck"):
        Watcher(tmp_path, perform).run([trial("count")], Pool())
    assert Records(tmp_path).hashes() == set()


def _elsewhere(key):
    raise FolderError("the data are others")


def test_a_fault_of_the_folder_stops_all_and_has_no_record(tmp_path):
    with pytest.raises(FolderError, match="the data are others"):
        Watcher(tmp_path, _elsewhere).run([trial("count")], Pool())
    assert Records(tmp_path).hashes() == set()


def test_nothing_to_do_starts_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Pool, "executor", lambda self: pytest.fail("was started"))
    Watcher(tmp_path).run([], Pool(2))


def test_which_pools_are_this_process():
    assert [Pool().here, Pool(0).here] == [True, True]
    assert [Pool(2).here, Pool(apart=True).here, Pool(dask="tcp://x").here] == [False, False, False]


# -------------------------------------------------------------------------------------------- in a pool


@pytest.fixture(scope="module")
def pooled(tmp_path_factory):
    """A run in two processes in which much goes wrong."""
    trials = [trial("count", n) for n in range(24)]
    trials[3:3] = [*map(trial, FAILURES), trial("spin"), trial("large", 400), trial("threads")]
    watcher = Watcher(tmp_path_factory.mktemp("pooled"), limits=Limits(0.3, 150 * MEGABYTE))
    return watcher.run(trials, Pool(2)), trials


@pytest.mark.slow
def test_in_a_pool_every_trial_has_its_record(pooled):
    watcher, trials = pooled
    watcher.check(trials)
    bad = {(name, status): 1 for name, (status, _) in FAILURES.items()}
    bad |= {("spin", "time"): 1, ("large", "memory"): 1}
    assert watcher.statuses() == bad | {("count", "done"): 24, ("threads", "done"): 1}


def test_failures_in_a_pool_say_what_they_say_here(pooled):
    watcher, _ = pooled
    for name, (_, words) in FAILURES.items():
        assert error_of(watcher, trial(name)) == words
    assert error_of(watcher, trial("spin")) == "took more than 0.3 CPU seconds"


def test_workers_are_others_than_this_process_and_have_one_thread(pooled):
    watcher, _ = pooled
    assert os.getpid() not in {r.result["pid"] for r in watcher.told if r.trial["do"] == "count" and r.done}
    found = watcher.records.read(trial("threads").hash).result
    assert set(found["now"]) == {1}
    assert found["set"] == ["1", "1", "1"]


def test_the_order_is_about_kept(pooled):
    watcher, trials = pooled
    assert [one.hash for one in watcher.begun] == [one.hash for one in trials]


def workers():
    """Living processes that loky began below this one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes()
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"popen_loky_posix" in command and parent == os.getpid():
            found.append(int(place.name))
    return found


def gone(find, seconds=120.0):
    """Whether processes have ended, after some seconds at most."""
    end = time.monotonic() + seconds
    while find() and time.monotonic() < end:
        time.sleep(0.05)
    return not find()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ctrl_c_ends_the_workers(tmp_path):
    watcher = Watcher(tmp_path)
    before = set(workers())

    def stop(record):
        assert set(workers()) - before
        raise KeyboardInterrupt

    watcher.how.tell = stop
    trials = [trial("count"), trial("rest", 600), trial("rest", 601)]
    with pytest.raises(KeyboardInterrupt):
        watcher.run(trials, Pool(2))
    assert gone(lambda: set(workers()) - before)
    assert watcher.records.hashes() == {trials[0].hash}


class Broken:
    """An executor that finds itself broken at its third submission, as when a worker has just died."""

    def __init__(self):
        self.left = 2

    def submit(self, function, *arguments):
        if not self.left:
            raise module.BrokenExecutor
        self.left -= 1
        future = module.Future()
        future.set_result(function(*arguments[:-1], False))
        return future


def test_a_trial_that_meets_a_dead_pool_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(Pool, "executor", lambda self: nullcontext(Broken()))
    trials = [trial("count", n) for n in range(9)]
    watcher = Watcher(tmp_path).run(trials, Pool(2))
    watcher.check(trials)
    assert watcher.statuses() == {("count", "done"): 9}


class Dying(Broken):
    """Workers that die at "kill", and with it whatever is under way."""

    def submit(self, function, *arguments):
        future = module.Future()
        if arguments[2]["do"] == "kill":
            future.set_exception(module.BrokenExecutor())
        else:
            future.set_result(function(*arguments[:-1], False))
        return future


def test_an_old_record_is_no_sign_that_a_trial_is_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr(Pool, "executor", lambda self: nullcontext(Dying()))
    trials = [trial("kill", 0), trial("kill", 1), trial("count")]
    watcher = Watcher(tmp_path)
    for one in trials:
        watcher.records.write(Record(dict(one.key), "failed", error="of old"))
    watcher.run(trials, Pool(2))
    watcher.check(trials)
    assert watcher.statuses() == {("kill", "died"): 2, ("count", "done"): 1}


def test_workers_that_all_die_come_to_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(Pool, "executor", lambda self: nullcontext(Dying()))
    trials = [trial("kill", n) for n in range(20)]
    watcher = Watcher(tmp_path).run(trials, Pool(4))
    watcher.check(trials)
    assert watcher.statuses() == {("kill", "died"): 20}


# ------------------------------------------------------------------------------------------ expensive


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 3])
def test_whoever_ends_its_process_is_recorded_and_nobody_else_is_lost(tmp_path, jobs):
    trials = [trial("count", n) for n in range(24)]
    trials[1:1] = [trial("exit")]
    trials[20:20] = [trial("kill"), trial("kill", 1)]
    watcher = Watcher(tmp_path, limits=Limits(30.0, 1500 * MEGABYTE)).run(trials, Pool(jobs, apart=True))
    watcher.check(trials)
    assert watcher.statuses() == {("count", "done"): 24, ("exit", "died"): 1, ("kill", "died"): 2}
    record = watcher.records.read(trial("exit").hash)
    assert record.error == module._DIED
    assert record.cost == {"time_limit": 30.0, "memory_limit": 1500 * MEGABYTE}
    assert record.made["absentia"]


@pytest.mark.slow
def test_a_fit_that_does_not_listen_is_ended_by_the_operating_system(tmp_path):
    trials = [trial("count"), trial("deaf"), *(trial("count", n) for n in range(1, 5))]
    watcher = Watcher(tmp_path, limits=Limits(0.5)).run(trials, Pool(1, apart=True))
    watcher.check(trials)
    assert watcher.statuses() == {("count", "done"): 5, ("deaf", "died"): 1}


@pytest.mark.slow
def test_workers_that_grow_are_replaced_without_a_word(tmp_path):
    trials = [trial("leak", n) for n in range(30)]
    watcher = Watcher(tmp_path).run(trials, Pool(2))
    watcher.check(trials)
    assert watcher.statuses() == {("leak", "done"): 30}


ORPHANS = """
import sys
from absentia.experiment.engine import Pool, Records, Run, Trial, run
from helpers.trial_functions import perform
trials = [Trial({"do": "count", "n": 0}), Trial({"do": "rest", "n": 600})]
run(trials, Run(Records(sys.argv[1]), perform, tell=lambda record: print("told", flush=True)), Pool(2))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_workers_do_not_outlive_a_process_that_was_killed(tmp_path):
    tests = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    command = [sys.executable, "-c", ORPHANS, str(tmp_path)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"told\n"
    session = lambda: [p for p in living(process.pid) if p != process.pid]
    assert session()
    process.kill()
    process.wait()
    process.stdout.close()
    assert gone(session)


def living(session):
    """Processes of a session that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(place.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("processes", [True, False])
def test_a_dask_cluster_does_trials_too(tmp_path, processes):
    distributed = pytest.importorskip("distributed")
    trials = [trial("count", n) for n in range(12)]
    trials += [trial("fail"), trial("nan"), trial("threads")]
    trials += [trial("kill")] * processes
    pool = Pool(1, dask="set below")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=None, silence_logs=50
    ) as cluster:
        pool.dask = cluster.scheduler_address
        watcher = Watcher(tmp_path, limits=Limits(30.0)).run(trials, pool)
    watcher.check(trials)
    assert pool.jobs == 2
    expected = {("count", "done"): 12, ("fail", "failed"): 1, ("nan", "failed"): 1, ("threads", "done"): 1}
    assert watcher.statuses() == expected | ({("kill", "died"): 1} if processes else {})


def test_a_dask_cluster_without_dask_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'absentia\[dask\]'"):
        Watcher(tmp_path).run([trial("count")], Pool(dask="tcp://nowhere:1"))


def test_signals_are_held_only_while_processes_begin():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with module._interrupts_held():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
