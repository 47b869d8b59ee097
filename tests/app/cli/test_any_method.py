"""A method of any task is a class and an entry: fit, predict and compare know no more of it."""

import csv

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import ViewKernels, io, models
from absentia.methods import catalogue
from absentia.tasks import TASKS
from helpers.command_line import refused, run
from helpers.comparison_problems import made_views, targets
from helpers.methods_anew import ENTRIES

pytestmark = pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
COLUMNS = {"classes": "y", "numbers": "y", "survival": "time,event"}


@pytest.fixture
def folder(tmp_path):
    """Sixty patients in three views, twelve of them new, with something of each kind to predict."""
    views, factors = made_views(60)
    for task in ENTRIES:
        y = targets(task, factors)
        columns = {"time": y.time, "event": y.event.astype(int)} if task == "survival" else {"y": y}
        pd.DataFrame(columns, index=views.ids).to_csv(tmp_path / f"{task}.csv", index_label="id")
    io.write(tmp_path / "train.npz", views[:48])
    io.write(tmp_path / "new.npz", views[48:])
    kernels = ViewKernels()
    io.write(tmp_path / "kernels.npz", kernels.fit_transform(views[:48]))
    return tmp_path


@pytest.fixture(params=list(ENTRIES))
def task(request, monkeypatch):
    """The catalogue has one method more."""
    monkeypatch.setattr(catalogue, "CATALOGUE", (*catalogue.CATALOGUE, ENTRIES[request.param]))
    return request.param


def test_it_is_fitted_judged_beside_baselines_saved_and_applied(folder, task):
    labels = ("--labels", f"{task}.csv:{COLUMNS[task]}")
    done = run("fit", "train.npz", *labels, "--method", "anew", "-o", "m.absentia", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "anew: 48 samples, 3 views" in done.stdout
    assert TASKS[task].main_score in done.stdout
    assert TASKS[task].prior_name in done.stdout
    assert "<html" in (folder / "m.html").read_text()
    done = run("predict", "m.absentia", "new.npz", "-o", "p.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    with open(folder / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    model, new = models.load(folder / "m.absentia"), io.read(folder / "new.npz")
    if task == "classes":
        likeliest = model.predict_proba(new).argmax(axis=1)
        assert [row["predicted"] for row in rows] == model.classes[likeliest].tolist()
    else:
        said = [float(row["risk" if task == "survival" else "predicted"]) for row in rows]
        np.testing.assert_allclose(said, model.predict(new), rtol=1e-4, atol=1e-6)
    assert run("inspect", "m.absentia", cwd=folder).returncode == 0


def test_it_takes_kernels_that_came(folder, task):
    labels = ("--labels", f"{task}.csv:{COLUMNS[task]}")
    done = run("fit", "kernels.npz", *labels, "--method", "anew", "-o", "k.absentia", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow_params("classes")
def test_it_is_compared(folder, task):
    views = io.read(folder / "train.npz")
    table = pd.read_csv(folder / f"{task}.csv", index_col=0).loc[views.ids]
    y = table if task == "survival" else table["y"]
    found = absentia.compare(views, y, methods=["anew"], repeats=1, cv=3, n_jobs=1)
    row = found.table().loc["anew"]
    assert (row["fits"], row["failed"], row["remark"]) == (3, 0, "")
    assert np.asarray(found.best_estimator().predict(views)).shape == (48,)
    assert TASKS[task].find("anew").name in found.results.rows[0].method + found.results.rows[1].method


def test_its_flags_are_read(folder, monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", (*catalogue.CATALOGUE, ENTRIES["numbers"]))
    call = ["fit", "train.npz", "--labels", "numbers.csv:y", "--method", "anew", "-o", "m.absentia"]
    assert run(*call, "--ridge", "0.5", "--no-report", cwd=folder).returncode == 0
    assert models.load(folder / "m.absentia")[-1].ridge == 0.5
    refused(run(*call, "--ridge", "-1", cwd=folder), "--ridge is a number above 0")
    refused(run(*call, "--C", "1", cwd=folder), "--C does not apply to method 'anew'")
    assert "Penalty" in run("fit", "--list", "--method", "anew").stdout
