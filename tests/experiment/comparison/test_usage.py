"""The lines that are shown run as they stand."""

import shlex

import numpy as np
import pytest

import absentia
from absentia.experiment.comparison import Design, Study, fit_to_all
from absentia.experiment.comparison._recommendation import write_command, write_script
from absentia.experiment.engine import Pool
from absentia.tasks import TASKS as ALL
from helpers.comparison_problems import made_data

TASKS = list(ALL)


# ------------------------------------------------------------------------------------------------ commands


@pytest.mark.parametrize("task", TASKS)
def test_commands_name_methods_that_the_verbs_have(task):
    problem = made_data(task)
    names = ALL[task].compared_methods()
    found = {name: write_command(name, problem) for name in names}
    if task == "labels":
        assert set(found.values()) == {""}
        return
    for name in names:
        words = shlex.split(found[name])
        verb = "complete" if task == "completion" else "fit"
        assert words[:3] == ["absentia", verb, "DATA"]
        assert words[words.index("--method") + 1] == name
        assert ALL[task].find(name).name == name
        assert words[-2] == "-o"
    mine = write_command(names[0], problem, "d --labels l.csv:c")
    assert "DATA" not in mine
    assert " d --labels l.csv:c --method " in mine


# ------------------------------------------------------------------------------------------------- scripts


def compared(task, folder):
    """A comparison of the simplest method alone, as the command line keeps it."""
    data = made_data(task)
    design = Design((data.task.simplest,), repeats=1, cv=2, command="absentia compare ...")
    study = Study(data, design, folder)
    study.save()
    study.run(study.trials, Pool(1))
    return study


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
@pytest.mark.parametrize("task", TASKS)
def test_a_script_gives_what_the_recommended_method_says(task, tmp_path, monkeypatch):
    study = compared(task, tmp_path / "compared")
    script = study.results().recommendation.python
    monkeypatch.setattr(absentia, "read", lambda path: study.data.data[:5])
    lines = script.replace("\nmodel.predict(", "\nsaid = model.predict(")
    space = {}
    exec(lines, space)  # our own lines
    model = fit_to_all(study.data, study.data.task.simplest)
    if task == "completion":
        assert space["completed"].observed.all()
    else:
        assert np.array_equal(space["said"], model.predict(study.data.data[:5]))


def test_the_default_is_compared_label_by_label_too():
    problem = made_data("labels")
    assert "auto" in problem.task.compared_methods()
    options = {"methods": ["average", "auto"], "repeats": 1, "cv": 2, "n_jobs": 1}
    found = absentia.compare(problem.data, problem.y, **options)
    assert found.table().loc["auto", "failed"] == 0
    assert 0.5 < found.table().loc["auto", "AUC"] <= 1
    assert found.recommendation.default == "auto"


def test_a_script_by_heart(tmp_path):
    data = made_data("classes")
    assert write_script("average", data, None).splitlines() == [
        "model = comparison.best_estimator()  # average, fitted to all samples",
        'model.predict(absentia.read("NEW"))  # new samples',
    ]
    first, *_ = write_script("average", data, tmp_path).splitlines()
    assert first == "import absentia"
