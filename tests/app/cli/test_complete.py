"""``absentia complete``: methods and their flags."""

import pytest

from helpers.command_line import run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_methods_are_listed_with_when_to_use_them():
    result = run("complete", "--list")
    assert result.returncode == 0
    for name in ("mkmc-pca", "mkmc-fa", "mkmc-full", "mean", "zero"):
        assert name in result.stdout
