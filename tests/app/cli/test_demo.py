"""``absentia demo``."""

import pytest

from command import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_demo_prints_a_table_and_writes_a_report(tmp_path):
    result = run("demo", "--n-samples", 60, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for word in ("mkmc-pca", "mean", "zero", "nothing hidden", "accuracy"):
        assert word in result.stdout
    path = tmp_path / "absentia-demo" / "report.html"
    assert str(path) in result.stdout.replace("\n", "")
    assert "Six views" in path.read_text()
    last = result.stdout.splitlines()[-3:]
    assert last[0].endswith("inspect absentia-demo/digits.npz --labels digit")
    assert "60 usable" in run(*last[0].split()[1:], cwd=tmp_path).stdout


def test_demo_refuses_what_cannot_be(tmp_path):
    refused(run("demo", "--n-samples", 5000, cwd=tmp_path), "--n-samples", "1797", "5000")
    refused(run("demo", "--absent", 0.99, cwd=tmp_path), "0.99")
    refused(run("demo", "--n-samples", 20, cwd=tmp_path), "--n-samples", "from 50", "20")
    refused(run("demo", "--seed", -1, cwd=tmp_path), "--seed is a whole number of 0 or more, not -1")
    assert list(tmp_path.iterdir()) == []
