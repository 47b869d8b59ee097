"""``--groups`` of fit and compare: where they are read from, and what is said of them."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import refused, run

pytestmark = pytest.mark.usefixtures("few_strengths")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen patients of three nearly equal visits; who they are stands in a view and beside the labels."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(16), 3)
    ids = [f"P{p:02d}_v{v}" for p in range(16) for v in range(3)]
    table = rng.normal(size=(16, 6))[patient] + 0.02 * rng.normal(size=(48, 6))
    frame = pd.DataFrame(table, index=pd.Index(ids, name="id")).add_prefix("x")
    folder = tmp_path_factory.mktemp("groups")
    for name in ("plain", "named"):
        (folder / name).mkdir()
    frame.to_csv(folder / "plain" / "a.csv")
    frame.assign(subject=[f"s{p}" for p in patient]).to_csv(folder / "named" / "a.csv")
    labels = {
        "y": np.where(patient % 2, "ill", "well"),
        "who": [f"n{p}" for p in patient],
        "site": [f"site{p % 4 // 2}" for p in patient],
        "all": "one",
    }
    pd.DataFrame(labels, index=frame.index).to_csv(folder / "labels.csv")
    return folder


def call(folder, verb, data, *flags):
    return run(verb, data, "--labels", "labels.csv:y", *flags, cwd=folder)


@pytest.mark.parametrize(
    ("data", "groups"),
    [("plain", "who"), ("plain", "labels.csv:who"), ("plain", "id"), ("named", "subject"), ("named", "a:subject")],
)  # fmt: skip
def test_fit_keeps_patients_together(folder, tmp_path, data, groups):
    flags = ["--method", "linear", "-o", tmp_path / "m.absentia", "--json", "--groups", groups]
    result = call(folder, "fit", data, *flags)
    assert result.returncode == 0, result.stderr
    assert "seem to be repeats" not in result.stderr
    assert "nearly determines" not in result.stderr  # the column is no feature
    told = json.loads(result.stdout)
    assert told["groups"] == 16
    assert "16 of samples, none on both sides of a split" in (tmp_path / "m.html").read_text()
    new = run("predict", tmp_path / "m.absentia", data, "-o", tmp_path / "p.csv", cwd=folder)
    assert new.returncode == 0, new.stderr
    assert "6 features of 'a' matched by name" in new.stdout + new.stderr
    assert "subject" not in new.stdout + new.stderr


def test_without_groups_a_warning_says_what_to_add(folder, tmp_path):
    flags = ["--method", "linear", "-o", tmp_path / "m.absentia", "--json", "--no-report"]
    result = call(folder, "fit", "plain", *flags)
    assert "seem to be repeats" in result.stderr
    assert "--groups id" in result.stderr
    assert "--groups COLUMN" in result.stderr
    assert json.loads(result.stdout)["groups"] is None


def test_compare_takes_groups_and_says_so(folder, tmp_path):
    flags = ["--methods", "average", "--repeats", 1, "--jobs", 1, "-o", tmp_path / "c", "--json"]
    result = call(folder, "compare", "plain", *flags, "--groups", "who")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["groups"] == 16
    assert "16 of samples, none on both sides of a split" in (tmp_path / "c" / "report.html").read_text()


def test_sites_are_held_out_one_by_one(folder, tmp_path):
    flags = ["--methods", "average", "--dry-run", "-o", tmp_path / "c", "--leave-one-group-out"]
    result = call(folder, "compare", "plain", *flags, "--groups", "site")
    assert "2 trials" in result.stdout
    refused(call(folder, "compare", "plain", *flags), "for 2 to 30 groups, and there are none")


def test_groups_that_are_none_are_refused(folder, tmp_path):
    flags = ["-o", tmp_path / "m.absentia", "--no-report", "--groups"]
    refused(call(folder, "fit", "plain", *flags, "nobody"), "--groups nobody", "no column of a view")
    refused(call(folder, "fit", "plain", *flags, "all"), "--groups all", "all samples are of one group")
    compare = ["compare", "named", "-o", tmp_path / "c", "--groups", "subject"]
    refused(run(*compare, cwd=folder), "--groups is of predictions")
