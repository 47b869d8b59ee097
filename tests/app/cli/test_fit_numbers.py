"""absentia fit with numbers."""

import json

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import AutoRegressor, EarlyFusionRegressor, ViewKernels, Views, io
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples in two views, a number of each, new samples, and a model with its report."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(0)
    n = 60
    x = rng.normal(size=(n, 3))
    observed = rng.random((n, 2)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    ids = np.array([f"p{i:03d}" for i in range(n)])
    views = Views.from_dict({"a": x, "b": x @ rng.normal(size=(3, 4))}, ids=ids, observed=observed)
    weight = 70 + 10 * x[:, 0] + 2 * rng.normal(size=n)
    table = pd.DataFrame({"id": ids, "weight": weight.round(2), "grade": np.arange(n) % 4})
    table["group"] = np.where(x[:, 1] > 0, "u", "v")
    table.loc[3, "weight"] = np.nan
    io.write(folder / "train.npz", views[:50])
    io.write(folder / "new.npz", views[50:])
    table.sample(frac=1, random_state=0).to_csv(folder / "clinical.csv", index=False)
    said = run("fit", "train.npz", "--labels", "clinical.csv:weight", "-o", "m.absentia", cwd=folder)
    assert said.returncode == 0, said.stderr
    (folder / "said.txt").write_text(said.stdout)
    return folder


@pytest.mark.slow
def test_by_default_several_methods_for_numbers_are_averaged(folder):
    said = (folder / "said.txt").read_text()
    for word in ("auto: 49 samples, 2 views", "used: the average of", "R2, left out", "RMSE", "m.html"):
        assert word in said
    model = absentia.load(folder / "m.absentia")
    assert isinstance(model, AutoRegressor)
    assert all(f"\n{name} " in said for name in model.candidates_)
    table = pd.read_csv(folder / "clinical.csv", index_col="id")
    views = io.read(folder / "train.npz")
    keep = np.array([i for i, name in enumerate(views.ids) if name != "p003"])
    by_hand = AutoRegressor().fit(views[keep], table.loc[views.ids[keep], "weight"].to_numpy())
    np.testing.assert_allclose(model.predict(views), by_hand.predict(views), atol=1e-6)
    page = (folder / "m.html").read_text()
    for word in (
        "forest-regression",
        "ridge-zero",
        "Predicted and true",
        "true weight",
        "without a number",
        "the average of",
    ):
        assert word in page
    described = run("inspect", "m.absentia", cwd=folder)
    assert described.returncode == 0
    assert "cross-validated R2" in described.stdout


@pytest.mark.slow
def test_other_methods_options_and_json(folder, tmp_path):
    command = ["fit", "train.npz", "--labels", "clinical.csv:weight", "--json", "-o", tmp_path / "f.npz"]
    said = run(*command, "--method", "linear-regression", "--alpha", "2", cwd=folder)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["method"] == "linear-regression"
    assert found["penalty"] == 2.0
    own = found["cross-validated"]["linear-regression"]
    assert own["R2"]["low"] < own["R2"]["value"] <= own["R2"]["high"]
    assert own["RMSE"] > own["MAE"]
    assert set(found["cross-validated"]) >= {"ridge-zero", "forest-regression", "mean of the targets"}
    assert isinstance(absentia.load(tmp_path / "f.npz"), EarlyFusionRegressor)
    said = run(*command, "--method", "mkl-regression", "--C", "3", "--no-report", cwd=folder)
    assert json.loads(said.stdout)["weights"].keys() == {"a", "b"}
    assert absentia.load(tmp_path / "f.npz").C == 3.0


def test_whole_numbers_are_classes_unless_a_regressor_is_named(folder, tmp_path):
    command = [
        "fit",
        "train.npz",
        "--labels",
        "clinical.csv:grade",
        "-o",
        tmp_path / "m.npz",
        "--no-report",
    ]
    said = run(*command, "--method", "ridge", "--penalty", "0.5", "--presence", "yes", cwd=folder)
    assert said.returncode == 0, said.stderr
    assert "these whole numbers are learned as numbers" in said.stdout
    assert "penalty = 0.5 (given)" in said.stdout
    model = absentia.load(tmp_path / "m.npz")
    assert (model.penalty, model.presence) == (0.5, True)


def test_kernels_are_learned_from_and_features_only_where_there_are_some(folder, tmp_path):
    views = io.read(folder / "train.npz")
    io.write(tmp_path / "k.npz", ViewKernels().fit_transform(views))
    command = ["fit", tmp_path / "k.npz", "--labels", f"{folder / 'clinical.csv'}:weight"]
    said = run(*command, "-o", tmp_path / "m.npz", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert absentia.load(tmp_path / "m.npz").kernel == "precomputed"
    assert "forest" not in said.stdout
    refused(
        run(*command, "--method", "forest-regression", "-o", tmp_path / "n.npz", cwd=tmp_path),
        "takes features, but kernels came",
    )


def test_what_does_not_go_together_is_refused_and_nothing_is_written(folder, tmp_path):
    def fit(*words):
        return run("fit", "train.npz", *words, "-o", tmp_path / "m.absentia", cwd=folder)

    weight = ("--labels", "clinical.csv:weight")
    refused(fit(*weight, "--method", "mkl"), "are numbers, which --method ridge learns from", "c1, c2")
    refused(fit(*weight, "--method", "cox"), "are numbers; times and events are wanted")
    refused(fit("--labels", "clinical.csv:group", "--method", "ridge"), "is to be numbers", "is none")
    refused(
        fit(*weight, "--method", "ridge", "--C", "3"), "--C does not apply to method 'ridge'", "--penalty"
    )
    refused(fit(*weight, "--method", "forest-regression", "--kernel", "linear"), "--kernel and --log")
    refused(fit(*weight, "--method", "forest-regression", "--C", "1"), "--C does not apply")
    refused(fit(*weight, "--method", "ridge", "--trees", "9"), "does not apply to method 'ridge'")
    assert list(tmp_path.iterdir()) == []
