"""Why views are absent, in ``absentia inspect`` and on the page of ``absentia fit``."""

import json

import numpy as np
import pandas as pd
import pytest

from absentia import models
from helpers.command_line import refused, run

pytestmark = pytest.mark.usefixtures("few_strengths")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def write_folder(folder, planted=True, n=80):
    """Two views and labels; `lab` is absent of those of site s2, which is in the clinic and beside the labels."""
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i:02d}" for i in range(n)], name="id")
    second = np.arange(n) % 3 == 0 if planted else rng.random(n) < 0.3
    site = np.where(np.arange(n) % 3 == 0, "s2", "s1")
    y = np.where(rng.random(n) < np.where(second & planted, 0.9, 0.4), "ill", "well")
    clinic = pd.DataFrame(rng.normal(size=(n, 3)), ids, ["x", "y", "z"]) + (y == "ill")[:, None]
    clinic["ward"] = site
    lab = pd.DataFrame(rng.normal(size=(n, 4)), ids, list("abcd"))
    folder.mkdir()
    clinic.to_csv(folder / "clinic.csv")
    lab[~second].to_csv(folder / "lab.csv")
    coin = np.random.default_rng(1).choice(["heads", "tails"], n)
    pd.DataFrame({"state": y, "site": site, "coin": coin}, ids).to_csv(folder / "labels.csv")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("absence") / "ward")


@pytest.mark.parametrize("covariate", ["site", "ward", "clinic:ward"])
def test_inspect_says_from_what_absence_can_be_told(folder, covariate):
    result = run("inspect", folder, "--labels", "labels.csv:state", "--covariates", covariate)
    assert result.returncode == 0, result.stderr
    sentence = f"lab: who lacks it can be told from {covariate} (AUC 1.00, 95 % 0.9"
    assert sentence in result.stdout
    assert "who has which view alone: balanced accuracy of state" in result.stdout
    assert "warning: who has which view alone predicts state" in result.stderr
    assert f"--covariates {covariate}" in result.stdout.splitlines()[-1]


def test_covariates_are_no_features(folder):
    command = ("inspect", folder, "--labels", "labels.csv:state", "--json")
    with_ward = json.loads(run(*command).stdout)
    without = json.loads(run(*command, "--covariates", "ward").stdout)
    columns = [document["views"][0]["columns"] for document in (with_ward, without)]
    assert "ward" in columns[0]
    assert columns[1] == "3 numeric"
    told = {row["from"]: row for row in without["absence"]["rows"]}
    assert told["ward"]["AUC"] == 1.0
    assert told["clinic"]["AUC"] < 0.9
    assert {row["from"]: row for row in with_ward["absence"]["rows"]}["clinic"]["AUC"] == 1.0
    assert without["absence"]["pattern"]["chance"] == 0.5


def test_samples_without_a_label_are_of_no_class(folder, tmp_path):
    labels = pd.read_csv(folder / "labels.csv")
    labels.loc[:20, "state"] = ""
    labels.to_csv(tmp_path / "part.csv", index=False)
    document = json.loads(run("inspect", folder, "--labels", f"{tmp_path}/part.csv:state", "--json").stdout)
    assert document["absence"]["pattern"]["chance"] == 0.5
    told = {row["from"]: row["n absent"] for row in document["absence"]["rows"]}
    assert told["state"] == told["clinic"] - 7


def test_covariates_that_there_are_not_are_refused(folder):
    result = run("inspect", folder, "--labels", "labels.csv:state", "--covariates", "height")
    refused(result, "covariate 'height' is no column of")
    assert "site" in result.stderr


def test_what_cannot_be_told_is_counted_and_complete_data_need_no_reason(tmp_path):
    tables = {"a": np.arange(12.0)[:, None], "b": np.arange(12.0)[:, None]}
    np.savez(tmp_path / "full.npz", y=np.arange(12) % 2, **{f"view_{k}": v for k, v in tables.items()})
    assert "cannot be told" not in run("inspect", tmp_path / "full.npz", "--labels", "y").stdout
    tables["b"][:2] = np.nan
    np.savez(tmp_path / "few.npz", **{f"view_{k}": v for k, v in tables.items()})
    said = run("inspect", tmp_path / "few.npz").stdout
    assert (
        "why absent: nothing is shown to tell it; tests: 0 that could be chance, 1 with too little to tell by"
        in said
    )


def test_inspect_lists_what_is_notable_and_counts_the_rest(folder):
    command = ("inspect", folder, "--labels", "labels.csv:state", "--covariates", "site", "coin")
    said, rows = run(*command).stdout, json.loads(run(*command, "--json").stdout)["absence"]["rows"]
    notable = [row["from"] for row in rows if row["p corrected"] is not None and row["p corrected"] < 0.05]
    assert 0 < len(notable) < len(rows)
    table = said[said.index("why absent") :].partition("further tests")[0].splitlines()[2:]
    assert [line.split()[2] for line in table if line.strip()] == notable
    chance = sum(row["AUC"] is not None for row in rows) - len(notable)
    untold = sum(row["AUC"] is None for row in rows)
    few = f", {untold} with too little to tell by" if untold else ""
    assert f"further tests: {chance} that could be chance{few} (--json" in said


def test_the_page_of_a_fit_says_why_views_are_absent(folder, tmp_path):
    options = ("--labels", "labels.csv:state", "--method", "linear", "--covariates", "ward", "-o")
    result = run("fit", folder, *options, tmp_path / "m.absentia")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="absence">') :].partition("</section>")[0]
    assert "<td>ward</td>" in section
    assert "Who has which view alone predicts state" in section
    assert ">missing values of" not in section
    assert models.describe(tmp_path / "m.absentia")["features"]["clinic"] == ["x", "y", "z"]
    predicted = run("predict", tmp_path / "m.absentia", folder, "-o", tmp_path / "p.csv")
    assert predicted.returncode == 0
    assert "ward" not in predicted.stdout + predicted.stderr


def test_the_page_is_silent_where_absence_cannot_be_told(tmp_path):
    folder = write_folder(tmp_path / "coin", planted=False)
    run("fit", folder, "--labels", "labels.csv:state", "--method", "linear", "-o", tmp_path / "m.absentia")
    assert 'id="absence"' not in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_numbers_times_and_several_labels_have_reasons_too(folder, tmp_path):
    labels = pd.read_csv(folder / "labels.csv")
    labels["score"] = np.where(labels["state"] == "ill", 1.5, 0.2) + np.arange(len(labels)) / 1000
    labels["time"], labels["event"] = 1 / labels["score"], 1
    labels["event"] = np.where(np.arange(len(labels)) % 7, 1, 0)
    labels.loc[:3, "time"] = np.nan
    labels["ill"] = (labels["state"] == "ill").astype(int)
    labels["odd"] = np.arange(len(labels)) % 2
    labels.to_csv(tmp_path / "more.csv", index=False)
    for columns, measure in {"score": "R2 of score", "time,event": "concordance of survival"}.items():
        result = run("inspect", folder, "--labels", f"{tmp_path}/more.csv:{columns}")
        assert f"who has which view alone: {measure}" in result.stdout, result.stderr
    result = run("inspect", folder, "--labels", f"{tmp_path}/more.csv:ill,event,odd")
    assert "tells of the label cannot be told: there are several labels" in result.stdout
    for columns, method in {"score": "ridge", "time,event": "cox"}.items():
        options = ("--labels", f"{tmp_path}/more.csv:{columns}", "--method", method, "-o")
        result = run("fit", folder, *options, tmp_path / f"{method}.absentia")
        assert result.returncode == 0, result.stderr
        assert 'id="absence"' in (tmp_path / f"{method}.html").read_text(encoding="utf-8")
