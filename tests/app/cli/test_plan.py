"""``absentia plan``: what to measure next, for what it costs."""

import json

import pandas as pd
import pytest

import absentia
from absentia import Views, inspection, io
from helpers.command_line import refused, run, run_process
from helpers.known_effects import planted

pytestmark = pytest.mark.usefixtures("few_strengths")

FIT = ("fit", "train", "--no-report", "--labels")
PLAN = ("plan", "new", "--model", "model.absentia", "--draws", 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training samples and new ones as tables, a model with probabilities and others without."""
    folder = tmp_path_factory.mktemp("plan")
    views, y = planted(100)
    io.write(folder / "train", views[:70])
    io.write(folder / "new", views[70:])
    labels = pd.DataFrame({"kind": y, "size": range(100)}, pd.Index(views.ids, name="id"))
    labels.iloc[:70][["kind"]].to_csv(folder / "labels.csv")
    labels.iloc[:70][["size"]].to_csv(folder / "sizes.csv")
    for name, source, method, *flags in (
        ("model", "labels.csv:kind", "linear"),
        ("scores", "labels.csv:kind", "amkl-convex", "--C", 1, "--no-probability"),
        ("numbers", "sizes.csv:size", "ridge"),
    ):
        fitted = run(*FIT, source, "-o", f"{name}.absentia", "--method", method, *flags, cwd=folder)
        assert fitted.returncode == 0, fitted.stderr
    return folder


def write_costs(folder, text):
    (folder / "costs.csv").write_text(text)
    return "--costs", "costs.csv"


def test_the_table_is_that_of_python(folder):
    costs = write_costs(folder, "view,cost,batch,batch cost\ntells,2,3,4\necho , 1 ,,\n")
    said = run(*PLAN, "--among", "train", *costs, "--budget", 30, "-o", "plan.csv", cwd=folder)
    assert said.returncode == 0, said.stderr
    model = absentia.load(folder / "model.absentia")
    wanted = inspection.plan(
        model,
        absentia.read(folder / "new"),
        absentia.read(folder / "train"),
        costs={"tells": 2, "echo": 1},
        batch={"tells": 3},
        batch_costs={"tells": 4},
        budget=30,
        n_draws=5,
    )
    table = pd.read_csv(folder / "plan.csv")
    pd.testing.assert_frame_equal(table, wanted.astype({"view": table["view"].dtype}), rtol=1e-5)
    assert "view 'noise' has no cost, and is not planned" in said.stdout
    cost, samples = table["cost"].sum(), table["id"].nunique()
    assert f"{len(table)} measurements of {samples} samples for {cost:g}" in said.stdout
    mean = 100 * table["gain"].sum() / samples
    assert f"rise by {mean:.1f} percentage points" in said.stdout
    assert table["id"][0] in said.stdout
    again = run(*PLAN, "-o", "plan.csv", cwd=folder)  # a plan of absentia is replaced
    assert again.returncode == 0, again.stderr


def test_json_has_every_row_and_a_dash_prints_the_table_alone(folder):
    document = json.loads(run(*PLAN, "--json", cwd=folder).stdout)
    printed = run_process(*PLAN, "-o", "-", cwd=folder)
    lines = printed.stdout.splitlines()
    assert lines[0] == "id,view,batch,cost,gain,gain per cost,cumulative cost,cumulative gain"
    assert [line.split(",")[:2] for line in lines[1:]] == [[r["id"], r["view"]] for r in document["plan"]]
    assert "percentage points" in printed.stderr
    free = write_costs(folder, "view,cost\ntells,0\n")
    document = json.loads(run(*PLAN, *free, "--json", cwd=folder).stdout)
    assert document["plan"][0]["gain per cost"] is None
    refused(run(*PLAN, "--json", "-o", "-", cwd=folder), "choose one")


def test_a_view_that_no_new_sample_has_is_lent_by_others(folder, tmp_path):
    new = absentia.read(folder / "new")
    io.write(tmp_path / "some", new.select(["echo", "noise"]))
    command = ("plan", tmp_path / "some", *PLAN[2:])
    alone = run(*command, "--json", cwd=folder)
    document = json.loads(alone.stdout)
    assert document["notes"] == [
        "view 'tells': nobody has it, and what it may say is not known; give --among"
    ]
    assert "tells" not in {row["view"] for row in document["plan"]}
    document = json.loads(run(*command, "--among", "train", "--json", cwd=folder).stdout)
    assert document["notes"] == []
    assert document["plan"][0]["view"] == "tells"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("view,cost\ntell,1\n", "no view 'tell'; the views are 'echo', 'noise', 'tells'"),
        ("view,cost\ntells,-1\n", "'tells' has -1"),
        ("view,cost\ntells,dear\n", "costs.csv: cost of view 'tells' is 'dear'; a number is wanted"),
        ("view,cost\ntells,\n", "costs.csv: cost of view 'tells' is ''; a number is wanted"),
        ("view,price\ntells,1\n", "costs.csv: has the columns 'view', 'price'"),
        ("view,cost\ntells,1\ntells,2\n", "costs.csv: view 'tells' is there twice"),
        ("view,cost,batch\ntells,1,0\n", "'tells' has 0"),
        ("view,cost\ntells,100\n", "the budget of 50 pays for nothing: the least is 100"),
    ],
)
def test_tables_of_costs_that_cannot_be_meant_are_refused(folder, text, words):
    refused(run(*PLAN, *write_costs(folder, text), "--budget", 50, cwd=folder), words)


def test_what_no_plan_can_be_made_of_is_refused(folder, tmp_path):
    for model in ("scores.absentia", "numbers.absentia"):
        said = run("plan", "new", "--model", model, cwd=folder)
        refused(said, f"{model}: the model gives no probabilities of classes")
    views = absentia.read(folder / "new")
    complete = [i for i, seen in enumerate(views.observed) if seen.all()]
    io.write(tmp_path / "complete", views[complete])
    said = run("plan", tmp_path / "complete", *PLAN[2:], cwd=folder)
    refused(said, "no sample lacks a view of the model: there is nothing to measure")
    refused(run(*PLAN, "--budget", 0, cwd=folder), "--budget is a number above 0, not 0.0")
    refused(run(*PLAN, "--budget", "nan", cwd=folder), "--budget is a number above 0")
    refused(run(*PLAN, "--draws", 0, cwd=folder), "--draws")
    refused(run(*PLAN, "-o", "plan.txt", cwd=folder), "plan.txt: the output is a .csv file")
    (folder / "mine.csv").write_text("a,b\n")
    refused(run(*PLAN, "-o", "mine.csv", cwd=folder), "absentia did not write it")
    other = Views.from_dict({"other": views["tells"].to_numpy()})
    io.write(tmp_path / "other", other)
    refused(run("plan", tmp_path / "other", *PLAN[2:], cwd=folder), "none of the views ['other']")
