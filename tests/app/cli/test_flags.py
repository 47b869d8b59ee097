"""Parameters of methods appear as flags by themselves, with the words of their docstrings."""

import pytest

from absentia.app.cli._flags import method_groups, method_table, with_flags
from absentia.methods.catalogue import CATALOGUE, offered
from command import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("verb", ["complete", "fit"])
def test_help_names_every_flag_of_every_method(verb):
    families = ("completer", "matrix") if verb == "complete" else ("classifier", "regressor", "survival")
    text = run(verb, "--help").stdout
    for entry in offered(*families).values():
        for flag in entry.parameters():
            assert flag in text
    for words in (
        ("Rank of what is transferred", "How often to learn") if verb == "complete" else ("p-norm",)
    ):
        assert words in text


def test_flags_reach_the_method(kernels, tmp_path, few_judged):
    flags = ["--method", "cvkt", "--rounds", "2", "--rank", "0.5", "--keep-observed", "no"]
    result = run("complete", kernels, "-o", "o.npz", "--report", "r.html", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    for words in ("rounds=2", "rank=0.5", "keep_observed=False"):
        assert words in page


def test_a_flag_is_read_as_the_chosen_method_has_it(kernels, tmp_path):
    """Ridge is a number or loo for one method, a number or heldout for the other."""
    call = ["complete", kernels, "-o", tmp_path / "o.npz", "--ridge"]
    assert run(*call, "loo", "--method", "cvkt").returncode == 0
    assert run(*call, "heldout", "--method", "em").returncode == 0
    refused(run(*call, "loo", "--method", "em"), "--ridge is a number above 0 or heldout, not 'loo'")
    refused(run(*call, "1", "--method", "zero"), "--ridge does not apply to method 'zero'")


def test_what_a_verb_has_itself_is_not_asked_twice():
    seen = {}

    @with_flags(CATALOGUE)
    def verb(*, tol: str = "own", flags: dict[str, str]) -> None:
        """A verb."""
        seen.update(tol=tol, flags=flags)

    verb(tol="given", flag_rounds="3", flag_rank=None)
    assert seen == {"tol": "given", "flags": {"--rounds": "3"}}
    assert "flag_tol" not in verb.__annotations__


def test_the_list_says_when_what_not_and_which_flags():
    rows = method_table(offered("classifier"))
    cells = "\n".join(rows.columns[1]._cells)
    for words in ("hard to beat", "cannot learn from kernels", "takes features, not kernels", "--tol"):
        assert words in cells


def test_what_is_listed_stands_under_what_it_learns():
    text = run("fit", "--list").stdout
    lines = [line.split("  ")[0].strip() for line in text.splitlines()]
    places = [lines.index(word) for word in ("classes", "numbers", "ridge", "survival", "cox")]
    assert places == sorted(places)
    for family in ("classifier", "regressor", "survival"):
        assert set(offered(family)) <= set(lines)
    assert len(method_groups({"a": offered("matrix"), "b": offered("survival")}).renderables) == 4
