"""What a record of a trial may say."""

import json

import pytest

from absentia.app.report.comparison import render_comparison
from absentia.experiment.comparison import Study
from helpers.comparison_problems import made_data, made_design, made_records

TASKS = ["classes", "numbers", "labels", "completion"]
DROP = "drop"
HARMLESS = ("R2", "RMSE", "log-loss", "low", "high", "order", 0)
ODD = [-7, 1e300, 10**400, "x", [], {}, True, [[1]], {"a": 1}, DROP]


def filled(task, folder):
    """A study with a record of every kind, each made up."""
    more = {} if task == "completion" else {"rates": (0.3,)}
    problem, design = made_data(task, 24), made_design(task, repeats=2, cv=2, **more)
    study = Study(problem, design, folder)
    for record in made_records(problem, design):
        study.records.write(record)
    return study


def places(node, at=()):
    """Ways to everything in a result, of lists to the first part only."""
    if at:
        yield at
    parts = (
        node.items() if isinstance(node, dict) else enumerate(node[:1]) if isinstance(node, list) else ()
    )
    for name, part in parts:
        yield from places(part, (*at, name))


def changed(said, place, value):
    said = json.loads(json.dumps(said))
    node = said["result"]
    for name in place[:-1]:
        node = node[name]
    if value == DROP:
        node.pop(place[-1])
    else:
        node[place[-1]] = value
    return said


@pytest.mark.slow_params("labels")
@pytest.mark.parametrize("task", TASKS)
def test_what_a_trial_makes_is_believed(tmp_path, task):
    study = filled(task, tmp_path)
    assert study.outstanding() == []
    assert study.records.damaged == {}


@pytest.mark.slow_params("classes", "numbers", "labels")
@pytest.mark.parametrize("task", TASKS)
def test_what_no_trial_makes_is_run_again_and_named(tmp_path, task):
    """Every part of every kind of record, replaced by odd values: left out, or harmless."""
    study = filled(task, tmp_path)
    kinds = {}
    for trial in study.trials:
        kinds.setdefault((trial.key["kind"], trial.key["repeat"]), trial.hash)
    refused = 0
    for hash in kinds.values():
        path = study.records.path(hash)
        whole = path.read_text()
        for place in places(json.loads(whole)["result"]):
            for value in ODD:
                path.write_text(json.dumps(changed(json.loads(whole), place, value)))
                study.records.damaged.clear()
                taken = study.records.of(t for t in study.trials if t.hash == hash)
                assert bool(taken) != (path in study.records.damaged)
                refused += not taken
                # what is taken is a number in its range, or a text in the place of another
                assert not taken or place[-1] in HARMLESS, (place, value)
        path.write_text(whole)
    assert refused > 100


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        pytest.param(
            "balanced accuracy",
            -7,
            "scores 'balanced accuracy' is -7; a number from 0 to 1 is wanted",
            marks=pytest.mark.slow,
        ),
        ("AUC", 1.01, "'AUC' is 1.01; a number from 0 to 1"),
        pytest.param(
            "log-loss", -0.1, "'log-loss' is -0.1; a number from 0 to inf", marks=pytest.mark.slow
        ),
        pytest.param("accuracy", "much", "'accuracy' is 'much'", marks=pytest.mark.slow),
    ],
)
def test_a_score_that_cannot_be_is_told_and_left_out(tmp_path, metric, value, words):
    study = filled("classes", tmp_path)
    hash = study.trials[0].hash
    path = study.records.path(hash)
    path.write_text(json.dumps(changed(json.loads(path.read_text()), ("scores", metric), value)))
    assert [trial.hash for trial in study.outstanding()] == [hash]
    assert words in study.records.damaged[path]
    found = study.results()
    assert found.done == len(study.trials) - 1
    assert render_comparison(found)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("test",), [0, 1, 2], "held out"),
        (("predicted", 0), 2, "predicted"),
        (("predicted",), [0], "predicted"),
    ],
)
def test_answers_are_for_the_samples_that_were_held_out(tmp_path, place, value, words):
    study = filled("classes", tmp_path)
    path = study.records.path(study.trials[0].hash)
    path.write_text(json.dumps(changed(json.loads(path.read_text()), place, value)))
    assert len(study.outstanding()) == 1
    assert words in study.records.damaged[path]
