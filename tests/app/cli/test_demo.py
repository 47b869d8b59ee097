"""``absentia demo``."""

import json

import pytest

from absentia.app.cli._comparing import make_demo_study
from absentia.experiment.comparison import open_study
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.slow
def test_demo_opens_with_the_sentence_and_writes_a_page(tmp_path):
    result = run("demo", "--n-samples", 60, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    folder = tmp_path / "absentia-demo"
    page = folder / "report.html"
    assert str(page) in result.stdout.replace("\n", "")
    assert "Handwritten digits in six views, 30% of them hidden" in page.read_text()
    sentence = json.loads(run("report", folder, "--json", cwd=tmp_path).stdout)["sentence"]
    assert said[1] == sentence  # the first line counts trials
    for name in open_study(folder).design.methods:
        assert name in result.stdout
    command = next(line for line in said if " inspect " in line).split()
    assert command[-3:] == ["absentia-demo/digits.npz", "--labels", "digit"]
    assert "60 usable" in run(*command[1:], cwd=tmp_path).stdout


def test_the_demo_hides_what_it_says_and_tries_every_kind_of_method(tmp_path):
    study = make_demo_study(60, 0.3, 1, tmp_path)
    data, design = study.data.data, study.design
    assert (~data.observed).sum() == round(0.3 * data.observed.size)
    assert len(study.data.classes) == 10
    assert {trial.key["method"] for trial in study.trials} == set(design.methods)
    assert list(tmp_path.iterdir()) == []


def test_demo_refuses_what_cannot_be(tmp_path):
    refused(run("demo", "--n-samples", 5000, cwd=tmp_path), "--n-samples", "1797", "5000")
    refused(run("demo", "--absent", 0.99, cwd=tmp_path), "0.99")
    refused(run("demo", "--n-samples", 20, cwd=tmp_path), "--n-samples", "from 50", "20")
    refused(run("demo", "--seed", -1, cwd=tmp_path), "--seed is a whole number of 0 or more, not -1")
    assert list(tmp_path.iterdir()) == []
