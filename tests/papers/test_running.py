"""Trials of an experiment: made, run, kept, shared."""

import pytest

from absentia.experiment.engine import Pool
from absentia.files import FileError
from absentia.papers import Reproduction, find_experiment, missing_data
from helpers.small_experiment import TEXT, experiment


@pytest.fixture
def counted(monkeypatch):
    """Trials that cost nothing; what they were asked."""
    asked = []

    def perform(key):
        asked.append(key)
        if key["method"] == "CVKT":
            raise ValueError("cannot")
        return {"scores": {"error": {"": key["level"] + key["repeat"]}}}

    monkeypatch.setattr("absentia.papers.protocols.perform_trial", perform)
    return asked


def test_every_combination_is_a_trial(tmp_path):
    work = Reproduction(experiment(tmp_path), tmp_path / "out")
    assert len(work.trials) == 5 * 2 * 4
    key = work.trials[0].key
    assert (key["level"], key["repeat"], key["method"], key["parameters"]) == (0.25, 0, "ZeroFill", {})
    assert [trial.key["repeat"] for trial in work.trials] == [
        repeat for repeat in range(5) for _ in range(8)
    ]
    assert "name" not in key


def test_columns_may_be_for_some_levels_only(tmp_path):
    text = TEXT.replace("leaks = true", "leaks = true\nonly = { level = [0.5] }")
    work = Reproduction(experiment(tmp_path, text), tmp_path / "out")
    assert {t.key["level"] for t in work.trials if t.key["method"] == "CVKT"} == {0.5}
    assert len(work.trials) == 35


def test_what_was_done_is_not_done_again_and_failures_on_demand(tmp_path, counted):
    work = Reproduction(experiment(tmp_path).reduce(repeats=1), tmp_path / "out")
    work.run(work.outstanding(), Pool())
    assert len(counted) == 8
    assert work.outstanding() == []
    assert len(work.done()) == 8
    again = Reproduction(experiment(tmp_path).reduce(repeats=2), tmp_path / "out")
    assert len(again.outstanding()) == 8  # the second repeat
    assert {trial.key["method"] for trial in work.outstanding(retry=True)} == {"CVKT"}


def test_experiments_with_the_same_trials_share_them(tmp_path, counted):
    one = Reproduction(experiment(tmp_path).reduce(repeats=1), tmp_path / "out")
    one.run(one.outstanding(), Pool())
    text = TEXT.replace("{level} missing", "{level} gone").replace("0.25 missing", "0.25 gone")
    other = Reproduction(experiment(tmp_path, text, "other").reduce(repeats=1), tmp_path / "out")
    assert other.outstanding() == []


def test_data_are_named_when_they_are_not_there(tmp_path, monkeypatch):
    text = TEXT.replace('protocol = "mkmc"', 'protocol = "mkmc"\ndata = ["here", "many", "gone"]')
    small = experiment(tmp_path, text)
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    assert missing_data(small) == ["here", "many", "gone"]
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    (tmp_path / "here.npz").write_bytes(b"1")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "a.txt").write_bytes(b"2")
    assert missing_data(small) == ["gone"]
    with pytest.raises(FileError, match=r"small needs gone .*ABSENTIA_DATA"):
        Reproduction(small, tmp_path / "out").trials  # noqa: B018
    (tmp_path / "gone.npz").write_bytes(b"3")
    before = Reproduction(small, tmp_path / "out").trials
    (tmp_path / "many" / "a.txt").write_bytes(b"changed")
    after = Reproduction(small, tmp_path / "out").trials
    assert not {trial.hash for trial in before} & {trial.hash for trial in after}


@pytest.mark.slow
def test_a_real_one_runs_in_small_and_twice_gives_the_same(tmp_path):
    small = find_experiment("mkmc-simulated").reduce(quick=True)
    found = []
    for name in ("a", "b"):
        work = Reproduction(small, tmp_path / name)
        work.run(work.outstanding(), Pool())
        assert all(record.done for record in work.done()), [record.error for record in work.done()]
        found.append([(record.trial, record.result) for record in work.done()])
    assert found[0] == found[1]
