"""``--time`` of fit and compare: where times are read from, and what is said of them."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixty samples, when they came stands in a view and beside the labels; the label follows the features."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("time")
    (folder / "data").mkdir()
    x = rng.normal(size=(60, 4))
    when = rng.permutation(60)
    frame = pd.DataFrame(x, index=pd.Index([f"p{k:02d}" for k in range(60)], name="id")).add_prefix("x")
    days = [str(day.date()) for day in pd.Timestamp("2021-01-01") + pd.to_timedelta(7 * when, "D")]
    frame.assign(seen=days, hour=168 * when).to_csv(folder / "data" / "a.csv")
    labels = {"y": np.where(x[:, 0] > 0, "ill", "well"), "number": x[:, 0], "day": days, "week": when}
    labels = pd.DataFrame(labels, index=frame.index).assign(odd=["soon", *days[1:]], visit=days)
    labels.to_csv(folder / "labels.csv")
    return folder


def call(folder, verb, *flags, label="y"):
    """Dates in views are refused, unless they are left out."""
    return run(verb, "data", "--labels", f"labels.csv:{label}", "--ignore", "seen", *flags, cwd=folder)


@pytest.mark.parametrize("time", ["day", "week", "labels.csv:day", "a.csv:seen", "hour"])
def test_fit_is_judged_on_what_came_later(folder, tmp_path, time):
    output = tmp_path / "m.absentia"
    result = call(folder, "fit", "--method", "linear", "-o", output, "--time", time, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["samples"] == 60
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    words = "5 blocks in time, each predicted from all that came before it; the 10 earliest samples are"
    assert words in page
    assert "Later samples" in page
    assert "dealt into groups" not in page
    new = run("predict", output, "data", "-o", tmp_path / "p.csv", cwd=folder)
    assert new.returncode == 0, new.stderr
    n_features = 4 if time == "hour" else 5  # what says the time is no feature
    assert f"{n_features} features of 'a' matched by name" in new.stdout + new.stderr


@pytest.mark.parametrize("label", ["number", "week,y"])
def test_pages_of_numbers_and_survival_are_of_later_samples(folder, tmp_path, label):
    labels = pd.read_csv(folder / "labels.csv", index_col=0)
    survival = pd.DataFrame({"time": np.exp(labels["number"]), "event": 1}, labels.index)
    survival["number"], survival["week"] = labels["number"], labels["week"]
    survival.to_csv(tmp_path / "l.csv")
    column = "number" if label == "number" else "time,event"
    flags = ["--labels", f"{tmp_path}/l.csv:{column}", "--time", "week", "-o", tmp_path / "m.absentia"]
    result = run("fit", "data", "--ignore", "seen", *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "50 samples" in page
    assert "5 blocks in time" in page


def test_compare_holds_out_blocks_in_time(folder, tmp_path):
    flags = ["--methods", "average", "--jobs", 1, "--cv", 3, "-o", tmp_path / "c", "--json"]
    result = call(folder, "compare", *flags, "--time", "day")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)["methods"]
    assert [row["wanted"] for row in told] == [3]
    page = (tmp_path / "c" / "report.html").read_text(encoding="utf-8")
    assert "3 blocks in time" in page
    assert "15 after 15, 15 after 30, 15 after 45" in page
    again = run("report", tmp_path / "c")
    assert again.returncode == 0, again.stderr


def test_times_that_cannot_be_used_are_refused(folder, tmp_path):
    flags = ["-o", tmp_path / "m.absentia", "--time"]
    refused(call(folder, "fit", *flags, "odd"), "the time of sample 'p00' is 'soon'")
    refused(call(folder, "fit", *flags, "never"), "--time never", "no column of a view")
    refused(
        call(folder, "fit", *flags, "day", "--coverage", "0.8"),
        "--coverage is of samples held out at random",
    )
    refused(
        run("compare", "data", "-o", tmp_path / "c", "--ignore", "seen", "--time", "hour", cwd=folder),
        "--time is of predictions",
    )
