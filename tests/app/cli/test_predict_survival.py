"""absentia predict with a model of times and events."""

import csv

import numpy as np
import pytest

import absentia
from absentia import AbsentSurvival, ViewKernels, Views, io
from absentia.tasks import SURVIVAL, find_task
from helpers.command_line import run


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of two views, and three new patients, one of them without any."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    y = np.column_stack([rng.exponential(np.exp(-x[:, 0])), rng.random(50) < 0.7])
    views = Views.from_dict({"a": x, "b": x**2}, ids=[f"p{i}" for i in range(50)])
    fitted = AbsentSurvival(alpha=2.0).fit(views[:40], y[:40])
    absentia.save(fitted, "m.absentia")
    new = views[40:43].hide(np.array([[True, True], [True, False], [False, False]]))
    io.write("new.npz", new)
    return fitted, new


def test_the_table_has_risks_probabilities_views_and_flags(model):
    fitted, new = model
    said = run("predict", "m.absentia", "new.npz", "-o", "p.csv")
    assert said.returncode == 0, said.stderr
    assert "3 samples with a risk, 1 flagged" in said.stdout
    with open("p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    times = np.unique(np.quantile(fitted.event_times_, [0.25, 0.5, 0.75], method="lower"))
    assert list(rows[0]) == [
        "id",
        "risk",
        *(f"survival={t:.6g}" for t in times),
        "view=a",
        "view=b",
        "flag",
    ]
    assert [row["id"] for row in rows] == new.ids.tolist()
    np.testing.assert_allclose([float(row["risk"]) for row in rows], fitted.predict(new), rtol=1e-5)
    probabilities = [[float(row[f"survival={t:.6g}"]) for t in times] for row in rows]
    np.testing.assert_allclose(probabilities, fitted.predict_survival_function(new, times), rtol=1e-5)
    assert [row["view=b"] for row in rows] == ["1", "0", "0"]
    assert [row["flag"] for row in rows] == ["", "", SURVIVAL.no_view]


def test_a_view_that_nobody_has_may_be_left_out(model):
    fitted, new = model
    io.write("less.npz", new[:2].select(["a"]))
    assert run("predict", "m.absentia", "less.npz", "-o", "p.csv").returncode == 0
    with open("p.csv", newline="") as file:
        risks = [float(row["risk"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(risks, fitted.predict(new[:2].select(["a"])), rtol=1e-5)


def test_kernels_of_new_samples_are_taken_by_a_model_of_kernels(model, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    ids = [f"q{i}" for i in range(40)]
    views, makes = Views.from_dict({"a": x, "b": x**2}, ids=ids), ViewKernels()
    kernels = makes.fit_transform(views[:30])
    y = np.column_stack([rng.exponential(np.exp(-x[:30, 0])), np.ones(30)])
    fitted = AbsentSurvival(alpha=2.0, kernel="precomputed").fit(kernels, y)
    absentia.save(fitted, "k.absentia")
    rows = makes.transform(views[30:])
    arrays = {"ids": rows.ids, "column_ids": kernels.ids, "names": np.array(rows.names)}
    np.savez("rows.npz", K=rows.to_dense(), **arrays)
    said = run("predict", "k.absentia", "rows.npz", "-o", "k.csv")
    assert said.returncode == 0, said.stderr
    with open("k.csv", newline="") as file:
        risks = [float(row["risk"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(risks, fitted.predict(rows), rtol=1e-4)


def test_other_models_tell_no_survival(model):
    assert find_task(model[0]) is SURVIVAL
    assert find_task(absentia.MKLClassifier()) is not SURVIVAL
