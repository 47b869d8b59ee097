"""A folder with data, design and records: run, interrupted, gone on with, asked otherwise."""

import json
from dataclasses import replace

import numpy as np
import pytest

from absentia.experiment.comparison import Design, Study, open_study
from absentia.experiment.comparison._study import _MAX_SECONDS, _thin_design
from absentia.experiment.engine import Limits, Pool, Record
from absentia.files import FileError
from helpers.comparison_problems import METHODS, made_data, made_design, made_up

TASKS = ["classes", "numbers", "survival", "labels", "completion"]


def filled(study, share=1.0, seed=0):
    """Records by luck for the first trials."""
    rng = np.random.default_rng(seed)
    for trial in study.trials[: round(share * len(study.trials))]:
        study.records.write(made_up(study.data, trial, rng))


def small(task, tmp_path, **more):
    study = Study(made_data(task), made_design(task, **more), tmp_path)
    study.save()
    return study


def plain(record):
    return record.trial, record.status, record.result, record.error


# ------------------------------------------------------------------------------------------ outstanding


def test_what_has_no_record_is_to_be_run(tmp_path):
    study = small("classes", tmp_path)
    left = study.outstanding()
    assert left == study.trials
    words = f"{len(left)} trials: 0 are there already, {len(left)} to run"
    assert study.describe_outstanding(left) == words
    filled(study, 0.5)
    half = study.outstanding()
    assert half == [trial for trial in study.trials if trial.hash not in study.records.hashes()]
    assert 0 < len(half) < len(left)
    assert study.describe_outstanding(half).endswith(f"to run ({len(half)} new)")
    filled(study)
    assert study.outstanding() == []
    assert study.describe_outstanding([]).endswith("are there already, 0 to run")


@pytest.mark.parametrize("task", ["classes", "completion"])
def test_trials_of_other_data_or_seeds_are_run_anew_and_why_is_said(task, tmp_path):
    study = small(task, tmp_path)
    filled(study)
    seeds = Study(study.data, made_design(task, seed=1), tmp_path)
    data = Study(made_data(task, seed=1), made_design(task), tmp_path)
    changed = {seeds: "the seed is another", data: "the data, or what classes are decided by, are others"}
    for other, why in changed.items():
        left = other.outstanding()
        assert left == other.trials
        assert other.describe_outstanding(left).endswith(f"{len(left)} to run ({len(left)} because {why})")
        assert other.records.damaged == {}  # they are good records of something else


def test_trials_of_more_repeats_are_new(tmp_path):
    study = small("completion", tmp_path)
    filled(study)
    more = Study(study.data, made_design("completion", repeats=4), tmp_path)
    words = "12 trials: 9 are there already, 3 to run (3 new)"
    assert more.describe_outstanding(more.outstanding()) == words


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
    assert Record({}, status, cost=cost).is_left(limits, retry) != settled


# ------------------------------------------------------------------------------------- what fits cost


def test_what_a_method_takes_is_the_median_of_its_fits(tmp_path):
    study = small("classes", tmp_path)
    assert study.measured_seconds() == {}
    for trial, cpu in zip(study.trials[::3][:3], (1.0, 5.0, 2.0), strict=True):
        assert trial.key["method"] == "average"
        study.records.write(
            replace(made_up(study.data, trial, np.random.default_rng(0)), cost={"cpu": cpu})
        )
    assert study.measured_seconds() == {"average": 2.0}


def timed(study, seconds, status="done", limit=None):
    """Records of first fits that took so long."""
    rng, found = np.random.default_rng(0), {}
    for method, trial in study.first_trials().items():
        record = made_up(study.data, trial, rng)
        cost = {"cpu": seconds.get(method, 0.001), "time_limit": limit}
        found[method] = replace(record, status=status if method in seconds else "done", cost=cost)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_slow_methods_get_as_many_repeats_as_fit_into_their_time(task, tmp_path):
    study = small(task, tmp_path, repeats=9)
    simplest, slow, _ = METHODS[task]
    assert set(study.first_trials()) == set(METHODS[task])
    fits = 1 if task == "completion" else 3
    found = timed(study, {slow: _MAX_SECONDS / fits / 5.5})
    thin = _thin_design(study.data, study.design, found)
    assert thin.repeats_of == {slow: 5}
    assert (thin.methods, thin.left_out) == (study.design.methods, {})
    least = _thin_design(study.data, study.design, timed(study, {slow: 1000.0, simplest: 1000.0}))
    assert least.repeats_of == {slow: 3 if task == "completion" else 1}  # one draw tells nothing of chance
    assert least.repeats_for(simplest) == 9
    assert least.repeats_of_views == 1
    assert _thin_design(study.data, study.design, {}) == study.design


def test_what_is_not_done_in_time_is_left_out_and_why(tmp_path):
    study = small("classes", tmp_path)
    late = timed(study, {"linear": 60.0, "average": 60.0}, "time", 60.0)
    thin = _thin_design(study.data, study.design, late)
    assert thin.methods == ("average", "mean-svm")
    assert thin.left_out == {
        "linear": "took more than 60 CPU s for its first fit on these data; ask for it by name"
    }
    limited = replace(study.design, time_limit=60.0)  # by the user: then it is a failure in the table
    assert _thin_design(study.data, limited, late).left_out == {}


def test_methods_are_timed_once_and_a_folder_that_is_gone_on_with_is_thinned_alike(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(
        Study, "run", lambda study, trials, *more, **limits: ran.append([t.key["method"] for t in trials])
        or [study.records.write(record) for record in timed(study, {"linear": 1.0}).values()]
    )  # fmt: skip
    study = small("classes", tmp_path, repeats=20)
    study.time_methods(Pool())
    assert ran == [["average"], ["linear", "mean-svm"]]
    assert study.design.repeats_of == {"linear": int(_MAX_SECONDS / 3)}
    assert {t.key["repeat"] for t in study.trials if t.key["method"] == "linear"} == {*range(6)}
    assert open_study(tmp_path).design == study.design
    again = Study(study.data, made_design("classes", repeats=20), tmp_path)
    assert again.list_untimed() == []
    again.time_methods(Pool())
    assert ran[2:] == [[], []]
    assert again.design == study.design


def test_a_first_fit_has_a_minute_and_the_simplest_all_the_time_that_it_wants(tmp_path, monkeypatch):
    limits = []
    monkeypatch.setattr(
        "absentia.experiment.comparison._study.run", lambda trials, how, pool: limits.append(how.limits)
    )
    small("classes", tmp_path).time_methods(Pool())
    assert [one.seconds for one in limits] == [None, 60.0]
    limits.clear()
    small("classes", tmp_path, time_limit=5.0).time_methods(Pool())
    assert [one.seconds for one in limits] == [5.0, 5.0]


# ------------------------------------------------------------------------------------------------ folders


def test_a_study_is_opened_as_it_was_asked_for(tmp_path):
    study = small("classes", tmp_path)
    filled(study)
    back = open_study(tmp_path)
    assert back.design == study.design
    assert [t.hash for t in back.trials] == [t.hash for t in study.trials]
    assert back.results().recommendation == study.results().recommendation
    assert back.metric.format(0.5) == "50.0%"


@pytest.mark.parametrize("task", TASKS)
def test_a_study_of_kernels_is_opened_with_its_records(task, tmp_path):
    problem = made_data(task)
    problem = problem.replace(problem.kernels)
    study = Study(problem, Design(METHODS[task][:1], repeats=2, cv=2), tmp_path)
    study.save()
    filled(study)
    assert open_study(tmp_path).outstanding() == []


def test_data_are_written_again_only_if_they_are_others(tmp_path):
    study = small("classes", tmp_path)
    before = (tmp_path / "data.absentia").stat().st_mtime_ns
    Study(study.data, made_design("classes", repeats=1), tmp_path).save()
    assert (tmp_path / "data.absentia").stat().st_mtime_ns == before
    Study(made_data("classes", seed=1), made_design("classes"), tmp_path).save()
    assert open_study(tmp_path).data.hash == made_data("classes", seed=1).hash
    (tmp_path / "design.json").write_text("{")
    study.save()
    assert open_study(tmp_path).data.hash == study.data.hash


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileError, match="is no folder of a comparison"):
        open_study(tmp_path)
    Design(("mean",)).save(tmp_path)
    with pytest.raises(FileError):
        open_study(tmp_path)


def test_a_metric_that_the_task_has_not_is_refused(tmp_path):
    with pytest.raises(ValueError, match="score 'R2'"):
        Study(made_data("classes"), made_design("classes", metric="R2"), tmp_path)


# ------------------------------------------------------------------------------------------------- running


@pytest.mark.slow
def test_trials_are_run_once_and_in_any_number_of_processes_alike(tmp_path):
    here, apart = (small("classes", tmp_path / name, repeats=1, cv=2) for name in ("here", "apart"))
    heard = []
    here.run(here.outstanding(), Pool(1), heard.append)
    assert len(heard) == len(here.trials)
    apart.run(apart.outstanding(), Pool(2))
    one, other = (study.records.of(study.trials) for study in (here, apart))
    assert {hash: plain(record) for hash, record in one.items()} == {h: plain(r) for h, r in other.items()}
    assert all(record.done for record in one.values())
    assert here.outstanding() == apart.outstanding() == []


def test_the_same_again_has_the_same_records(tmp_path):
    one, other = (small("completion", tmp_path / name, repeats=1) for name in ("one", "other"))
    for study in (one, other):
        study.run(study.outstanding(), Pool(1))
    first, second = (study.records.of(study.trials) for study in (one, other))
    assert {hash: plain(r) for hash, r in first.items()} == {hash: plain(r) for hash, r in second.items()}


# ------------------------------------------------------------------------------------------------ findings


@pytest.mark.slow_params("0.4-labels", "1.0-classes", "1.0-labels")
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_findings_of_what_is_there(task, share, tmp_path):
    study = small(task, tmp_path, rates=(0.1, 0.2), repeats_of={METHODS[task][1]: 1}, remarks=("note",))
    filled(study, share)
    found = study.results()
    assert (found.done, found.wanted) == (len(study.records.hashes()), len(study.trials))
    assert found.warnings == ("note",)
    assert {row.method: row.wanted for row in found.rows} == {
        method: (1 if task == "completion" else 3) * (1 if method == METHODS[task][1] else 3)
        for method in METHODS[task]
    }
    if share == 1:
        assert all(row.done == row.wanted for row in found.rows)


def test_records_that_are_damaged_are_run_again(tmp_path):
    study = small("completion", tmp_path)
    filled(study)
    path = study.records.path(study.trials[0].hash)
    path.write_text(json.dumps({"status": "done"}))
    assert [t.hash for t in study.outstanding()] == [study.trials[0].hash]
    assert study.results().done == len(study.trials) - 1


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
    fewer = Study(study.data, replace(study.design, methods=METHODS["completion"][:2], repeats=2), tmp_path)
    found = fewer.results()
    assert (found.done, len(found.rows)) == (4, 2)
