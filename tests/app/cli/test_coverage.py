"""Prediction sets on the command line: what fit calibrates, what predict --coverage says, what the page reports."""

import csv
import json
import re

import numpy as np
import pytest

import absentia
from absentia import Views, io
from helpers.command_line import refused, run

pytestmark = pytest.mark.usefixtures("few_strengths")
METHODS = {  # of classes with kernels before it
    "classes": ("y", "average", "--C", "1"),
    "numbers": ("y", "linear-regression"),
    "survival": ("times.csv:time,event", "linear-cox", "--alpha", "1"),
}
COLUMNS = {"classes": ["set"], "numbers": ["low", "high"], "survival": ["low"]}


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def make_cohort(n, seed):
    """A strong view that a third lacks and a weak one, and targets of three kinds."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    tables = {
        "strong": z[:, None] + 0.3 * rng.normal(size=(n, 3)),
        "weak": z[:, None] + 2 * rng.normal(size=(n, 2)),
    }
    observed = np.column_stack([np.arange(n) % 3 > 0, np.ones(n, bool)])
    views = Views.from_dict(tables, ids=[f"s{seed}-{i}" for i in range(n)], observed=observed)
    time, until = rng.exponential(np.exp(-2 * z)), rng.exponential(3.0, size=n)
    classes = np.array(["low", "=mid", "high"])[np.digitize(z + 0.2 * rng.normal(size=n), [-0.5, 0.5])]
    survival = np.column_stack([np.minimum(time, until), time <= until])
    return views, {"classes": classes, "numbers": z + 0.1 * rng.normal(size=n), "survival": survival}


def make_new():
    """Forty others, of whom the last but one has no view, the last the strong one alone, as nobody above."""
    keep = np.ones((40, 2), bool)
    keep[38], keep[39] = False, [True, False]
    return make_cohort(41, 1)[0][1:].hide(keep)


def fit(folder, task, output, *flags):
    labels, method, *options = METHODS[task]
    return run(
        *("fit", f"{task}.npz", "--labels", labels, "--method", method, *options, "-o", output, *flags),
        cwd=folder,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of three tasks, fitted to 150 samples by the command line at a coverage of 0.8; new samples."""
    folder = tmp_path_factory.mktemp("coverage")
    views, targets = make_cohort(150, 0)
    rows = [f"{x},{t},{int(e)}\n" for x, (t, e) in zip(views.ids, targets["survival"], strict=True)]
    (folder / "times.csv").write_text("id,time,event\n" + "".join(rows))
    for task, y in targets.items():
        io.write(folder / f"{task}.npz", views, **({} if task == "survival" else {"y": y}))
        done = fit(folder, task, f"{task}.absentia", "--coverage", "0.8", "--json")
        assert done.returncode == 0, done.stderr
        (folder / f"{task}.json").write_text(done.stdout)
    io.write(folder / "new.npz", make_new())
    return folder


def predict(folder, task, *flags, model=None):
    model = model or f"{task}.absentia"
    done = run("predict", model, "new.npz", "-o", "p.csv", "--force", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    with (folder / "p.csv").open(newline="") as file:
        return done.stdout, list(csv.DictReader(file))


def load(folder, task):
    model = absentia.load(folder / f"{task}.absentia")
    return getattr(model, "classifier", model)


def read_numbers(rows, name):
    return np.array([float(row[name]) for row in rows])


# ------------------------------------------------------------------------------------------- new samples


@pytest.mark.parametrize("task", METHODS)
def test_any_coverage_adds_columns_before_the_views_and_changes_no_other(folder, task):
    _, plain = predict(folder, task)
    for coverage in ("0.6", "0.95"):
        said, rows = predict(folder, task, "--coverage", coverage)
        names = list(rows[0])
        place = names.index("view=strong")
        assert names[place - len(COLUMNS[task]) : place] == COLUMNS[task]
        assert [{k: v for k, v in row.items() if k not in COLUMNS[task]} for row in rows] == plain
        assert f"{', '.join(COLUMNS[task])}: to hold for {100 * float(coverage):g} % of samples" in said
    assert [row["id"] for row in rows] == [f"s1-{i}" for i in range(1, 41)]


def test_sets_name_the_classes_that_may_be(folder):
    sets = {
        c: [row["set"] for row in predict(folder, "classes", "--coverage", c)[1]] for c in ("0.5", "0.9")
    }
    order = ["'=mid", "=mid", "high", "low"]  # a formula first in a cell stands behind an apostrophe
    for small, large in zip(*sets.values(), strict=True):
        names = small.split(" | ")
        assert names == sorted(names, key=order.index)
        assert large == "any" or set(names) <= set(large.split(" | "))
    assert "high" in sets["0.9"]
    assert "any" in sets["0.9"]
    assert any(" | " in one for one in sets["0.9"])
    assert not any("high | low" in one and "mid" in one for one in sets["0.9"])


def test_a_class_called_any_is_not_taken_for_all_of_them(folder, tmp_path):
    views, targets = make_cohort(150, 0)
    y = np.where(targets["classes"] == "=mid", "any", targets["classes"])
    io.write(tmp_path / "classes.npz", views, y=y)
    assert fit(tmp_path, "classes", "m.absentia").returncode == 0
    (tmp_path / "new.npz").write_bytes((folder / "new.npz").read_bytes())
    _, rows = predict(tmp_path, "classes", "--coverage", "0.999", model="m.absentia")
    assert {row["set"] for row in rows} == {"any | high | low"}


def test_intervals_are_those_of_the_scores_held_out(folder):
    """Calibrated by the hundred samples with both views, whose scores are in the file."""
    fitted = load(folder, "numbers")
    calibration = fitted.calibration_
    both = int(np.flatnonzero(calibration.patterns.all(axis=1))[0])
    scores = calibration.scores[calibration.groups == 2 * both]
    assert len(scores) == 100
    for coverage, rank in (("0.6", 61), ("0.9", 91)):
        _, rows = predict(folder, "numbers", "--coverage", coverage)
        complete = [row for row in rows if row["view=strong"] == row["view=weak"] == "1"]
        ends = np.column_stack([read_numbers(complete, name) for name in ("low", "high")])
        centre = read_numbers(complete, "predicted")[:, None]
        np.testing.assert_allclose(
            ends - centre, np.tile([-1, 1], (len(ends), 1)) * scores[rank - 1], atol=1e-4
        )


def test_who_has_no_view_is_said_what_is_true_of_anybody(folder):
    y = make_cohort(150, 0)[1]["numbers"]
    half = np.sort(np.abs(y - y.mean()))[int(np.ceil(0.6 * 151)) - 1]
    _, rows = predict(folder, "numbers", "--coverage", "0.6")
    ends = [float(rows[38][name]) for name in ("low", "high")]
    np.testing.assert_allclose(ends, [y.mean() - half, y.mean() + half], rtol=1e-4)


@pytest.mark.parametrize("task", METHODS)
def test_a_pattern_that_nobody_had_is_calibrated_by_samples_hidden_down_to_it(folder, task):
    calibration = load(folder, task).calibration_
    strong = int(np.flatnonzero((calibration.patterns == [True, False]).all(axis=1))[0])
    assert (calibration.groups == 2 * strong).sum() == 0
    assert (calibration.groups == 2 * strong + 1).sum() == 100
    assert calibration.find_groups(make_new(), 0.8)[39] == 2 * strong + 1
    _, rows = predict(folder, task, "--coverage", "0.6")
    assert [rows[39][f"view={name}"] for name in ("strong", "weak")] == ["1", "0"]
    assert rows[39][COLUMNS[task][0]] not in ("", "any", "0")


def test_bounds_of_times_fall_as_more_is_to_be_covered(folder):
    low = [read_numbers(predict(folder, "survival", "--coverage", c)[1], "low") for c in ("0.6", "0.9")]
    assert (low[0] >= low[1]).all()
    assert (low[0] > low[1]).any()


@pytest.mark.parametrize(
    ("task", "cells", "words"),
    [
        ("classes", ["any"], "any class may be"),
        ("numbers", ["", ""], "low and high are empty"),
        ("survival", ["0"], "low is 0"),
    ],
)
def test_what_cannot_be_promised_is_counted(folder, task, cells, words):
    """For 99.9 % one of 999 samples would have to be outside."""
    said, rows = predict(folder, task, "--coverage", "0.999")
    assert all([row[name] for name in COLUMNS[task]] == cells for row in rows)
    assert f"of 40 of 40 samples nothing can be said so surely: {words}" in said
    document = json.loads(predict(folder, task, "--coverage", "0.999", "--json")[0])
    assert (document["coverage"], document["nothing said"]) == (0.999, 40)
    assert "coverage" not in json.loads(predict(folder, task, "--json")[0])
    assert "nothing can be said" not in predict(folder, "numbers", "--coverage", "0.6")[0]


def test_blocks_of_any_size_give_one_table(folder, monkeypatch):
    from absentia.app.cli import _predict

    said, rows = predict(folder, "classes", "--coverage", "0.9")
    monkeypatch.setattr(_predict, "_MAX_ROWS", 7)
    again, lines = predict(folder, "classes", "--coverage", "0.9")
    assert again == said
    assert [row["set"] for row in lines] == [row["set"] for row in rows]


@pytest.mark.slow
def test_kernels_are_calibrated_as_features_are(folder, tmp_path):
    views, targets = make_cohort(150, 0)
    makes = absentia.ViewKernels("rbf")
    kernels = makes.fit_transform(views)
    io.write(tmp_path / "classes.npz", kernels, y=targets["classes"])
    rows = makes.transform(make_new())
    about = {"ids": rows.ids, "column_ids": kernels.ids, "names": np.array(rows.names)}
    np.savez(tmp_path / "new.npz", K=rows.to_dense(), **about)
    assert fit(tmp_path, "classes", "m.absentia").returncode == 0
    _, lines = predict(tmp_path, "classes", "--coverage", "0.9", model="m.absentia")
    assert {"any", "high"} <= {line["set"] for line in lines}
    assert lines[38]["set"] == predict(folder, "classes", "--coverage", "0.9")[1][38]["set"]


# ----------------------------------------------------------------------------------------------- the model


@pytest.mark.parametrize("task", METHODS)
def test_a_file_has_scores_in_their_own_order_and_no_labels(folder, task):
    calibration = load(folder, task).calibration_
    for group in np.unique(calibration.groups):
        assert (np.diff(calibration.scores[calibration.groups == group]) >= 0).all()
    assert set(vars(calibration)) == {
        *("names", "patterns", "groups", "scores", "weights", "min_samples", "hides")
    }


@pytest.mark.slow_params("classes", "numbers")
@pytest.mark.parametrize("task", METHODS)
def test_the_order_of_samples_and_views_decides_nothing(folder, task, tmp_path):
    views, targets = make_cohort(150, 0)
    order = np.random.default_rng(2).permutation(150)
    y = {} if task == "survival" else {"y": targets[task][order]}
    io.write(tmp_path / f"{task}.npz", views[order].select(["weak", "strong"]), **y)
    for name in ("times.csv", "new.npz"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert fit(tmp_path, task, "m.absentia").returncode == 0
    _, rows = predict(tmp_path, task, "--coverage", "0.7", model="m.absentia")
    _, before = predict(folder, task, "--coverage", "0.7")
    for name in COLUMNS[task]:
        if task == "classes":
            assert [row[name] for row in rows] == [row[name] for row in before]
        else:
            np.testing.assert_allclose(
                read_numbers(rows, name), read_numbers(before, name), rtol=1e-4, atol=1e-5
            )


# ---------------------------------------------------------------------------------------------- the page


@pytest.mark.parametrize("task", METHODS)
def test_the_page_says_what_was_promised_and_reached(folder, task):
    page = (folder / f"{task}.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="coverage"') :]
    section = section[: section.index("</section>")]
    rows = [re.sub("<[^>]+>", " ", row).split() for row in re.findall("<tr.*?</tr>", section, re.S)]
    assert [row[:4] for row in rows[1:]] == [
        ["every", "view", "100", "80%"],
        ["only", "weak", "50", "80%"],
        ["all", "samples", "150", "80%"],
    ]
    reached = json.loads((folder / f"{task}.json").read_text())["coverage"]
    assert reached["promised"] == 0.8
    assert rows[3][4] == f"{100 * reached['reached']:.1f}%"
    assert reached["low"] < reached["reached"] < reached["high"]
    # standard errors of 4 and 6 points, some more of censored times
    shares = [float(row[4].rstrip("%")) for row in rows[1:]]
    assert min(shares) > 62
    if task != "survival":
        plain = [float(row[9 if "to" in row else 8].rstrip("%")) for row in rows[1:]]
        assert plain[0] - plain[1] > 10 + shares[0] - shares[1]


def test_the_terminal_says_it_too_though_nobody_asked(folder, tmp_path):
    (tmp_path / "numbers.npz").write_bytes((folder / "numbers.npz").read_bytes())
    done = fit(tmp_path, "numbers", "m.absentia")
    assert re.search(r"predict --coverage\): 90 % promised, \d\d\.\d % reached out of fold", done.stdout)


# ------------------------------------------------------------------------------------------------ refused


def test_a_model_without_calibration_predicts_and_says_what_it_lacks(folder):
    done = fit(folder, "numbers", "plain.absentia", "--no-report", "--force")
    assert done.returncode == 0, done.stderr
    assert not hasattr(absentia.load(folder / "plain.absentia"), "calibration_")
    assert "low" not in predict(folder, "numbers", model="plain.absentia")[1][0]
    result = run("predict", "plain.absentia", "new.npz", "-o", "q.csv", "--coverage", "0.9", cwd=folder)
    refused(result, "plain.absentia: the model has no calibration", "without --time, --no-rows")
    assert not (folder / "q.csv").exists()


@pytest.mark.parametrize("coverage", ["0", "1", "1.5", "-0.1", "nan"])
def test_a_coverage_is_a_share(folder, coverage):
    words = "--coverage is a number above 0 and below 1"
    refused(fit(folder, "numbers", "no.absentia", f"--coverage={coverage}"), words)
    refused(
        run("predict", "numbers.absentia", "new.npz", "-o", "q.csv", f"--coverage={coverage}", cwd=folder),
        words,
    )


def test_what_cannot_be_calibrated_is_refused_if_it_was_asked_for(folder):
    refused(
        fit(folder, "numbers", "no.absentia", "--coverage", "0.9", "--no-report"), "leave out --no-report"
    )
    result = fit(folder, "classes", "no.absentia", "--coverage", "0.9", "--no-probability")
    refused(result, "--coverage wants probabilities", "leave out --no-probability")
    done = fit(folder, "classes", "scores.absentia", "--no-probability", "--force")
    assert done.returncode == 0, done.stderr
    assert "prediction sets" not in done.stdout
    assert 'id="coverage"' not in (folder / "scores.html").read_text(encoding="utf-8")
