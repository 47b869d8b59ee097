"""``absentia plot``: pictures without Python."""

import re

import numpy as np
import pandas as pd
import pytest

from absentia import io, plots
from helpers.command_line import refused, run
from helpers.known_effects import planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples with labels, times and events, a model of half of them."""
    folder = tmp_path_factory.mktemp("plot")
    views, y = planted(80)
    io.write(folder / "data", views)
    table = {"kind": y, "days": range(1, 81), "died": [i % 3 > 0 for i in range(80)]}
    pd.DataFrame(table, pd.Index(views.ids, name="id")).to_csv(folder / "labels.csv")
    fit = ("fit", "data", "--labels", "labels.csv:kind", "-o", "model.absentia", "--no-report")
    assert run(*fit, "--method", "linear", cwd=folder).returncode == 0
    return folder


LABELS = ("--labels", "labels.csv:kind")


@pytest.mark.parametrize(
    ("kind", "data", "flags"),
    [
        ("presence", "data", LABELS),
        ("patterns", "data", ()),
        ("absence", "data", LABELS),
        ("kernels", "data", (*LABELS, "--method", "mean")),
        ("embedding", "data", LABELS),
        ("values", "data", ()),
        ("importance", "model.absentia", ()),
        ("contributions", "data", ("--model", "model.absentia", "--sample", "s3")),
        ("calibration", "data", (*LABELS, "--model", "model.absentia")),
        ("survival", "data", ("--labels", "labels.csv:days,died")),
    ],
)
def test_a_picture_is_written(folder, tmp_path, kind, data, flags):
    path = tmp_path / "figure.pdf"
    said = run("plot", kind, data, *flags, "-o", path, "--width", "single", cwd=folder)
    assert said.returncode == 0, said.stderr
    assert path.read_bytes().startswith(b"%PDF")
    assert f"figure: {path}" in said.stdout


def test_tables_are_drawn(folder, tmp_path):
    (folder / "plan.csv").write_text("id,view,cumulative cost,cumulative gain\na,x,1,.2\nb,y,2,.3\n")
    (folder / "scores.csv").write_text("set,a,b,c\none,1,2,3\ntwo,1,3,2\nthree,2,1,3\n")
    for kind, name in (("plan", "plan.csv"), ("critical-difference", "scores.csv")):
        said = run("plot", kind, name, "-o", tmp_path / f"{kind}.svg", cwd=folder)
        assert said.returncode == 0, said.stderr
    assert (tmp_path / "plan.svg").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("calibration", "data", "-o", "x.pdf"), "labels are wanted"),
        (("calibration", "data", *LABELS, "-o", "x.pdf"), "a model is wanted"),
        (("presence", "data", "-o", "x.gif"), ".pdf or a .svg or a .png"),
        (("plan", "labels.csv", "-o", "x.pdf"), "no column 'view'"),
        (("comparison", "data", "-o", "x.pdf"), "no folder of a comparison"),
        (("presences", "data", "-o", "x.pdf"), 'Did you mean "presence"'),
    ],
)
def test_what_cannot_be_drawn_is_refused(folder, words, message):
    refused(run("plot", *words, cwd=folder), message)
    assert not (folder / "x.pdf").exists()


def test_every_display_is_drawn_from_the_command_line():
    said = run("plot", "--help").stdout
    offered = set(re.findall(r"[\w-]+", said[said.index("choices:") :].partition("]")[0]))
    displays = {name.removesuffix("Display") for name in vars(plots) if name.endswith("Display")} - {""}
    kinds = {re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower() for name in displays}
    assert {kind for kind in kinds if not {kind, f"{kind}s"} & offered} == set()


def test_coverage_is_what_the_calibrated_model_reaches(tmp_path):
    """Counts by pattern stand in the picture; a model that was not calibrated is refused."""
    views, y = planted(160)
    io.write(tmp_path / "old", views[:110])
    io.write(tmp_path / "new", views[110:])
    pd.DataFrame({"kind": y}, pd.Index(views.ids, name="id")).to_csv(tmp_path / "labels.csv")
    fit = ("fit", "old", *LABELS, "--method", "linear")
    assert run(*fit, "-o", "model.absentia", cwd=tmp_path).returncode == 0
    assert run(*fit, "-o", "plain.absentia", "--no-report", cwd=tmp_path).returncode == 0
    draw = ("plot", "coverage", "new", *LABELS, "-o", "coverage.svg", "--coverage", "0.8")
    said = run(*draw, "--model", "model.absentia", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    drawn = re.findall(r"<!-- (.*?) -->", (tmp_path / "coverage.svg").read_text())  # texts of the picture
    new = io.read(tmp_path / "new")
    for pattern, n in zip(*new.patterns(), strict=True):
        names = " + ".join(np.array(new.names)[pattern])
        assert f"{names} (n = {n})" in drawn
    refused(run(*draw, "--force", "--model", "plain.absentia", cwd=tmp_path), "no calibration")
    refused(
        run(*draw[:-1], "2", "--force", "--model", "model.absentia", cwd=tmp_path), "--coverage is a number"
    )


def test_labels_follow_the_ids_of_new_samples(folder, tmp_path):
    """The rows of labels stand in another order than those of the data."""
    labels = pd.read_csv(folder / "labels.csv")
    labels[::-1].to_csv(folder / "turned.csv", index=False)
    pictures = []
    for name in ("labels", "turned"):
        path = tmp_path / f"{name}.svg"
        flags = ("--labels", f"{name}.csv:kind", "--model", "model.absentia", "-o", path)
        assert run("plot", "calibration", "data", *flags, cwd=folder).returncode == 0
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1]
