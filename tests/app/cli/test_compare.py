"""``absentia compare``: from a file to a folder of records, a page and a sentence."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from absentia import KernelViews, Views, io
from absentia.experiment.comparison import Study, open_study
from helpers.command_line import refused, run

pytestmark = pytest.mark.usefixtures("few_strengths")

QUICK = ("--methods", "average", "linear", "--repeats", 1, "--cv", 2, "--jobs", 1)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Classes, numbers and several labels of 60 samples in two views, of which some are absent."""
    folder = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    latent = rng.normal(size=60)
    tables = {name: latent[:, None] + rng.normal(size=(60, 3)) for name in ("a", "b")}
    tables["a"][:10], tables["b"][10:20] = np.nan, np.nan
    y = np.where(latent + 0.5 * rng.normal(size=60) > 0, "ill", "well")
    Y = np.column_stack([latent > 0, rng.random(60) > 0.5]).astype(float)
    Y[:5, 0] = np.nan
    ids = [f"p{i}" for i in range(60)]
    views = Views.from_dict(tables, ids=ids)
    io.write(folder / "v.npz", views, y=y, number=latent)
    frame = pd.DataFrame(Y, index=pd.Index(ids, name="id"), columns=["smoker", "old"])
    frame.to_csv(folder / "labels.csv")
    return folder


@pytest.fixture(scope="module")
def compared(data):
    return run("compare", "v.npz", "--labels", "y", "-o", "out", *QUICK, cwd=data, apart=True)


def test_it_ends_with_a_sentence_a_table_a_page_and_what_to_do_next(data, compared):
    assert compared.returncode == 0, compared.stderr
    lines = compared.stdout.splitlines()
    assert lines[1] == "8 trials: 0 are there already, 8 to run"
    assert lines[2].startswith(("Take average, the simplest: balanced accuracy", "Take linear: expected"))
    page = (data / "out" / "report.html").read_text()
    assert lines[2].split(" (")[0] in page
    table = pd.read_csv(data / "out" / "table.csv", index_col=0)
    assert set(table.index) == {"average", "linear"}
    assert table["fits"].tolist() == [2, 2]
    assert lines[-1].startswith("next:")
    assert "fit v.npz --labels y --method" in lines[-1]
    assert sorted(p.name for p in (data / "out").iterdir()) == [
        *("data.absentia", "design.json", "report.html", "table.csv", "trials")
    ]


def test_the_same_command_reuses_everything_and_more_repeats_extend(data, compared):
    again = run("compare", "v.npz", "--labels", "y", "-o", "out", *QUICK, cwd=data)
    assert "8 trials: 8 are there already, 0 to run" in again.stdout
    assert again.stdout.splitlines()[2:] == compared.stdout.splitlines()[2:]
    more = run(
        *("compare", "v.npz", "--labels", "y", "-o", "out", *QUICK[:4], 2, *QUICK[5:], "--dry-run"),
        cwd=data,
    )
    assert "16 trials: 8 are there already, 8 to run (8 new)" in more.stdout
    assert "nothing was run" in more.stdout
    assert len(open_study(data / "out").trials) == 8  # a dry run writes nothing


def test_json_is_for_programs(data, compared):
    found = json.loads(run("report", data / "out", "--json").stdout)
    assert found["sentence"] == compared.stdout.splitlines()[2]
    assert found["trials"] == {"done": 8, "wanted": 8}
    rows = {row["method"]: row for row in found["methods"]}
    assert rows.keys() == {"average", "linear"}
    assert found["recommended"] in rows
    assert (found["default"], found["beyond default"]) == ("auto", None)  # which was not tried
    assert rows["average"]["expected"] is None
    linear = rows["linear"]
    assert abs(linear["expected"]) < abs(linear["difference"]) + 0.02
    assert 0 < linear["chance worse"] + linear["chance better"] < 1
    if found["recommended"] == "linear":
        assert found["expected"]["mean"] == linear["expected"]
    else:
        assert (found["expected"], found["shown"]) == (None, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "methods", "metric"),
    [
        (["--labels", "number"], ["ridge-zero", "linear-regression"], "R2"),
        (["--labels", "labels.csv:smoker,old"], ["average", "linear"], "AUC"),
        ([], ["mean", "zero"], "ARE"),
    ],
)
def test_numbers_several_labels_and_no_labels_at_all(data, tmp_path, labels, methods, metric):
    result = run(
        *("compare", "v.npz", *labels, "-o", tmp_path / "out", "--methods", *methods),
        *("--repeats", 1, "--cv", 2, "--jobs", 1, "--json"),
        cwd=data,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["score"] == metric
    assert [row["failed"] for row in found["methods"]] == [0, 0]
    assert metric in (tmp_path / "out" / "report.html").read_text()


def test_a_plan_is_written_and_not_run(data, tmp_path):
    result = run(
        *("compare", "v.npz", "--labels", "y", "-o", tmp_path / "out", *QUICK, "--plan-only"), cwd=data
    )
    assert "8 trials: 0 are there already, 8 to run" in result.stdout
    assert f"work {tmp_path / 'out'} --shard 1/16" in result.stdout
    assert not (tmp_path / "out" / "trials").exists()


def test_what_cannot_be_is_refused_before_any_work(data, tmp_path):
    start = ("compare", "v.npz", "--labels", "y", "-o", tmp_path / "out")
    refused(run("compare", "v.npz", cwd=data), "-o FOLDER")
    refused(run(*start, "--methods", "avarage", cwd=data), "no method 'avarage'; did you mean average")
    refused(run(*start, "--score", "R2", cwd=data), "score 'R2' is none of balanced-accuracy")
    refused(run(*start, "--jobs", 0, cwd=data), "--jobs is a whole number from 1")
    refused(run(*start, "--repeats", 0, cwd=data), "repeats is a whole number of 1 or more, not 0")
    refused(run(*start, "--hide", 1.5, cwd=data), "hide is a share between 0 and 1, not 1.5")
    refused(run(*start, "--memory-limit", "lots", cwd=data), "--memory-limit is 'lots'", "8G")
    refused(run("compare", "v.npz", "--labels", "gone", "-o", tmp_path / "out", cwd=data), "gone")
    refused(run("compare", "v.npz", "--labels", "y", "-o", "v.npz", cwd=data), "is a file")
    assert not (tmp_path / "out").exists()


def test_methods_of_features_are_refused_for_kernels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    kernels = KernelViews.from_dense(np.array([X @ X.T, np.eye(30)]))
    io.write(tmp_path / "k.npz", kernels, y=(X[:, 0] > 0).astype(int))
    start = ("compare", "k.npz", "--labels", "y", "-o", "out")
    refused(run(*start, "--methods", "forest", cwd=tmp_path), "'forest' takes features, and the data are")
    usual = run(*start, "--dry-run", cwd=tmp_path)
    assert "not tried: forest takes features, and the data are kernels" in usual.stdout


@pytest.mark.slow
def test_braces_spaces_and_kernels_by_view_go_through(data, tmp_path):
    odd = tmp_path / "d{x} y.npz"
    odd.write_bytes((data / "v.npz").read_bytes())
    result = run(
        *("compare", odd, "--labels", "y", "-o", tmp_path / "out", "--kernel", "b=linear"),
        *("--methods", "average", "--repeats", 1, "--cv", 2, "--jobs", 1),
    )
    assert result.returncode == 0, result.stderr
    assert f"fit '{odd}' --labels y --kernel b=linear --method average" in result.stdout
    found = open_study(tmp_path / "out")
    assert all(record.done for record in found.records.of(found.trials).values())


@pytest.mark.slow
def test_one_draw_has_no_interval(data, tmp_path):
    result = run(
        *("compare", "v.npz", "-o", tmp_path / "out", "--methods", "mean", "zero"),
        *("--repeats", 1, "--jobs", 1),
        cwd=data,
    )
    assert result.returncode == 0, result.stderr
    assert "nan" not in result.stdout
    refused(run("compare", "v.npz", "--dry-run", "--json", cwd=data), "--json and --cite are for results")


def test_who_interrupts_is_told_what_is_kept(data, compared, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", interrupted)
    result = run("compare", "v.npz", "--labels", "y", "-o", tmp_path / "out", *QUICK, cwd=data)
    assert result.returncode == 130
    assert "0 of 8 trials are kept" in result.stderr
    assert "the same command" in result.stderr
    assert "absentia report" in result.stderr
    again = run("compare", "v.npz", "--labels", "y", "-o", "out", *QUICK, cwd=data)
    assert "8 of 8 trials are kept" in again.stderr
    assert "of CPU time" not in result.stdout + again.stdout  # nothing is known of it, nothing is to run
    shutil.copytree(data / "out", tmp_path / "more")
    more = (*QUICK[:4], 2, *QUICK[5:])
    again = run("compare", "v.npz", "--labels", "y", "-o", tmp_path / "more", *more, cwd=data)
    assert re.fullmatch(r"about \S+ \S+ of CPU time, \S+ \S+ on 1 core", again.stdout.splitlines()[-1])


def test_list_shows_the_methods_of_every_task():
    shown = run("compare", "--list").stdout
    for name in ("average", "ridge-zero", "mkmc-pca"):
        assert name in shown


def test_costs_of_mistakes_decide_and_rank_and_are_handed_on_to_fit(data, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text(",well,ill\nill,10,0\nwell,0,1\n".replace("well,0,1", "well,,1"))
    start = ("compare", "v.npz", "--labels", "y", "-o", tmp_path / "out", *QUICK)
    done = run(*start, "--costs", costs, "--json", cwd=data)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["score"] == "cost"
    study = open_study(tmp_path / "out")
    np.testing.assert_array_equal(study.data.decision, [[0, 10], [1, 0]])  # ill, well
    means = [row["cost"] for row in found["methods"]]
    assert means == sorted(means)  # less is better
    results = study.results()
    assert f"--costs {costs}" in results.recommendation.command
    assert "least expected cost" in results.facts["decision"]
    for record in study.records.of(study.trials).values():
        if record.trial["kind"] == "predict":
            y, said = (study.data.targets[record.result["test"]], record.result["predicted"])
            assert record.result["scores"]["cost"] == pytest.approx(study.data.decision[y, said].mean())
    ranked = json.loads(run(*start, "--costs", costs, "--score", "log-loss", "--json", cwd=data).stdout)
    assert ranked["score"] == "log-loss"
    assert ranked["trials"]["done"] == found["trials"]["done"]
    assert [row["log-loss"] for row in ranked["methods"]] == sorted(
        row["log-loss"] for row in found["methods"]
    )
    costs.write_text(",well,ill\nill,10,0\nwell,0,-1\n")
    refused(run(*start, "--costs", costs, cwd=data), str(costs), "taking class 'well' for 'ill' is '-1'")
    refused(run(*start, "--score", "cost", cwd=data), "cost wants --costs")
    refused(run(*start[:3], "number", *start[4:], "--costs", costs, cwd=data), "the labels are numbers")


@pytest.mark.slow
def test_a_learning_curve_is_said_drawn_and_given_to_programs(data):
    given = ("v.npz", "--labels", "y", "-o", "curve", "--learning-curve", "--jobs", 1)
    given += ("--methods", "average", "--repeats", 1, "--cv", 4)
    ran = run("compare", *given, cwd=data)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert any(line.startswith("With average, 60 more samples") for line in lines)
    assert any(
        line.startswith("Measuring a in the 10 who lack it would be expected to add") for line in lines
    )
    assert 'id="learning-curve"' in (data / "curve" / "report.html").read_text()
    again = run("report", "curve", "--json", cwd=data)
    document = json.loads(again.stdout)["learning curve"]
    (curve,) = document["samples"]
    assert curve["sentence"] in lines
    assert len(curve["points"]) == 5
    assert set(curve["gain"]) == {"value", "low", "high"}
    assert [view["view"] for view in document["views"]] == ["a", "b"]
    assert [view["lack"] for view in document["views"]] == [10, 10]


def test_a_learning_curve_wants_labels(data):
    refused(
        run("compare", "v.npz", "-o", "none", "--learning-curve", "--methods", "mean", cwd=data),
        "a learning curve is of predictions: give labels",
    )


def test_scores_under_other_patterns_are_said_drawn_and_given_to_programs(data, compared):
    (data / "mix.csv").write_text("pattern,share\na,0.5\na+b,0.25\n,0.25\n")
    found = run("report", "out", "--patterns", "mix.csv", cwd=data)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert any(line.startswith("With ") and "is to be expected (95%: " in line for line in lines)
    unknown = next(line for line in lines if "nothing is known" in line)
    assert unknown.startswith("Of 25% of the new mix nothing is known")
    assert "no view (25.0%)" in unknown
    assert "If samples come with other views" in (data / "out" / "report.html").read_text()
    document = json.loads(run("report", "out", "--patterns", "mix.csv", "--json", cwd=data).stdout)
    assert document["patterns"]["unknown share"] == pytest.approx(0.25)
    same = run("compare", "v.npz", "--labels", "y", "-o", "out", *QUICK, "--patterns", "v.npz", cwd=data)
    assert "as with the patterns here" in same.stdout
    assert run("report", "out", cwd=data).stdout.splitlines() == compared.stdout.splitlines()[2:]
    assert "If samples come with other views" not in (data / "out" / "report.html").read_text()


def test_what_is_no_mix_of_patterns_is_refused_before_anything_is_run(data, compared):
    (data / "bad.csv").write_text("pattern,share\na,0.5\nmri,0.5\n")
    command = ["compare", "v.npz", "--labels", "y", "-o", "none", *QUICK]
    refused(run(*command, "--patterns", "bad.csv", cwd=data), "bad.csv", "no view 'mri'")
    completion = run("compare", "v.npz", "-o", "none", "--patterns", "bad.csv", cwd=data)
    refused(completion, "scores of completion are of pairs")
    assert not (data / "none").exists()
