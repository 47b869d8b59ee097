"""The command line as a whole: help, bad usage, bad files."""

import subprocess
import sys

import numpy as np
import pytest

import absentia
from absentia.app.cli import _main as cli
from helpers.command_line import refused, run, run_process


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


BAD = [
    (["complete", "k.npz"], ["-o"]),
    (["complete", "-o", "o.npz"], ["FILE"]),
    (["complete", "k.npz", "-o", "o.npz", "--method", "magic"], ["no method 'magic'", "mkmc-pca"]),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca", "--components", "many"],
        ["'many'", "gk"],
    ),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca", "--components", "999"],
        ["n_components=999", "1 to 29"],
    ),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mean", "--tol", "1"],
        ["--tol does not apply to method 'mean'"],
    ),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "zero", "--components", "3"],
        ["--components does not apply"],
    ),
    (["complete", "k.npz", "-o", "o.npz", "--kernel", "magic"], ["no kernel 'magic'"]),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca", "--tol", "-1"],
        ["--tol is a number of 0 or more, not '-1'"],
    ),
    (["complete", "k.npz", "-o", "k.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "k.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "o.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "."], ["is a folder"]),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca", "--prior", "inf"],
        ["--prior is a number of 0 or more, not 'inf'"],
    ),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-full", "--components", "3"],
        ["--components does not"],
    ),
    (["complete", "k.npz", "-o", "o.txt"], [".npz"]),
    (["complete", "k.npz", "-o", "nowhere/o.npz"], ["nowhere", "does not exist"]),
    (["complete", "gone.npz", "-o", "o.npz"], ["gone.npz: no such file"]),
    (["inspect", "gone.npz"], ["gone.npz: no such file"]),
    (["inspect"], ["DATA"]),
    (["inspect", "k.npz", "--colour"], ["--colour"]),
    (["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca", "--max-iter", "few"], ["few"]),
    (["complet"], ["complet"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(a)[-40:] for a, _ in BAD])
def test_bad_usage_gets_one_sentence_and_exit_code_2(kernels, tmp_path, arguments, words):
    refused(run(*arguments, cwd=tmp_path), *words)
    assert not (tmp_path / "o.npz").exists()


def write_bytes(content):
    return lambda path: path.write_bytes(content)


FILES = [
    (write_bytes(b""), "the file is empty"),
    (write_bytes(b"no archive"), "not an .npz file"),
    (lambda p: np.savez(p, K=np.array([print], dtype=object)), "pickled Python objects"),
    (lambda p: np.savez(p, K=np.array([[[1, 0.9], [0.1, 1]]])), "not symmetric"),
    (lambda p: np.savez(p, K=np.ones((1, 2, 3))), "shape"),
    (lambda p: np.savez(p, K=np.eye(2)[None], ids=["a", "a"]), "'a'"),
    (lambda p: np.savez(p, K=np.array([[[1, np.nan], [np.nan, 1]]])), "nan"),
    (lambda p: np.savez(p, view_a=[["red"]]), "view 'a'"),
]


@pytest.mark.parametrize("command", ["inspect", "complete"])
@pytest.mark.parametrize(("make", "word"), FILES, ids=[w for _, w in FILES])
def test_bad_files_get_one_sentence_and_exit_code_2(tmp_path, command, make, word):
    make(tmp_path / "bad.npz")
    extra = ["-o", "o.npz"] if command == "complete" else []
    refused(run(command, "bad.npz", *extra, cwd=tmp_path), "bad.npz", word)


@pytest.mark.slow
def test_help_shows_examples():
    result = run_process("--help")
    assert result.returncode == 0
    for word in ("demo", "inspect", "complete", "absentia complete breast/", "--install-completion"):
        assert word in result.stdout
    assert run("--version").stdout.strip() == absentia.__version__


def test_help_loads_nothing_that_does_mathematics():
    """One process for all commands: what one of them loads, it is the first to be named with."""
    calls = [["--help"], *([verb, "--help"] for verb in cli._VERBS)]
    heavy = ["numpy", "scipy", "sklearn", "pandas", "matplotlib", "jinja2"]
    code = f"""
import sys
from absentia.app.cli._main import main
for words in {calls!r}:
    try:
        main(words)
    except SystemExit as leaving:
        assert not leaving.code, words
    loaded = [name for name in {heavy!r} if name in sys.modules]
    if loaded:
        sys.exit(f"{{words}} loads {{loaded}}")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.count("Usage: ") == len(calls)
    assert done.stderr == ""
