"""The lines that are shown run as they stand."""

import ast
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import ViewKernels, datasets
from absentia.experiment.comparison import choose_methods, make_task_data
from absentia.experiment.comparison._recommendation import write_command, write_script
from absentia.tasks import TASKS as ALL
from helpers.comparison_problems import made_data

TASKS = list(ALL)


def all_scripts(problem):
    names, _, _ = choose_methods(problem, "auto")
    return {name: write_script(name, problem) for name in names}


# ------------------------------------------------------------------------------------------------- scripts


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["features", "kernels", "linear"])
def test_lines_are_few_and_import_what_they_use(task, kind):
    problem = made_data(task)
    if kind == "kernels":
        problem = problem.replace(problem.kernels)
    if kind == "linear":
        problem = type(problem)(problem.data, task, problem.y, problem.classes, ViewKernels("linear"))
    for name, script in all_scripts(problem).items():
        tree = ast.parse(script)
        lines = script.splitlines()
        assert len(lines) <= 12, name
        assert max(map(len, lines)) <= 130, name
        known = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        made = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        used = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        assert used <= known | made, name
        assert known - {"pd"} <= used | {"absentia"}, name
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "absentia":
                assert all(hasattr(absentia, alias.name) for alias in node.names)
        assert ("ViewKernels" in script) == makes_kernels(name, task, kind), name


def makes_kernels(name, task, kind):
    """Whether a script says how kernels are made: where a step makes them, or they are not the usual ones."""
    if kind == "kernels":
        return False
    if task == "completion" or name in ("pma", "pma-cvkt"):
        return True
    entry = ALL[task].find(name)
    if task != "labels" and entry.takes == "kernels":
        return True
    has = task == "labels" or hasattr(entry.make(), "kernel")
    return kind == "linear" and has


def test_kernels_that_came_are_said_to_be_there():
    for task, names in {
        "classes": ("cvkt-svm", "fusion"),
        "numbers": ("ridge-zero",),
        "labels": ("average", "pma"),
    }.items():
        problem = made_data(task)
        found = all_scripts(problem.replace(problem.kernels))
        assert all("kernel='precomputed'" in found[name] for name in names), task
        assert all("views" not in script for script in found.values())


def test_C_is_selected_by_the_methods_themselves():
    found = all_scripts(made_data("classes"))
    assert not any("GridSearchCV" in script for script in found.values())
    selected = {name for name, script in found.items() if "C='cv'" in script}
    assert selected == {"average", "mkl", "amkl-convex", "amkl-iterative", "amkl-penalized"}
    assert not any(
        "GridSearchCV" in s for t in ("numbers", "labels") for s in all_scripts(made_data(t)).values()
    )


def test_a_script_by_heart():
    problem = made_data("classes")
    assert write_script("average", problem).splitlines() == [
        "import pandas as pd",
        "import absentia",
        "from absentia import AverageKernelSVC, ViewKernels",
        "from sklearn.pipeline import make_pipeline",
        'views = absentia.read("DATA")  # a folder of tables, or a file',
        'y = pd.read_csv("LABELS.csv", index_col=0)["COLUMN"].dropna()',
        'views, y = views.align(y, missing="drop")  # by id',
        "model = make_pipeline(ViewKernels(), AverageKernelSVC(C='cv', probability=True))",
        "model.fit(views, y)",
        "model[-1].set_decision('balanced')",
        "model.predict(views[:5])",
    ]


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


# --------------------------------------------------------------------------------------------- really run


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """The example, with a number and several labels for each patient beside the subtype."""
    folder = tmp_path_factory.mktemp("usage")
    datasets.write_cohort(folder / "cohort", folder / "new", 0)
    labels = pd.read_csv(folder / "cohort" / "labels.csv", index_col=0)
    shutil.move(folder / "cohort" / "labels.csv", folder / "labels.csv")
    rng = np.random.default_rng(0)
    codes = labels["subtype"].astype("category").cat.codes
    labels["score"] = np.where(codes < 0, np.nan, codes + 0.3 * rng.normal(size=len(labels)))
    labels[["subtype"]].to_csv(folder / "classes.csv")
    labels[["score"]].to_csv(folder / "numbers.csv")
    times = pd.DataFrame({"TIME": np.exp(-labels["score"]), "EVENT": np.arange(len(labels)) % 3 > 0})
    times.astype({"EVENT": float}).where(labels["score"].notna()).to_csv(folder / "survival.csv")
    several = pd.get_dummies(labels["subtype"]).astype(float)
    several[labels["subtype"].isna()] = np.nan
    several.to_csv(folder / "labels.csv")
    kernels = ViewKernels().fit_transform(absentia.read(folder / "cohort"))
    absentia.write(folder / "kernels.npz", kernels)
    return folder


COLUMNS = {"classes": "subtype", "numbers": "score", "survival": "", "labels": "", "completion": ""}


def ran(script, cohort, task, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = script.replace("DATA", str(cohort / data)).replace("COLUMN", COLUMNS[task])
    script = script.replace("LABELS.csv", str(cohort / f"{task}.csv"))
    lines = script.splitlines()
    lines[-1] = f"said = {lines[-1]}" if lines[-1].startswith("model.predict") else lines[-1]
    space = {}
    exec("\n".join(lines), space)  # our own lines
    return space


def cohort_problem(cohort, task, data):
    samples = absentia.read(cohort / data)
    if task == "completion":
        return make_task_data(samples)
    frame = pd.read_csv(cohort / f"{task}.csv", index_col=0)
    return make_task_data(samples, frame.iloc[:, 0] if task in ("classes", "numbers") else frame)


@pytest.mark.slow_params("classes-linear", "labels-linear")
@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("task", "name"),
    [
        pytest.param(task, name, marks=[] if name in quick else pytest.mark.slow)
        for task, quick in {
            "classes": ["linear"],
            "numbers": ["ridge-zero"],
            "survival": ["cox-zero"],
            "labels": ["linear"],
            "completion": ["mean"],
        }.items()
        for name in ALL[task].compared_methods()
    ],
)
def test_every_script_runs(task, name, cohort, tmp_path, monkeypatch):
    problem = cohort_problem(cohort, task, "cohort")
    space = ran(write_script(name, problem), cohort, task, "cohort", tmp_path, monkeypatch)
    if task == "completion":
        assert absentia.read(tmp_path / "completed.npz").observed.all()
        return
    assert len(space["said"]) == 5
    if task == "classes":
        assert set(space["said"]) <= set(problem.classes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
@pytest.mark.parametrize("task", TASKS)
def test_scripts_of_kernels_run(task, cohort, tmp_path, monkeypatch):
    problem = cohort_problem(cohort, task, "kernels.npz")
    names = {
        "classes": ["average", "cvkt-svm"],
        "numbers": ["ridge-zero"],
        "survival": ["cox-zero"],
        "labels": ["average", "pma-cvkt"],
        "completion": ["cvkt"],
    }
    for name, script in ((name, write_script(name, problem)) for name in names[task]):
        assert "precomputed" in script or name in ("average", "cvkt")
        ran(script, cohort, task, "kernels.npz", tmp_path, monkeypatch)


def test_the_default_is_compared_label_by_label_too():
    problem = made_data("labels")
    assert "auto" in problem.task.compared_methods()
    options = {"methods": ["average", "auto"], "repeats": 1, "cv": 2, "n_jobs": 1}
    found = absentia.compare(problem.data, problem.y, **options)
    assert found.table().loc["auto", "failed"] == 0
    assert 0.5 < found.table().loc["auto", "AUC"] <= 1
    assert found.recommendation.default == "auto"


def test_scripts_decide_as_the_comparison_did():
    problem = made_data("classes")
    costs = {"early": {"late": 10}, "late": {"early": 1}}
    by_cost = write_script("linear", problem.judged_by(None, costs)).splitlines()
    assert by_cost[-3].startswith('costs = pd.read_csv("COSTS.csv", index_col=0)')
    assert by_cost[-2] == "model.set_decision(costs)"
    assert "set_decision('accuracy')" in write_script("auto", problem.judged_by("accuracy"))
    assert "set_decision" not in write_script("auto", problem)  # which does so by itself
    assert "set_decision" not in write_script("linear-regression", made_data("numbers"))
