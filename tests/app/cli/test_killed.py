"""A comparison that is killed, interrupted or divided comes to the same records as one that is not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import run_process

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")]

METHODS = ["average", "linear", "mean-svm", "complete-cases"]
ARGUMENTS = [
    "compare",
    "data",
    "--labels",
    "labels.csv:kind",
    "--methods",
    *METHODS,
    "--cv",
    "3",
    "-j",
    "2",
]
COMPARE = [*ARGUMENTS, "--repeats", "2"]
TRIALS = 2 * 3 * len(METHODS) + 2 * 3 * 6  # and three views, without each and with it alone
RECORD = {"trial", "status", "result", "error", "cost", "made"}


def write_data(folder, seed=0):
    """48 samples with three views, some absent, of two classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 24)
    (folder / "data").mkdir(exist_ok=True)
    for name in ("one", "two", "three"):
        table = pd.DataFrame(rng.normal(size=(48, 3)) + y[:, None], index=[f"s{i:02d}" for i in range(48)])
        kept = table.drop(index=rng.choice(table.index, 6, replace=False))
        kept.to_csv(folder / "data" / f"{name}.csv", index_label="id")
    kinds = pd.Series(y, table.index, name="kind").map({0: "a", 1: "b"})
    kinds.to_csv(folder / "labels.csv", index_label="id")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    write_data(folder)
    return folder


@pytest.fixture(scope="module")
def whole(place):
    """The records of a comparison that nothing happened to."""
    result = run_process(*COMPARE, "-o", "whole", cwd=place)
    assert result.returncode == 0, result.stderr
    assert f"{TRIALS} trials: 0 are there already, {TRIALS} to run" in result.stdout
    return contents(place / "whole")


def contents(folder):
    """All records by name: what was done and what came out; each file is whole."""
    found = {}
    for path in (folder / "trials").glob("*.json"):
        said = json.loads(path.read_bytes())
        assert set(said) == RECORD
        found[path.name] = {key: said[key] for key in ("trial", "status", "result", "error")}
    return found


def leftovers(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.name.endswith(".part")]


def start(place, *arguments):
    """The command with its own process group, as a terminal starts it."""
    command = [sys.executable, "-m", "absentia", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=place, env=dict(os.environ), start_new_session=True, **streams)


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


def until(true, seconds=300.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def count(folder):
    return len(list((folder / "trials").glob("*.json")))


def kill(process):
    """At once, with all its children; what the operating system keeps of their semaphores goes, too."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not living(process.pid))
    for path in Path("/dev/shm").glob(f"sem.loky-{process.pid}-*"):
        path.unlink(missing_ok=True)
    return process.returncode


def test_killed_twenty_times_it_comes_to_the_same_records(place, whole):
    """Ten times some time after the start, ten times some time after a record that is new."""
    rng, folder = random.Random(0), place / "killed"
    reached = [0]
    for number in range(20):
        process = start(place, *COMPARE, "-o", "killed")
        if number % 2:
            until(lambda: count(folder) > reached[-1])
            time.sleep(rng.uniform(0.0, 0.2))
        else:
            time.sleep(rng.uniform(0.3, 3.0))
        kill(process)
        reached.append(count(folder))
        assert reached[-1] >= reached[-2]  # nothing is lost
        there = contents(folder)  # and there is no half file
        assert there == {name: whole[name] for name in there}
    assert len(set(reached)) > 3, reached
    result = run_process(*COMPARE, "-o", "killed", cwd=place)
    assert result.returncode == 0, result.stderr
    assert (
        f"{TRIALS} trials: {reached[-1]} are there already, {TRIALS - reached[-1]} to run" in result.stdout
    )
    assert contents(folder) == whole
    # who is killed in the middle of writing leaves a hidden file, which goes when it is a day old
    assert all(path.name.startswith(".") for path in leftovers(folder))


def test_four_processes_that_share_a_folder_come_to_the_same_records(place, whole):
    planned = run_process(*COMPARE, "-o", "shared", "--plan-only", cwd=place)
    assert planned.returncode == 0, planned.stderr
    assert not (place / "shared" / "trials").exists()
    workers = [start(place, "work", "shared", "--shard", f"{k}/4") for k in (1, 2, 3, 4)]
    said = [worker.communicate(timeout=300) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0, 0], said
    assert contents(place / "shared") == whole
    assert leftovers(place / "shared") == []
    own = [int(out.partition(" of them in this shard")[0].rpartition(" ")[2]) for out, _ in said]
    assert sum(own) == TRIALS
    report = run_process("report", "shared", cwd=place)
    assert report.returncode == 0, report.stderr


def test_two_processes_that_do_the_same_trials_do_not_hurt_one_another(place, whole):
    both = [start(place, *COMPARE, "-o", "twice") for _ in range(2)]
    said = [one.communicate(timeout=300) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert contents(place / "twice") == whole
    assert leftovers(place / "twice") == []


@pytest.mark.parametrize(
    ("number", "everybody", "words"),
    [
        (signal.SIGINT, True, "interrupted"),  # as a terminal does
        (signal.SIGINT, False, "interrupted"),
        (signal.SIGTERM, False, "ended by SIGTERM"),
    ],
)
def test_an_interrupt_says_what_is_kept_and_how_to_go_on(place, whole, number, everybody, words):
    name = f"interrupted-{number}-{everybody}"
    process = start(place, *COMPARE, "-o", name, "--quiet")  # no lines of progress
    until(lambda: count(place / name) >= 3)
    (os.killpg if everybody else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=300)
    until(lambda: not living(process.pid))
    assert process.returncode == 128 + number, err
    there = contents(place / name)
    said = [line for line in err.splitlines() if not line.startswith("warning: ")]
    # where the machine is so busy that ending workers takes seconds, it is the middle of a long step
    assert [line.replace(" in the middle of a long step", "") for line in said] == [
        f"absentia: {words}; {len(there)} of {TRIALS} trials are kept in {name}; the same command, or absentia "
        f"work {name}, goes on, and absentia report {name} shows what is there"
    ]
    assert 3 <= len(there) < TRIALS
    assert there == {name: whole[name] for name in there}
    assert run_process("work", name, "-j", "2", cwd=place).returncode == 0
    assert contents(place / name) == whole
    assert leftovers(place / name) == []


def test_an_interrupt_before_the_first_trial_is_one_sentence_too(place):
    """While workers begin, which takes longer than a trial."""
    process = start(place, *COMPARE, "-o", "early")
    until(lambda: (place / "early" / "design.json").exists())
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert [line for line in err.splitlines() if not line.startswith(("warning: ", "absentia: "))] == []
    until(lambda: not living(process.pid))


# ---------------------------------------------------------------------------------------- what is reused


NOTHING = f"{TRIALS} trials: {TRIALS} are there already, 0 to run"


def said(place, *arguments):
    """The line that says what is run."""
    result = run_process(*arguments, cwd=place)
    assert result.returncode == 0, result.stderr
    return next(line for line in result.stdout.splitlines() if " trials: " in line)


def test_the_same_command_says_what_it_reuses_and_why_it_does_not(tmp_path, whole):
    write_data(tmp_path)
    again = [*COMPARE, "-o", "again"]
    assert said(tmp_path, *again) == f"{TRIALS} trials: 0 are there already, {TRIALS} to run"
    assert contents(tmp_path / "again") == whole
    assert said(tmp_path, *again).startswith(NOTHING)
    more = 3 * len(METHODS)
    words = f"{TRIALS + more} trials: {TRIALS} are there already, {more} to run ({more} new)"
    assert said(tmp_path, *ARGUMENTS, "--repeats", "3", "-o", "again") == words
    assert said(tmp_path, *again).startswith(NOTHING)

    path = sorted((tmp_path / "again" / "trials").iterdir())[0]
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps(record | {"status": "failed", "result": {}, "error": "bad luck"}))
    there = {name: one for name, one in contents(tmp_path / "again").items() if name in whole}
    assert there != whole
    assert said(tmp_path, *again).startswith(NOTHING)
    words = f"{TRIALS} trials: {TRIALS - 1} are there already, 1 to run (1 because they failed)"
    assert said(tmp_path, *again, "--retry") == words
    there = {name: one for name, one in contents(tmp_path / "again").items() if name in whole}
    assert there == whole

    write_data(tmp_path, seed=1)
    why = "the data, or what classes are decided by, are others"
    words = f"{TRIALS} trials: 0 are there already, {TRIALS} to run ({TRIALS} because {why})"
    assert said(tmp_path, *again) == words
