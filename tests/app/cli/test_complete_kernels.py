"""``absentia complete`` on kernels of views."""

import numpy as np
import pytest

from absentia import io, missingness
from absentia.methods.catalogue import offered
from command import refused, run
from conftest import random_kernels


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("method", list(offered("completer")))
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


def test_complete_says_how_it_went_and_writes_a_report(kernels, tmp_path):
    out, page = tmp_path / "out.npz", tmp_path / "page.html"
    result = run(
        "complete", kernels, "-o", out, "--method", "mkmc-pca", "--components", 3, "--report", page
    )
    assert result.returncode == 0, result.stderr
    assert "mkmc-pca: converged" in result.stdout
    assert "k.npz, completed" in page.read_text()
    for words in ("than mean fill here", "By the model of mkmc-pca", "cvkt"):
        assert words in page.read_text()
    objective = np.load(out)["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective).max()).all()


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
