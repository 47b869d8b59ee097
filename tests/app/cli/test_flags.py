"""What flags say: how to read data, kernels of views, and parameters of methods by the words of their docstrings."""

import numpy as np
import pytest

from absentia import ViewKernels, Views
from absentia.app.cli._flags import (
    ReadOptions,
    ViewKernelOptions,
    flag_words,
    made_with,
    method_groups,
    method_table,
    parameters_in_words,
)
from absentia.files import LoadedData
from absentia.methods.catalogue import find, offered
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("verb", ["complete", "fit"])
def test_lists_name_every_flag_of_every_method_and_explain_those_of_one(verb):
    families = ("completer", "matrix") if verb == "complete" else ("classifier", "regressor", "survival")
    text = run(verb, "--list").stdout
    for entry in offered(*families).values():
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


def test_parameters_are_said_without_the_callback():
    assert parameters_in_words({"tol": 0.1, "callback": print}) == "tol=0.1"
    assert parameters_in_words({}) == "as they are"
    assert made_with().startswith("absentia 0")


# ---------------------------------------------------------------------------------- data and kernels


DATA = Views.from_dict({name: np.arange(6.0).reshape(3, 2) for name in ("text", "image", "more")})


def kernels_of(options):
    """Kernel and logarithm of each view, as options have them."""
    made = options.make(LoadedData(DATA))
    usual, exceptions = {"kernel": made.kernel, "log": made.log}, made.per_view or {}
    return [tuple((usual | exceptions.get(name, {})).values()) for name in DATA.names]


def test_kernels_are_those_of_the_call_else_rbf():
    chosen = kernels_of(ViewKernelOptions(kernel=("image=linear",), log=("more",)))
    assert chosen == [("rbf", False), ("linear", False), ("rbf", True)]
    for_all = kernels_of(ViewKernelOptions(kernel=("linear", "text=cosine"), log=("image",)))
    assert for_all == [("cosine", False), ("linear", True), ("linear", False)]
    assert ViewKernelOptions().make(LoadedData(DATA)).per_view is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (ViewKernelOptions(kernel=("cubic",)), "no kernel 'cubic'; choose one of rbf"),
        (
            ViewKernelOptions(kernel=("sound=rbf",)),
            "--kernel: no view 'sound'; the views are 'text', 'image', 'more'",
        ),
        (ViewKernelOptions(log=("sound",)), "--log: no view 'sound'"),
        (ViewKernelOptions(factors=0), "--factors"),
    ],
)
def test_what_is_not_there_is_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        options.make(LoadedData(DATA))


def test_how_much_of_kernels_is_made_can_be_said():
    made = ViewKernelOptions(approx="none", factors=7).make(LoadedData(DATA))
    assert (made.approx, made.n_landmarks) == (None, 7)
    assert ViewKernelOptions().make(LoadedData(DATA)).get_params() == ViewKernels().get_params()


def test_options_are_those_of_reading():
    assert ReadOptions("pid", ("expr=gene_*", "clin=age,sex")).options() == {
        "id": "pid",
        "views": {"expr": ["gene_*"], "clin": ["age", "sex"]},
        "chunks": "auto",
        "chunks_in": None,
        "layer": None,
        "use_rep": None,
        "ignore": (),
        "transpose": False,
        "features_from_labels": (),
    }
    assert ReadOptions().options()["views"] is None


def test_only_flags_that_were_given_are_said_again():
    for options in (ReadOptions(), ViewKernelOptions()):
        assert flag_words(options) == []
    assert flag_words(ReadOptions(id="p", transpose=())) == ["--id", "p", "--transpose"]
    given = ViewKernelOptions("rff", 9, ("cosine",), ("a", "b"))
    assert flag_words(given) == [
        "--approx",
        "rff",
        "--factors",
        "9",
        "--kernel",
        "cosine",
        "--log",
        "a",
        "b",
    ]
