"""absentia predict with a model of numbers."""

import csv

import numpy as np
import pytest

import absentia
from absentia import AbsentClassifier, AbsentRegressor, AbsentSurvival, EarlyFusionRegressor, Views, io
from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL, find_task
from helpers.command_line import run


@pytest.mark.parametrize("regressor", [AbsentRegressor(), EarlyFusionRegressor("ridge")])
def test_the_table_has_numbers_views_and_flags(regressor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    views = Views.from_dict({"a": x, "b": x**2}, ids=[f"p{i}" for i in range(50)])
    fitted = regressor.fit(views[:40], x[:40, 0])
    absentia.save(fitted, "m.absentia")
    new = views[40:43].hide(np.array([[True, True], [True, False], [False, False]]))
    io.write("new.npz", new)
    said = run("predict", "m.absentia", "new.npz", "-o", "p.csv")
    assert said.returncode == 0, said.stderr
    assert "3 samples with a number, 1 flagged" in said.stdout
    with open("p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "predicted", "view=a", "view=b", "flag"]
    assert [row["id"] for row in rows] == new.ids.tolist()
    np.testing.assert_allclose(
        [float(row["predicted"]) for row in rows], fitted.predict(new), rtol=1e-5, atol=1e-6
    )
    assert [row["view=b"] for row in rows] == ["1", "0", "0"]
    assert [row["flag"] for row in rows] == ["", "", REGRESSION.no_view]
    io.write("less.npz", views[40:42].select(["a"]))
    assert run("predict", "m.absentia", "less.npz", "-o", "p.csv").returncode == 0
    with open("p.csv", newline="") as file:
        found = [float(row["predicted"]) for row in csv.DictReader(file)]
    hidden = views[40:42].hide(np.array([[True, False]] * 2))
    np.testing.assert_allclose(found, fitted.predict(hidden), rtol=1e-5, atol=1e-6)


def test_what_tells_numbers():
    assert find_task(AbsentRegressor()) is REGRESSION
    assert find_task(AbsentClassifier()) is CLASSIFICATION
    assert find_task(AbsentSurvival()) is SURVIVAL
    assert find_task(object()) is None
