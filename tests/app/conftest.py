"""What the tests of the command line share."""

import pytest

from absentia import io
from absentia.experiment import _quality
from conftest import random_problem


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "k.npz"
    io.write(path, random_problem(30, 3, 0.3))
    return path


@pytest.fixture
def few_judged(monkeypatch):
    """The page of a completion judges three methods, not all that there are."""
    found = _quality.offered("completer")
    monkeypatch.setattr(
        _quality, "offered", lambda _: {name: found[name] for name in ("mean", "zero", "knn")}
    )
