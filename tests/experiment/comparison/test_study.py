"""A folder with data, design and records: run, interrupted, gone on with, asked otherwise."""

import json
from dataclasses import replace

import numpy as np
import pytest

from absentia.experiment.comparison._design import Design
from absentia.experiment.comparison._problem import FILE
from absentia.experiment.comparison._study import Outstanding, Study, _settled, open_study
from absentia.experiment.engine import Limits, Pool, Record
from absentia.files import FileError
from comparing import METHODS, made_design, made_problem, made_up

TASKS = ["classes", "numbers", "labels", "completion"]


def filled(study, share=1.0, seed=0):
    """Records by luck for the first trials."""
    rng = np.random.default_rng(seed)
    for trial in study.trials[: round(share * len(study.trials))]:
        study.records.write(made_up(study.problem, trial, rng))


def small(task, tmp_path, **more):
    study = Study(made_problem(task), made_design(task, **more), tmp_path)
    study.save()
    return study


def plain(record):
    return record.trial, record.status, record.result, record.error


# ------------------------------------------------------------------------------------------ outstanding


def test_what_has_no_record_is_to_be_run(tmp_path):
    study = small("classes", tmp_path)
    left = study.outstanding()
    assert (len(left.todo), left.reused, left.why) == (len(study.trials), 0, {"new": len(study.trials)})
    assert left.sentence == f"{len(study.trials)} trials: 0 are there already, {len(study.trials)} to run"
    filled(study, 0.5)
    half = study.outstanding()
    assert half.reused + len(half.todo) == len(study.trials)
    assert half.sentence.endswith(f"to run ({len(half.todo)} new)")
    filled(study)
    assert study.outstanding().todo == []


def test_why_trials_are_run_again(tmp_path):
    study = small("completion", tmp_path)
    filled(study)
    seeds = Study(study.problem, made_design("completion", seed=1), tmp_path)
    assert set(seeds.outstanding().why) == {"the seed is another"}
    data = Study(made_problem("completion", seed=1), made_design("completion"), tmp_path)
    assert set(data.outstanding().why) == {"the data are others"}
    more = Study(study.problem, made_design("completion", repeats=4), tmp_path).outstanding()
    assert more.why == {"new": 3}
    assert more.reused == 9
    assert Outstanding([], 3, {}).sentence == "3 trials: 3 are there already, 0 to run"


@pytest.mark.parametrize(
    ("status", "before", "limits", "retry", "settled"),
    [
        ("done", None, Limits(), False, True),
        ("done", None, Limits(), True, True),
        ("failed", None, Limits(), False, True),
        ("failed", None, Limits(), True, False),
        ("time", 5.0, Limits(5.0), False, True),
        ("time", 5.0, Limits(5.0), True, False),
        ("time", 5.0, Limits(6.0), False, False),
        ("time", 5.0, Limits(4.0), False, True),
        ("time", 5.0, Limits(), False, False),
        ("memory", 100, Limits(memory=200), False, False),
        ("memory", 100, Limits(memory=100), False, True),
        ("memory", None, Limits(), False, True),
        ("died", None, Limits(), False, True),
        ("died", None, Limits(), True, False),
    ],
)
def test_what_is_run_again(status, before, limits, retry, settled):
    cost = {"time_limit": before, "memory_limit": before}
    assert _settled(Record({}, status, cost=cost), limits, retry) == settled
    assert not _settled(None, limits, retry)


def test_expected_seconds_add_up(tmp_path):
    study = small("classes", tmp_path)
    whole = study.expected_seconds(study.trials)
    assert whole == pytest.approx(
        study.expected_seconds(study.trials[:7]) + study.expected_seconds(study.trials[7:])
    )
    assert whole > 0


# ------------------------------------------------------------------------------------------------ folders


def test_a_study_is_opened_as_it_was_asked_for(tmp_path):
    study = small("classes", tmp_path, completers=("mean",))
    filled(study)
    back = open_study(tmp_path)
    assert back.design == study.design
    assert [t.hash for t in back.trials] == [t.hash for t in study.trials]
    assert back.findings().verdict == study.findings().verdict
    assert back.words(0.5) == "50.0%"


@pytest.mark.parametrize("task", TASKS)
def test_a_study_of_kernels_is_opened_with_its_records(task, tmp_path):
    problem = made_problem(task)
    problem = problem.changed(problem.kernels)
    study = Study(problem, Design(METHODS[task][:1], repeats=2, cv=2), tmp_path)
    study.save()
    filled(study)
    assert open_study(tmp_path).outstanding().todo == []


def test_data_are_written_again_only_if_they_are_others(tmp_path):
    study = small("classes", tmp_path)
    before = (tmp_path / FILE).stat().st_mtime_ns
    Study(study.problem, made_design("classes", repeats=1), tmp_path).save()
    assert (tmp_path / FILE).stat().st_mtime_ns == before
    Study(made_problem("classes", seed=1), made_design("classes"), tmp_path).save()
    assert open_study(tmp_path).problem.hash == made_problem("classes", seed=1).hash
    (tmp_path / "design.json").write_text("{")
    study.save()
    assert open_study(tmp_path).problem.hash == study.problem.hash


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileError, match="is no folder of a comparison"):
        open_study(tmp_path)
    Design(("mean",)).save(tmp_path)
    with pytest.raises(FileError):
        open_study(tmp_path)


def test_a_metric_that_the_task_has_not_is_refused(tmp_path):
    with pytest.raises(ValueError, match="metric 'R2'"):
        Study(made_problem("classes"), made_design("classes", metric="R2"), tmp_path)


# ------------------------------------------------------------------------------------------------- running


@pytest.mark.slow
def test_trials_are_run_once_and_in_any_number_of_processes_alike(tmp_path):
    here, apart = (small("classes", tmp_path / name, repeats=1, cv=2) for name in ("here", "apart"))
    heard = []
    here.run(here.outstanding().todo, Pool(1), heard.append)
    assert len(heard) == len(here.trials)
    apart.run(apart.outstanding().todo, Pool(2))
    one, other = (study.records.of(study.trials) for study in (here, apart))
    assert {hash: plain(record) for hash, record in one.items()} == {h: plain(r) for h, r in other.items()}
    assert all(record.done for record in one.values())
    assert here.outstanding().todo == apart.outstanding().todo == []


def test_the_same_again_has_the_same_records(tmp_path):
    one, other = (small("completion", tmp_path / name, repeats=1) for name in ("one", "other"))
    for study in (one, other):
        study.run(study.outstanding().todo, Pool(1))
    first, second = (study.records.of(study.trials) for study in (one, other))
    assert {hash: plain(r) for hash, r in first.items()} == {hash: plain(r) for hash, r in second.items()}


# ------------------------------------------------------------------------------------------------ findings


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_findings_of_what_is_there(task, share, tmp_path):
    beside = () if task == "completion" else ("mean", "zero")
    study = small(
        task,
        tmp_path,
        rates=(0.1, 0.2),
        completers=beside,
        repeats_of={METHODS[task][1]: 1},
        remarks=("note",),
    )
    filled(study, share)
    found = study.findings()
    assert (found.done, found.wanted) == (len(study.records.hashes()), len(study.trials))
    assert found.warnings == ("note",)
    assert {row.method: row.wanted for row in found.rows} == {
        method: (1 if task == "completion" else 3) * (1 if method == METHODS[task][1] else 3)
        for method in METHODS[task]
    }
    if beside and share == 1:
        assert {row.method for row in found.completion.rows} == set(beside)
        assert found.completion.task == "completion"
        assert found.completion.kernels is not None
        assert found.completion.curves == []
        assert found.completion.done == 3 * len(beside)
        assert found.kernels is None
    assert (found.completion is None) == (task == "completion")
    if share == 1:
        assert all(row.done == row.wanted for row in found.rows)


def test_records_that_are_damaged_are_run_again(tmp_path):
    study = small("completion", tmp_path)
    filled(study)
    path = study.records.path(study.trials[0].hash)
    path.write_text(json.dumps({"status": "done"}))
    assert [t.hash for t in study.outstanding().todo] == [study.trials[0].hash]
    assert study.findings().done == len(study.trials) - 1


@pytest.mark.parametrize("changes", [{"methods": ["mean", "unheard-of"]}, {"metric": "accuracy"}])
def test_a_design_that_does_not_go_with_its_data_is_named(tmp_path, changes):
    small("completion", tmp_path).save()
    path = tmp_path / "design.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(FileError, match=r"design\.json: not a design for these data"):
        open_study(tmp_path)


def test_records_of_other_questions_are_not_counted(tmp_path):
    study = small("completion", tmp_path)
    filled(study)
    fewer = Study(
        study.problem, replace(study.design, methods=METHODS["completion"][:2], repeats=2), tmp_path
    )
    found = fewer.findings()
    assert (found.done, len(found.rows)) == (4, 2)
