"""``absentia inspect``."""

import numpy as np
import pytest

from conftest import random_kernels
from helpers.command_line import run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_inspect_shows_views_patterns_and_groups(kernels):
    result = run("inspect", kernels)
    assert result.returncode == 0
    assert "30 samples, 3 views, 70.0% of cells present" in result.stdout
    for name in ("view0", "view1", "view2"):
        assert name in result.stdout
    assert "every view" in result.stdout
    assert "one group" in result.stdout
    assert result.stderr == ""


def test_inspect_warns_of_everything_that_matters(tmp_path):
    K = random_kernels(8, 3)
    K[1] -= 0.5 * np.eye(8)
    keep = np.array([[1, 1, 0]] * 4 + [[0, 1, 0]] * 3 + [[0, 0, 0]], bool)
    np.savez(tmp_path / "k.npz", K=K, mask=keep, names=["a", "b", "c"])
    result = run("inspect", tmp_path / "k.npz")
    assert result.returncode == 0
    for sentence in (
        "view 'c' is observed for no sample",
        "1 sample(s) have no view at all, e.g. 7",
        "view 'b': the kernel is not positive",
    ):
        assert result.stderr.count(sentence) == 1, result.stderr


def test_inspect_counts_groups_and_missing_values(tmp_path):
    a, b = np.full((6, 1), np.nan), np.full((6, 2), np.nan)
    a[:4], b[4:] = 1.0, 2.0
    b[5, 0] = np.nan
    np.savez(tmp_path / "v.npz", view_a=a, view_b=b)
    result = run("inspect", tmp_path / "v.npz")
    assert "2 groups" in result.stdout
    assert "sizes 4, 2" in result.stdout
    assert "b 1" in result.stderr


def test_inspect_points_at_what_is_probably_absent_and_what_tells_nothing_apart(tmp_path):
    K = random_kernels(6, 2)
    K[1, 2] = K[1, :, 2] = 0
    np.savez(tmp_path / "k.npz", K=K)
    result = run("inspect", tmp_path / "k.npz")
    assert "view 'view1': 1 sample(s), e.g. 2, have nothing but zeros in the kernel" in result.stderr
    assert "nothing to complete" in result.stderr
    one, same = np.full((5, 2), np.nan), np.ones((5, 2))
    one[0] = 1
    counts = np.random.default_rng(0).poisson(0.5, (5, 9))
    np.savez(tmp_path / "v.npz", view_one=one, view_same=same, view_counts=counts)
    warned = run("inspect", tmp_path / "v.npz").stderr
    for sentence in (
        "view 'one' has one sample only",
        "view 'same' is constant",
        "view 'counts' looks like counts",
    ):
        assert sentence in warned
