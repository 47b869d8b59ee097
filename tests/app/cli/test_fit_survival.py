"""absentia fit with times and events."""

import json

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import AutoSurvival, Views, io
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Patients in two views, when they died, new patients, and a model with its report."""
    folder = tmp_path_factory.mktemp("survival")
    rng = np.random.default_rng(0)
    n = 80
    x = rng.normal(size=(n, 3))
    observed = rng.random((n, 2)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    ids = np.array([f"p{i:03d}" for i in range(n)])
    views = Views.from_dict({"a": x, "b": x @ rng.normal(size=(3, 4))}, ids=ids, observed=observed)
    time, until = rng.exponential(np.exp(-2 * x[:, 0])), rng.exponential(3, size=n)
    died = time <= until
    table = pd.DataFrame({"id": ids, "years": np.minimum(time, until), "died": died.astype(int)})
    table["group"] = np.where(x[:, 1] > 0, "u", "v")
    io.write(folder / "train.npz", views[:60])
    io.write(folder / "new.npz", views[60:])
    table = table.sample(frac=1, random_state=0).astype({"died": object})
    table.loc[table["id"] == "p003", "died"] = ""
    table.to_csv(folder / "clinical.csv", index=False)
    said = run("fit", "train.npz", "--labels", "clinical.csv:years,died", "-o", "m.absentia", cwd=folder)
    assert said.returncode == 0, said.stderr
    (folder / "said.txt").write_text(said.stdout)
    return folder


def test_by_default_several_methods_for_times_and_events_are_averaged(folder):
    said = (folder / "said.txt").read_text()
    for word in (
        "auto: 59 samples, 2 views",
        "used: the average of",
        "concordance, left out",
        "no model",
        "m.html",
    ):
        assert word in said
    model = absentia.load(folder / "m.absentia")
    assert isinstance(model, AutoSurvival)
    assert all(f"\n{name} " in said for name in model.candidates_)
    table = pd.read_csv(folder / "clinical.csv", index_col="id")
    views = io.read(folder / "train.npz")
    keep = np.array([i for i, name in enumerate(views.ids) if name != "p003"])
    y = table.loc[views.ids[keep], ["years", "died"]].to_numpy(dtype=float)
    by_hand = AutoSurvival().fit(views[keep], y)
    np.testing.assert_allclose(model.predict(views), by_hand.predict(views), atol=1e-9)
    page = (folder / "m.html").read_text()
    for word in (
        "cox, zero-filled kernels",
        "Curves by predicted risk",
        ">years<",
        "log-rank",
        "the average of",
    ):
        assert word in page
    described = run("inspect", "m.absentia", cwd=folder)
    assert described.returncode == 0
    assert "AutoSurvival" in described.stdout
    assert "cross-validated concordance" in described.stdout


def test_fusion_options_and_json(folder, tmp_path):
    command = ["fit", "train.npz", "--labels", "clinical.csv:years,died", "--method", "cox-fusion"]
    said = run(*command, "--alpha", "2", "--ties", "efron", "-o", tmp_path / "f.npz", "--json", cwd=folder)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["alpha"] == {"a": 2.0, "b": 2.0}
    assert found["method"] == "cox-fusion"
    own = found["cross-validated concordance"]["cox-fusion"]
    assert own["low"] < own["value"] < own["high"]
    assert found["cross-validated concordance"]["no model"]["value"] == 0.5
    model = absentia.load(tmp_path / "f.npz")
    assert (model.combine, model.ties) == ("fusion", "efron")
    assert "Concordance alone" in (tmp_path / "f.html").read_text()


def test_without_a_report_nothing_is_validated(folder, tmp_path):
    command = ["fit", "train.npz", "--labels", "clinical.csv:years,died", "--no-report", "--method", "cox"]
    said = run(*command, "--completer", "none", "-o", tmp_path / "m.absentia", cwd=folder)
    assert said.returncode == 0, said.stderr
    assert "chosen by cross-validation" in said.stdout
    assert "concordance" not in said.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["m.absentia"]
    assert absentia.load(tmp_path / "m.absentia").completer is None


def test_what_does_not_go_together_is_refused_and_nothing_is_written(folder, tmp_path):
    def fit(*words):
        return run("fit", "train.npz", *words, "-o", tmp_path / "m.absentia", cwd=folder)

    both = ("--labels", "clinical.csv:years,died")
    refused(fit(*both, "--method", "mkl"), "times and events, which --method cox or cox-fusion learns")
    refused(fit("--labels", "clinical.csv:group", "--method", "cox"), "are classes", "FILE:TIME,EVENT")
    refused(fit(*both, "--method", "cox", "--C", "3"), "--C does not apply to method 'cox'", "--alpha")
    refused(fit(*both, "--method", "cox-fusion", "--completer", "mean"), "--completer does not apply")
    refused(fit(*both, "--method", "cox", "--completer", "nobody"), "nobody")
    refused(fit(*both, "--norm", "2"), "--norm does not apply to method 'auto'")
    few = pd.read_csv(folder / "clinical.csv").assign(died=0)
    few.loc[:2, "died"] = 1
    few.to_csv(tmp_path / "few.csv", index=False)
    refused(fit("--labels", f"{tmp_path / 'few.csv'}:years,died"), "event(s) among", "at least 5")
    (tmp_path / "few.csv").unlink()
    assert list(tmp_path.iterdir()) == []


def test_data_are_read_once(folder, tmp_path, monkeypatch):
    opened, real = [], io.open_data
    monkeypatch.setattr(io, "open_data", lambda *given, **how: opened.append(given) or real(*given, **how))
    both = ("--labels", "clinical.csv:years,died", "--no-report", "-o", tmp_path / "m.absentia")
    assert run("fit", "train.npz", *both, cwd=folder).returncode == 0
    assert run("compare", "train.npz", *both[:2], "--dry-run", cwd=folder).returncode == 0
    assert len(opened) == 2
