"""A record is there as a whole or not at all, and what is no record is never taken for one."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from absentia.experiment import engine as module
from absentia.experiment.engine import Record, Records, Trial

TRIAL = Trial({"method": "mean", "fold": 3})
RECORD = Record(
    dict(TRIAL.key),
    "done",
    {"scores": {"ARE": 0.1}, "text": "ü\n"},
    "",
    {"cpu": 0.5, "memory": None},
    {"absentia": "1"},
)


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "compared")


def put(records, content, trial=TRIAL):
    """A file where the record of a trial would be."""
    records.place.mkdir(parents=True, exist_ok=True)
    path = records.path(trial.hash)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_what_is_written_is_read(records):
    path = records.write(RECORD)
    assert (path.parent.name, path.name) == ("trials", f"{TRIAL.hash}.json")
    assert records.read(TRIAL.hash) == RECORD
    assert RECORD.hash == TRIAL.hash
    failed = replace(RECORD, status="failed", result={}, error="why")
    records.write(failed)
    assert records.read(TRIAL.hash) == failed
    assert (RECORD.done, failed.done) == (True, False)
    assert os.listdir(records.place) == [path.name]
    assert records.damaged == {}


def test_a_folder_without_records_has_none(records):
    assert (records.read(TRIAL.hash), records.hashes(), records.of([TRIAL])) == (None, set(), {})
    records.folder.write_text("a file")
    assert (records.read(TRIAL.hash), records.hashes(), records.of([TRIAL])) == (None, set(), {})
    assert records.damaged == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_written(records, value):
    with pytest.raises(ValueError, match="JSON"):
        records.write(replace(RECORD, result={"score": value}))
    assert not records.place.exists() or os.listdir(records.place) == []


WHOLE = asdict(RECORD)
DEEP = b'{"trial":' + b"[" * 100_000
DAMAGE = {
    "empty": b"",
    "half": json.dumps(WHOLE).encode()[:-20],
    "zeros": bytes(400),
    "garbage": b"\xff\xfe\x00garbage",
    "too deep": DEEP,
    "another trial": WHOLE | {"trial": {"method": "mean", "fold": 4}},
    "a list": [WHOLE],
    "null": b"null",
    "no status": {k: v for k, v in WHOLE.items() if k != "status"},
    "a status of its own": WHOLE | {"status": "fine"},
    "a list as status": WHOLE | {"status": ["done"]},
    "no trial": WHOLE | {"trial": None},
    "no result": {k: v for k, v in WHOLE.items() if k != "result"},
    "a number as error": WHOLE | {"error": 1},
    "text as cost": WHOLE | {"cost": {"cpu": "much"}},
    "less than no cost": WHOLE | {"cost": {"cpu": -1.0}},
    "a cost beyond all numbers": WHOLE | {"cost": {"cpu": 10**400}},
    "made with a list": WHOLE | {"made": {"numpy": []}},
    "nan in the result": json.dumps(WHOLE | {"result": {"R2": float("nan")}}).encode(),
    "nan in the trial": json.dumps(WHOLE | {"trial": {"rate": float("nan")}}).encode(),
    "inf in the trial": json.dumps(WHOLE).replace('"fold": 3', '"fold": 1e999').encode(),
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_what_is_no_record_is_listed_and_made_again(records, content):
    path = put(records, content)
    assert records.of([TRIAL]) == {}
    assert records.read(TRIAL.hash) is None
    assert list(records.damaged) == [path]  # once
    records.write(RECORD)
    assert records.read(TRIAL.hash) == RECORD


def test_what_cannot_have_come_of_its_trial_is_no_record_of_it(tmp_path):
    def check(record):
        if record.result["R2"] > 1:
            raise ValueError("R2 is more than 1")

    records = Records(tmp_path, check)
    records.write(replace(RECORD, result={"R2": 7.0}))
    assert records.of([TRIAL]) == {}
    assert records.damaged == {records.path(TRIAL.hash): "R2 is more than 1"}
    records.write(replace(RECORD, result={"R2": 0.7}))
    assert list(records.of([TRIAL])) == [TRIAL.hash]


def test_a_huge_file_is_not_read(records, monkeypatch):
    path = put(records, WHOLE)
    os.truncate(path, module._MAX_BYTES + 1)  # sparse: takes no room
    monkeypatch.setattr(module.Path, "read_bytes", lambda path: pytest.fail("was read"))
    assert records.read(TRIAL.hash) is None
    assert list(records.damaged) == [path]


def test_links_folders_and_pipes_are_not_looked_into(records, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(WHOLE))
    records.place.mkdir(parents=True)
    path = records.path(TRIAL.hash)
    for make in (
        lambda: path.symlink_to(elsewhere),
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(tmp_path / "nowhere"),
        lambda: path.symlink_to(path),
        lambda: os.mkfifo(path),
    ):
        make()
        records.damaged.clear()
        assert records.read(TRIAL.hash) is None
        assert list(records.damaged) == [path]
        path.unlink()
    path.mkdir()
    assert records.read(TRIAL.hash) is None


def test_a_link_in_the_way_is_replaced_and_what_it_leads_to_stays(records, tmp_path):
    theirs = tmp_path / "theirs.json"
    theirs.write_text("precious")
    records.place.mkdir(parents=True)
    records.path(TRIAL.hash).symlink_to(theirs)
    records.write(RECORD)
    assert theirs.read_text() == "precious"
    assert records.read(TRIAL.hash) == RECORD


def test_files_of_other_names_are_none_of_ours(records):
    records.write(RECORD)
    for name in (
        "notes.txt",
        "ABCDEF0123456789.json",
        f".{TRIAL.hash}.json.0-1-0.part",
        f"{TRIAL.hash}.json~",
        "x.json",
    ):
        (records.place / name).write_text("{}")
    assert records.hashes() == {TRIAL.hash}
    assert records.damaged == {}


def test_of_the_files_of_trials_that_are_not_asked_for_nothing_is_read(records):
    trials = [Trial({"n": n}) for n in range(4)]
    made = {trial.hash: Record(dict(trial.key), "done") for trial in trials}
    for record in made.values():
        records.write(record)
    put(records, b"half", trials[3])
    assert set(records.of(trials[:2])) == {trial.hash for trial in trials[:2]}
    assert not records.damaged
    assert set(records.of(trials)) == {trial.hash for trial in trials[:3]}
    assert list(records.damaged) == [records.path(trials[3].hash)]


WRITER = """
import sys, threading
from absentia.experiment.engine import Record, Records
over = threading.Thread(target=sys.stdin.read)
over.start()
while over.is_alive():
    Records(sys.argv[1]).write(Record({"method": "mean", "fold": 3}, "done", {"by": "b" * 5000}))
"""


@pytest.mark.slow
def test_several_writers_of_one_record_leave_one_whole_record(records):
    command = [sys.executable, "-c", WRITER, str(records.folder)]
    other = subprocess.Popen(command, env=os.environ, stdin=subprocess.PIPE)
    seen = ""
    while seen.count("a") < 50 or seen.count("b") < 50:
        if len(seen) % 2:  # otherwise the other one's turn, if it takes it
            records.write(replace(RECORD, result={"by": "a" * 5000}))
        found = records.read(TRIAL.hash)
        seen += found.result["by"][0] if found else "-"
        assert other.poll() is None
    other.communicate()
    assert other.returncode == 0
    assert records.damaged == {}
    assert len(records.read(TRIAL.hash).result["by"]) == 5000
    assert os.listdir(records.place) == [f"{TRIAL.hash}.json"]
