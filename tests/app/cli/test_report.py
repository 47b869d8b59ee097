"""``absentia report``: the page again, from records alone."""

import shutil

import numpy as np
import pytest

from absentia import Views, io
from helpers.command_line import refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison of two methods on forty samples."""
    place = tmp_path_factory.mktemp("report")
    X = np.random.default_rng(0).normal(size=(40, 3))
    io.write(place / "v.npz", Views.from_dict({"a": X, "b": X[:, :1]}), y=(X[:, 0] > 0).astype(int))
    made = run(
        *("compare", "v.npz", "--labels", "y", "-o", "out", "--methods", "average", "linear"),
        *("--repeats", 1, "--cv", 2, "--jobs", 1),
        cwd=place,
    )
    assert made.returncode == 0, made.stderr
    return place / "out"


@pytest.mark.slow
def test_the_page_is_a_function_of_the_folder(folder):
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    result = run("report", folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "report.html").read_bytes() == before


def test_a_page_of_what_is_there_says_that_it_is_unfinished(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "part")
    for path in sorted((tmp_path / "part" / "trials").iterdir())[::2]:
        path.unlink()
    result = run("report", tmp_path / "part")
    assert result.returncode == 0, result.stderr
    assert "4 of 8 trials" in " ".join((tmp_path / "part" / "report.html").read_text().split())


def test_records_of_another_version_do_not_empty_the_page(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "old")
    before = (tmp_path / "old" / "report.html").read_bytes()
    monkeypatch.setattr("absentia.experiment.comparison._design._VERSION", "another")
    refused(run("report", tmp_path / "old"), "other data, folds or versions", "absentia work")
    assert (tmp_path / "old" / "report.html").read_bytes() == before


def test_a_folder_that_is_none_is_refused(tmp_path):
    refused(run("report", tmp_path), "is no folder of a comparison", "absentia compare")
    (tmp_path / "design.json").write_text('{"methods": 3}')
    refused(run("report", tmp_path), "design.json: not the design of a comparison")
