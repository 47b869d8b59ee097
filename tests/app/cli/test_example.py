"""``absentia example``, and the first ten minutes that it is for."""

import csv
import json

import pytest

from helpers.command_line import refused, run, run_process

pytestmark = pytest.mark.usefixtures("few_strengths")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """A folder in which the example was written, with a model of it."""
    folder = tmp_path_factory.mktemp("cohort")
    assert run("example", "breast/", cwd=folder).returncode == 0
    said = run(
        *[
            "fit",
            "breast/",
            "--labels",
            "labels.csv:subtype",
            "-o",
            "model.absentia",
            "--no-report",
            "--method",
            "average",
            "--C",
            "1",
        ],
        cwd=folder,
    )
    assert said.returncode == 0, said.stderr
    return folder


def test_the_example_says_how_to_go_on(tmp_path):
    said = run("example", "breast/", cwd=tmp_path)
    assert "next:  absentia inspect breast --labels labels.csv:subtype" in said.stdout
    assert sorted(p.name for p in (tmp_path / "breast").iterdir()) == [
        "clinical.csv",
        "expression.csv",
        "labels.csv",
        "methylation.csv",
    ]
    refused(run("example", "breast/", cwd=tmp_path), "breast: is there already")
    refused(run("example", "other/", cwd=tmp_path), "newpatients: is there already")
    assert not (tmp_path / "other").exists()


def test_what_is_there_is_shown_in_a_line_for_each_view(cohort):
    said = run("inspect", "breast/", "--labels", "labels.csv:subtype", cwd=cohort)
    lines = [" ".join(line.split()) for line in said.stdout.splitlines()]
    assert "expression 129 of 159 81% 200 numeric" in lines
    assert (
        "clinical 145 of 159 91% 2 numeric, 3 categorical (sex, stage, ER) -> one-hot, 18 values missing"
        in lines
    )
    assert (
        "labels 140 usable (Basal 43, Her2 28, LumA 69), 19 empty or NA, 1 id in no view (ignored: P-1013)"
        in lines
    )
    assert lines[-1].endswith("fit breast --labels labels.csv:subtype -o model.absentia")


def test_programs_get_the_same_as_json(cohort):
    found = json.loads(
        run("inspect", "breast/", "--labels", "labels.csv:subtype", "--json", cwd=cohort).stdout
    )
    assert found["samples"] == 159
    assert {one["name"]: one["samples"] for one in found["views"]} == {
        "clinical": 145,
        "expression": 129,
        "methylation": 118,
    }
    assert found["labels"]["usable"] == 140
    assert found["labels"]["in no view"] == ["P-1013"]
    model = json.loads(run("inspect", "model.absentia", "--json", cwd=cohort).stdout)
    assert model["classes"] == ["Basal", "Her2", "LumA"]
    assert len(model["features"]["expression"]) == 200


def predicted(path):
    with path.open() as file:
        return {line["id"]: line["predicted"] for line in csv.DictReader(file)}


def test_new_patients_are_matched_by_name_and_mostly_right(cohort):
    said = run("predict", "model.absentia", "newpatients/", "-o", "predicted.csv", cwd=cohort)
    assert said.returncode == 0
    assert said.stderr == ""
    assert (
        "197 of 200 features of 'expression' matched by name (order differed), 3 missing (filled with the "
        "training mean: 'gene_001', 'gene_002', 'gene_003'), 1 unknown (ignored: 'gene_999')"
    ) in said.stdout
    found = predicted(cohort / "predicted.csv")
    with (cohort / "newpatients" / "labels.csv").open() as file:
        truth = {line["patient"]: line["subtype"] for line in csv.DictReader(file)}
    assert set(found) == set(truth)
    assert sum(found[x] == truth[x] for x in truth) > 0.7 * len(truth)


def test_another_order_of_columns_and_lines_changes_no_prediction(cohort, tmp_path):
    import pandas as pd

    for folder in ("straight", "turned"):
        (tmp_path / folder).mkdir()
    for file in (cohort / "newpatients").glob("*.csv"):
        table = pd.read_csv(file, index_col=0, dtype=str)
        table.to_csv(tmp_path / "straight" / file.name)
        table.iloc[::-1, ::-1].to_csv(tmp_path / "turned" / file.name, sep=";")
    for folder in ("straight", "turned"):
        said = run("predict", cohort / "model.absentia", folder, "-o", f"{folder}.csv", cwd=tmp_path)
        assert said.returncode == 0, said.stderr
    assert predicted(tmp_path / "straight.csv") == predicted(tmp_path / "turned.csv")


@pytest.mark.slow
def test_a_table_can_be_printed_and_all_else_kept_quiet(cohort):
    said = run_process("predict", "model.absentia", "newpatients/", "-o", "-", cwd=cohort)
    lines = said.stdout.splitlines()
    assert lines[0].startswith("id,predicted,probability=Basal,")
    assert len(lines) == 41
    assert "40 samples classified" in said.stderr
    quiet = run("inspect", "breast/", "--quiet", cwd=cohort)
    assert quiet.stdout == ""
    assert quiet.returncode == 0
