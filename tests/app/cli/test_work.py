"""absentia work: parts of a comparison, by processes that know nothing of one another."""

import numpy as np
import pandas as pd
import pytest

from absentia.experiment import engine
from absentia.experiment.comparison import open_study
from absentia.experiment.engine import Pool, Records
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Trials are done here: starting workers takes seconds."""
    monkeypatch.setattr(engine, "Pool", lambda *args, **kwargs: Pool())


@pytest.fixture
def planned(tmp_path):
    """A folder in which everything is to be done."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    (tmp_path / "data").mkdir()
    for name in ("one", "two", "three"):
        table = pd.DataFrame(rng.normal(size=(24, 3)) + y[:, None], index=[f"s{i:02d}" for i in range(24)])
        table.drop(index=rng.choice(table.index, 4, replace=False)).to_csv(
            tmp_path / "data" / f"{name}.csv"
        )
    pd.Series(y, table.index, name="kind").map({0: "a", 1: "b"}).to_csv(
        tmp_path / "labels.csv", index_label="id"
    )
    call = [
        "compare",
        "data",
        "--labels",
        "labels.csv:kind",
        "-o",
        "compared",
        "--methods",
        "average",
        "linear",
    ]
    result = run(*call, "--repeats", "1", "--cv", "2", "--plan-only", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "absentia work compared --shard 1/16" in result.stdout
    assert Records(tmp_path / "compared").hashes() == set()
    return tmp_path


@pytest.mark.slow
def test_shards_do_their_part_and_say_what_is_left(planned):
    everything = {trial.hash for trial in open_study(planned / "compared").trials}
    records, there = Records(planned / "compared"), set()
    for number in (3, 1, 2):
        result = run("work", "compared", "--shard", f"{number}/3", cwd=planned)
        assert result.returncode == 0, result.stderr
        own = {hash for hash in everything if int(hash, 16) % 3 == number - 1}
        assert own
        assert records.hashes() == there | own
        assert f"{len(everything) - len(there)} to run" in result.stdout
        there |= own
        assert f"; {len(own)} of them in this shard" in result.stdout
        left = len(everything) - len(there)
        words = f"{left} of {len(everything)} trials are left to other shards"
        assert (words in result.stdout) == bool(left)
    assert f"all {len(everything)} trials are done; next:  absentia report compared" in result.stdout
    assert len(records.of(open_study(planned / "compared").trials)) == len(everything)


@pytest.mark.slow
def test_without_a_shard_everything_is_done_and_nothing_twice(planned):
    assert "trials are done" in run("work", "compared", cwd=planned).stdout
    place = planned / "compared" / "trials"
    before = {path: path.stat().st_mtime_ns for path in place.iterdir()}
    again = run("work", "compared", cwd=planned)
    assert "0 to run" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in place.iterdir()} == before


@pytest.mark.slow
def test_what_was_damaged_is_named_and_made_again(planned):
    run("work", "compared", cwd=planned)
    path = sorted((planned / "compared" / "trials").iterdir())[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    result = run("work", "compared", cwd=planned)
    assert f"{path.relative_to(planned)}: is no whole record and is made again" in result.stdout
    assert "1 to run" in result.stdout
    assert len(path.read_bytes()) == pytest.approx(len(whole), abs=20)  # costs differ


BAD = [
    (["work"], ["FOLDER"]),
    (["work", "nowhere"], ["nowhere", "no folder of a comparison", "absentia compare"]),
    (["work", "data"], ["data", "design.json"]),
    (["work", "compared", "--shard", "0/4"], ["NUMBER/COUNT", "'0/4'"]),
    (["work", "compared", "--shard", "5/4"], ["NUMBER/COUNT", "'5/4'"]),
    (["work", "compared", "--shard", "half"], ["NUMBER/COUNT", "'half'"]),
    (["work", "compared", "--jobs", "0"], ["--jobs"]),
    (["work", "compared", "--jobs", "many"], ["many"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_usage_gets_one_sentence(planned, arguments, words):
    refused(run(*arguments, cwd=planned), *words)
    assert Records(planned / "compared").hashes() == set()


def test_a_design_that_is_none_is_refused(planned):
    (planned / "compared" / "design.json").write_text("{")
    refused(run("work", "compared", cwd=planned), "design.json", "give the command again")
