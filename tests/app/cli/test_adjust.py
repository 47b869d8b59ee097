"""``--adjust`` of fit and compare, and what predict wants of new samples then."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sites shift the features and have their own share of the ill; within them labels are by coin."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("adjust")
    site = np.arange(120) % 3
    ids = pd.Index([f"p{k:03d}" for k in range(120)], name="id")
    y = np.where(rng.random(120) < np.array([0.05, 0.5, 0.95])[site], "ill", "well")
    scan = rng.normal(size=(120, 8)) + 2 * rng.normal(size=(3, 8))[site]
    frame = pd.DataFrame(scan, ids).add_prefix("x")
    named = np.array(["Bonn", "Rome", "Oslo"])[site]
    labels = pd.DataFrame({"y": y, "number": site + rng.normal(size=120), "site": named}, ids)
    labels["age"] = rng.normal(50, 10, 120).round()
    for name in ("beside", "inside"):
        (folder / name).mkdir()
        (frame if name == "beside" else frame.assign(site=named)).to_csv(folder / name / "scan.csv")
        labels.to_csv(folder / name / "labels.csv")
    return folder


def call(folder, verb, data, *flags, label="y"):
    return run(verb, data, "--labels", f"{data}/labels.csv:{label}", *flags, cwd=folder)


@pytest.mark.slow_params("inside-columns1")
@pytest.mark.parametrize(("data", "columns"), [("beside", ["site", "age"]), ("inside", ["scan:site"])])
def test_a_fit_is_adjusted_inside_the_fold_and_so_are_new_samples(folder, tmp_path, data, columns):
    flags = ["--method", "linear", "--json"]
    scores = {}
    for name, more in (("plain", []), ("adjusted", ["--adjust"])):
        output = tmp_path / f"{name}.absentia"
        result = call(folder, "fit", data, *flags, "-o", output, "--covariates", *columns, *more)
        assert result.returncode == 0, result.stderr
        scores[name] = json.loads(result.stdout)["cross-validated"]["linear"]["balanced accuracy"]["value"]
    assert scores["plain"] > 0.65
    assert scores["adjusted"] < 0.6
    page = (tmp_path / "adjusted.html").read_text(encoding="utf-8")
    assert "residuals after regression on" in page
    assert "(3 levels)" in page
    model = tmp_path / "adjusted.absentia"
    new = run("predict", model, data, "-o", tmp_path / "p.csv", cwd=folder)
    assert new.returncode == 0, new.stderr
    assert f"features are adjusted for {', '.join(columns)}" in new.stdout
    assert "8 features of 'scan' matched by name" in new.stdout
    whole = pd.read_csv(tmp_path / "p.csv")
    assert len(whole) == 120


def test_a_new_sample_is_predicted_by_its_own_covariates(folder, tmp_path):
    flags = ["--method", "linear", "--covariates", "site", "--adjust", "--no-report"]
    assert call(folder, "fit", "beside", "-o", tmp_path / "m.absentia", *flags).returncode == 0
    (tmp_path / "new").mkdir()
    scan = pd.read_csv(folder / "beside" / "scan.csv", index_col=0)[:6]
    labels = pd.read_csv(folder / "beside" / "labels.csv", index_col=0)[["site"]][:6]
    told = []
    for site in (labels, labels.assign(site="Rome")):
        scan.to_csv(tmp_path / "new" / "scan.csv")
        site.to_csv(tmp_path / "new" / "labels.csv")
        result = run(
            "predict", tmp_path / "m.absentia", tmp_path / "new", "-o", tmp_path / "p.csv", "--force"
        )
        assert result.returncode == 0, result.stderr
        told.append(pd.read_csv(tmp_path / "p.csv")["probability=ill"].to_numpy())
    same = labels["site"].to_numpy() == "Rome"
    np.testing.assert_allclose(told[0][same], told[1][same])
    assert np.abs(told[0][~same] - told[1][~same]).min() > 1e-6
    (tmp_path / "new" / "labels.csv").unlink()
    result = run("predict", tmp_path / "m.absentia", tmp_path / "new", "-o", tmp_path / "q.csv")
    refused(result, "covariate 'site' is no column of", "adjusts features for site")


def test_numbers_are_adjusted_too(folder, tmp_path):
    flags = ["--covariates", "site", "--adjust", "-o", tmp_path / "m.absentia"]
    result = call(folder, "fit", "beside", "--method", "ridge", *flags, label="number")
    assert result.returncode == 0, result.stderr
    new = run("predict", tmp_path / "m.absentia", "beside", "-o", tmp_path / "p.csv", cwd=folder)
    assert new.returncode == 0, new.stderr
    assert np.isfinite(pd.read_csv(tmp_path / "p.csv")["predicted"]).all()


def test_compare_adjusts_and_says_how_to_go_on(folder, tmp_path):
    flags = ["--methods", "average", "--repeats", 1, "--jobs", 1, "-o", tmp_path / "c", "--json"]
    result = call(folder, "compare", "beside", *flags, "--covariates", "site", "--adjust")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["methods"][0]["balanced accuracy"] < 0.6
    page = (tmp_path / "c" / "report.html").read_text(encoding="utf-8")
    assert "--covariates site --adjust" in page
    assert "residuals after regression on site" in page


def test_what_cannot_be_adjusted_for_is_refused(folder, tmp_path):
    flags = ["-o", tmp_path / "m.absentia", "--adjust"]
    refused(call(folder, "fit", "beside", *flags), "--adjust wants --covariates")
    refused(
        call(folder, "fit", "beside", *flags, "--covariates", "height"), "covariate 'height' is no column"
    )


def test_adjusted_models_are_planned_with_and_compared_with_training(tmp_path):
    assert run("example", "breast/", cwd=tmp_path).returncode == 0
    flags = ["--method", "fusion-linear", "--covariates", "age", "--adjust", "--no-report"]
    fitted = run(
        "fit", "breast", "--labels", "labels.csv:subtype", *flags, "-o", "m.absentia", cwd=tmp_path
    )
    assert fitted.returncode == 0, fitted.stderr
    assert "are no sample" not in fitted.stderr  # of those without a label
    new = run("predict", "m.absentia", "newpatients", "-o", "p.csv", "--json", cwd=tmp_path)
    said = json.loads(new.stdout)
    assert "largest probability times weight" in said["decision"]
    assert [text for text in said["shift"]["sentences"] if "'covariates'" in text] == []
    plan = ["plan", "newpatients", "--model", "m.absentia", "--among", "breast", "--draws", "5", "--json"]
    planned = run(*plan, cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    planned = json.loads(planned.stdout)
    assert {row["view"] for row in planned["plan"]} >= {"expression", "methylation"}
    assert f"{len(planned['plan'])} measurements of" in planned["summary"]
