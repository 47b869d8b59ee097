"""``absentia complete`` on kernels of views."""

import numpy as np
import pytest
import scipy.io

import absentia
from absentia import MeanFill, calibrate_completer, datasets, io, missingness
from absentia.app.cli._completing import _is_finite
from absentia.core import Completed, Gram
from absentia.methods.catalogue import list_entries
from conftest import random_kernels
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.slow_params("cvkt-descent", "mkmc-fa", "mkmc-full", "auto", "mkc-ht")
@pytest.mark.parametrize("method", list(list_entries("completer")))
def test_complete_writes_kernels_with_everything_observed(kernels, tmp_path, method):
    out = tmp_path / "out.npz"
    result = run("complete", kernels, "-o", out, "--method", method)
    assert result.returncode == 0, result.stderr
    assert "out.npz" in result.stdout
    before, after, extra = io.read(kernels), io.read(out), np.load(out)
    assert after.observed.all()
    assert after.names == before.names
    np.testing.assert_array_equal(extra["mask_before"], before.observed)
    assert str(extra["method"]) == method
    seen = np.ix_(before.observed[:, 0], before.observed[:, 0])
    kept = np.array_equal(after.block("view0")[seen], before.block("view0"))
    assert kept == (method != "cvkt-descent")  # which overwrites, as its paper does


def test_a_mask_of_a_paper_is_named_and_matlab_gets_its_file_back(tmp_path):
    K, mask = np.stack([np.eye(6) + 1, 2 * np.eye(6) + 1], axis=2), np.ones((6, 2))
    mask[3, 1] = 0
    scipy.io.savemat(tmp_path / "in.mat", {"K": K, "MID": mask})
    for _ in range(2):  # the second time it replaces its own file
        result = run("complete", tmp_path / "in.mat", "-o", tmp_path / "out.mat", "--method", "mean")
        assert result.returncode == 0, result.stderr
        assert "'MID' is taken as who has which view, 1 = present: 1 of 12 are absent" in result.stdout
    content, completed = scipy.io.loadmat(tmp_path / "out.mat"), absentia.read(tmp_path / "out.mat")
    np.testing.assert_array_equal(content["mask_before"], mask)
    np.testing.assert_array_equal(np.moveaxis(content["KH"], 2, 0), completed.to_dense())
    assert completed.observed.all()
    scipy.io.savemat(tmp_path / "mine.mat", {"K": K})
    foreign = run("complete", tmp_path / "in.mat", "-o", tmp_path / "mine.mat", "--method", "mean")
    assert "absentia did not write it" in foreign.stderr


@pytest.mark.slow
def test_complete_says_how_it_went_and_writes_a_report(kernels, tmp_path):
    out, page = tmp_path / "out.npz", tmp_path / "page.html"
    result = run(
        "complete", kernels, "-o", out, "--method", "mkmc-pca", "--components", 3, "--report", page
    )
    assert result.returncode == 0, result.stderr
    assert "mkmc-pca: converged" in result.stdout
    assert "k.npz, completed" in page.read_text()
    for words in ("than mean fill here", "cvkt"):
        assert words in page.read_text()
    objective = np.load(out)["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective).max()).all()


def test_a_coverage_adds_low_and_high_and_says_how_far_off_values_may_be(tmp_path):
    truth = datasets.make_multiview(60, 2, random_state=0).kernels
    part = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    source, out, page = tmp_path / "k.npz", tmp_path / "o.npz", tmp_path / "page.html"
    io.write(source, part)
    command = ("complete", source, "-o", out, "--method", "mean", "--coverage", 0.8)
    result = run(*command, "--report", page, "--no-quality")
    assert result.returncode == 0, result.stderr
    assert "view0: 80 % of completed values within ±" in result.stdout.replace("\n", " ")
    assert "How far completed values may be off" in page.read_text()
    written = np.load(out)
    assert written["coverage"] == 0.8
    intervals = calibrate_completer(MeanFill(), part)
    for v, name in enumerate(part.names):
        low, high = intervals.interval(name, coverage=0.8)
        np.testing.assert_allclose(written["low"][v], low, atol=1e-12)
        np.testing.assert_allclose(written["high"][v], high, atol=1e-12)
    assert io.read(out).observed.all()


def test_a_coverage_that_is_none_or_has_no_place_is_refused(kernels, tmp_path):
    out = tmp_path / "o.npz"
    refused(run("complete", kernels, "-o", out, "--coverage", 90), "--coverage", "above 0 and below 1")
    refused(run("complete", kernels, "-o", out, "--coverage", 0.9, "--values"), "--coverage does not apply")
    refused(run("complete", kernels, "-o", tmp_path / "o.h5mu", "--coverage", 0.9), "--coverage", ".npz")


def test_complete_computes_kernels_from_features(tmp_path):
    rng = np.random.default_rng(0)
    tables = {f"view_{name}": rng.normal(size=(20, 3)) for name in "abc"}
    np.savez(tmp_path / "v.npz", mask=missingness.mcar((20, 3), 0.2, random_state=0), **tables)
    result = run(
        "complete", tmp_path / "v.npz", "-o", tmp_path / "o.npz", "--method", "mean", "--kernel", "linear"
    )
    assert result.returncode == 0, result.stderr
    assert io.read(tmp_path / "o.npz").names == ("a", "b", "c")


def test_complete_repairs_when_asked(tmp_path):
    K = random_kernels(10, 2)
    K[0] -= 0.5 * np.eye(10)
    np.savez(tmp_path / "k.npz", K=K)
    command = ("complete", tmp_path / "k.npz", "-o", tmp_path / "o.npz")
    refused(run(*command), "'view0'", "lowest eigenvalue is -0.", "clip")
    assert not (tmp_path / "o.npz").exists()
    assert run(*command, "--repair", "clip").returncode == 0


def test_not_converging_is_a_warning_not_a_failure(kernels, tmp_path):
    result = run("complete", kernels, "-o", tmp_path / "o.npz", "--method", "mkmc-pca", "--max-iter", 2)
    assert result.returncode == 0
    assert "reached max_iter" in result.stderr
    assert (tmp_path / "o.npz").exists()


@pytest.fixture
def many(tmp_path):
    """Features of more samples than kernels are written whole of."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 6))
    tables = {f"view_{name}": X[:, 2 * k : 2 * k + 3] for k, name in enumerate("ab")}
    mask = missingness.mcar((2100, 2), 0.3, random_state=0)
    np.savez(tmp_path / "many.npz", mask=mask, **tables)
    return tmp_path / "many.npz"


def test_factors_are_completed_and_written_as_factors(many, tmp_path):
    out = tmp_path / "o.npz"
    result = run("complete", many, "-o", out, "--approx", "nystrom", "--factors", 12, "--method", "mean")
    assert result.returncode == 0, result.stderr
    with np.load(out) as held:
        assert held["phi_a"].shape[0] == 2100
        assert held["phi_a"].shape[1] <= 13
        assert "K" not in held
    assert io.read(out).observed.all()


def test_what_forms_whole_kernels_is_refused_where_there_is_no_room(many, tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MEMORY", "100M")
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "100M")
    for method in ("mkmc-full", "mkc-ht", "cvkt-descent"):
        result = run("complete", many, "-o", tmp_path / "o.npz", "--method", method, "--approx", "nystrom")
        words = "forms whole kernels", "212 MB", "--method that works with factors", "ABSENTIA_MEMORY"
        refused(result, *words)
    assert not (tmp_path / "o.npz").exists()


def test_em_svt_and_neighbours_complete_factors_where_there_is_no_room_for_whole_kernels(
    many, tmp_path, monkeypatch
):
    monkeypatch.setenv("ABSENTIA_MEMORY", "100M")
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "100M")
    for method in ("svt", "knn", "em"):
        out = tmp_path / f"{method}.npz"
        result = run("complete", many, "-o", out, "--method", method, "--approx", "nystrom", "--factors", 8)
        assert result.returncode == 0, result.stderr
        assert io.read(out).observed.all()


def test_values_that_are_none_are_found_in_factors_too():
    Phi = np.ones((5, 2))
    side = np.array([0, 1, 2]), np.array([3, 4]), np.ones((3, 2)), np.ones((2, 2)), np.eye(2), np.ones(2)
    assert _is_finite(Completed.square(Gram(Phi[:3]), *side))
    for k in (2, 3, 5):
        wrong = [np.array(part, dtype=float if i > 1 else int) for i, part in enumerate(side)]
        wrong[k].flat[1] = np.nan if k == 2 else np.inf
        assert not _is_finite(Completed.square(Gram(Phi[:3]), *wrong))
