"""``absentia reproduce``: listed, run in small, gone on with, kept and made again."""

import pytest

from helpers.command_line import refused, run

SMALL = ("reproduce", "mkmc-simulated", "--quick", "--jobs", "1")


def said(*words):
    """What a command that succeeds says."""
    result = run(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_what_there_is_with_data_and_time(monkeypatch):
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    listed = said("reproduce", "--list")
    assert "mkmc-simulated" in listed
    assert "made up" in listed
    assert "not at hand: cvkt_simulated_kernels" in listed
    assert "min" in listed


@pytest.mark.slow
def test_a_small_run_writes_pages_and_goes_on(tmp_path):
    told = said(*SMALL, "-o", tmp_path / "out")
    assert "4 trials, 0 are there already" in told
    assert "A run in small: it shows that everything runs, and nothing is judged." in told
    page = (tmp_path / "out" / "mkmc-simulated.md").read_text()
    assert "A run in small" in page
    assert "4 trials, 4 are there already" in said(*SMALL, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "mkmc-simulated.md").read_text() == page


@pytest.mark.slow
def test_records_are_kept_and_pages_made_again_from_them(tmp_path):
    said(*SMALL, "-o", tmp_path / "out", "--pages", tmp_path / "kept")
    page = tmp_path / "kept" / "mkmc-simulated.md"
    index, before = tmp_path / "kept" / "index.md", page.read_text()
    assert "[The protocol of Table 1 at its size" in index.read_text()
    assert "current" in said("reproduce", "--list", "--pages", tmp_path / "kept")
    page.write_text("something else")
    said("reproduce", "--pages", tmp_path / "kept")
    assert page.read_text() == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("reproduce",), "a NAME, or --list, is wanted"),
        (("reproduce", "mkmc-table9"), "mkmc-table1"),
        (("reproduce", "mkmc-simulated", "--repeats", "0"), "--repeats"),
        (("reproduce", "gone.toml"), "gone.toml"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, monkeypatch, words, answer):
    monkeypatch.chdir(tmp_path)
    refused(run(*words), answer)


def test_data_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    refused(run("reproduce", "cvkt-table2"), "cvkt_simulated_kernels", "ABSENTIA_DATA")
