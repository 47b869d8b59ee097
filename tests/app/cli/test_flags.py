"""What flags say of parameters of methods, by the words of their docstrings."""

import pytest

import absentia
from absentia.methods.catalogue import find, list_entries
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("verb", ["complete", "fit"])
def test_lists_name_every_flag_of_every_method_and_explain_those_of_one(verb):
    families = ("completer", "matrix") if verb == "complete" else ("classifier", "regressor", "survival")
    text = run(verb, "--list").stdout
    for entry in list_entries(*families).values():
        for flag in entry.parameters():
            assert flag in text
    assert "--list names them" in run(verb, "--help").stdout
    method, words = ("mkmc-pca", "--prior") if verb == "complete" else ("mkl", "p-norm")
    explained = run(verb, "--method", method, "--list").stdout
    assert words in explained
    for flag in find(method, *families).parameters():
        assert flag in explained


def test_what_no_method_has_is_refused_with_a_hint(kernels, tmp_path):
    call = ["complete", kernels, "-o", tmp_path / "o.npz"]
    refused(run(*call, "--repot", "r.html"), 'Unknown option: "--repot"', "Did you mean --report?")
    refused(run(*call, "--round", "3"), "Did you mean --rounds?")
    refused(run("fit", kernels, "--lables", "y", "-o", tmp_path / "m.npz", "--method", "mkl"), "--labels?")


@pytest.mark.slow
def test_flags_reach_the_method(kernels, tmp_path):
    flags = ["--method", "cvkt", "--rounds", "2", "--ridge", "0.5", "--keep-observed", "no"]
    result = run("complete", kernels, "-o", "o.npz", "--report", "r.html", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    for words in ("rounds=2", "ridge=0.5", "keep_observed=False"):
        assert words in page


def test_a_flag_is_read_as_the_chosen_method_has_it(kernels, tmp_path):
    """Ridge is a number or loo for one method, a number or heldout for the other."""
    call = ["complete", kernels, "-o", tmp_path / "o.npz", "--ridge"]
    assert run(*call, "loo", "--method", "cvkt").returncode == 0
    assert run(*call, "heldout", "--method", "em").returncode == 0
    refused(run(*call, "loo", "--method", "em"), "--ridge is a number above 0 or heldout, not 'loo'")
    refused(run(*call, "1", "--method", "zero"), "--ridge does not apply to method 'zero'")


def test_the_list_says_when_what_not_and_which_flags():
    text = run("fit", "--list").stdout
    for words in ("hard to beat", "cannot learn from kernels", "takes features, not kernels", "--tol"):
        assert words in text


def test_what_is_listed_stands_under_what_it_learns():
    text = run("fit", "--list").stdout
    lines = [line.split("  ")[0].strip() for line in text.splitlines()]
    places = [lines.index(word) for word in ("classes", "numbers", "ridge", "survival", "cox")]
    assert places == sorted(places)
    for family in ("classifier", "regressor", "survival"):
        assert set(list_entries(family)) <= set(lines)


def test_parameters_are_said_without_the_callback(kernels, tmp_path):
    call = ("complete", kernels, "-o", "o.npz", "--report", "r.html", "--no-quality", "--method")
    for method, words in {"em": "ridge=", "zero": "as they are"}.items():
        assert run(*call, method, cwd=tmp_path).returncode == 0
        page = (tmp_path / "r.html").read_text()
        assert words in page
        assert "callback" not in page
        assert f"absentia {absentia.__version__}, NumPy" in page
