"""The command line as a person uses it: a new process, its output, its exit code."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

import absentia
from absentia import io, missingness
from absentia.app.cli import _main as cli
from absentia.methods.catalogue import offered
from command import refused, run, run_process
from conftest import random_kernels, random_problem


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "k.npz"
    io.write(path, random_problem(30, 3, 0.3))
    return path


# ---------------------------------------------------------------------------------------------- demo


def test_demo_prints_a_table_and_writes_a_report(tmp_path):
    result = run("demo", "--n-samples", 60, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for word in ("MKMC, PCA", "mean fill", "zero fill", "nothing hidden", "accuracy"):
        assert word in result.stdout
    path = tmp_path / "absentia-demo" / "report.html"
    assert str(path) in result.stdout.replace("\n", "")
    assert "Six views" in path.read_text()


def test_demo_refuses_what_cannot_be(tmp_path):
    refused(run("demo", "--n-samples", 5000, cwd=tmp_path), "--n-samples", "1797", "5000")
    refused(run("demo", "--absent", 0.99, cwd=tmp_path), "0.99")
    refused(run("demo", "--n-samples", 20, cwd=tmp_path), "--n-samples", "from 50", "20")
    refused(run("demo", "--seed", -1, cwd=tmp_path), "--seed is a whole number of 0 or more, not -1")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------- inspect


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


# ------------------------------------------------------------------------------------------ complete


@pytest.mark.parametrize("method", list(offered("completer")))
def test_complete_writes_kernels_with_everything_observed(kernels, tmp_path, method):
    out = tmp_path / "out.npz"
    result = run("complete", kernels, "-o", out, "--method", method)
    assert result.returncode == 0, result.stderr
    assert "out.npz" in result.stdout
    before, after, extra = io.read(kernels), io.read(out), np.load(out)
    assert after.observed.all()
    assert after.names == before.names
    np.testing.assert_array_equal(extra["mask_before"], before.observed)
    assert str(extra["method"]) == method
    seen = np.ix_(before.observed[:, 0], before.observed[:, 0])
    kept = np.array_equal(after.block("view0")[seen], before.block("view0"))
    assert kept == (method != "cvkt-descent")  # which overwrites, as its paper does


def test_complete_says_how_it_went_and_writes_a_report(kernels, tmp_path):
    out, page = tmp_path / "out.npz", tmp_path / "page.html"
    result = run("complete", kernels, "-o", out, "--components", 3, "--report", page)
    assert result.returncode == 0, result.stderr
    assert "mkmc-pca: converged" in result.stdout
    assert "k.npz, completed" in page.read_text()
    objective = np.load(out)["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective).max()).all()


def test_complete_computes_kernels_from_features(tmp_path):
    rng = np.random.default_rng(0)
    tables = {f"view_{name}": rng.normal(size=(20, 3)) for name in "abc"}
    np.savez(tmp_path / "v.npz", mask=missingness.mcar((20, 3), 0.2, random_state=0), **tables)
    result = run(
        "complete", tmp_path / "v.npz", "-o", tmp_path / "o.npz", "--method", "mean", "--kernel", "linear"
    )
    assert result.returncode == 0, result.stderr
    assert io.read(tmp_path / "o.npz").names == ("a", "b", "c")


def test_complete_repairs_when_asked(tmp_path):
    K = random_kernels(10, 2)
    K[0] -= 0.5 * np.eye(10)
    np.savez(tmp_path / "k.npz", K=K)
    command = ("complete", tmp_path / "k.npz", "-o", tmp_path / "o.npz")
    refused(run(*command), "'view0'", "lowest eigenvalue is -0.", "clip")
    assert not (tmp_path / "o.npz").exists()
    assert run(*command, "--repair", "clip").returncode == 0


def test_methods_are_listed_with_when_to_use_them():
    result = run("complete", "--list")
    assert result.returncode == 0
    for name in ("mkmc-pca", "mkmc-fa", "mkmc-full", "mean", "zero"):
        assert name in result.stdout


def test_not_converging_is_a_warning_not_a_failure(kernels, tmp_path):
    result = run("complete", kernels, "-o", tmp_path / "o.npz", "--max-iter", 2)
    assert result.returncode == 0
    assert "reached max_iter" in result.stderr
    assert (tmp_path / "o.npz").exists()


def test_one_interrupt_stops_after_the_iteration_and_writes(kernels, tmp_path, monkeypatch):
    """A real signal, in the middle of an endless completion."""
    seen = []

    @contextmanager
    def bar():
        def show(progress):
            seen.append(progress.iteration)
            if progress.iteration == 5:
                signal.raise_signal(signal.SIGINT)

        yield lambda name: show

    monkeypatch.setattr(cli, "iteration_bar", bar)
    flags = ["--method", "mkmc-full", "--tol", "0", "--max-iter", "1000000"]
    result = run("complete", kernels, "-o", "out.npz", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "stopping after this iteration" in result.stderr
    assert "stopped early" in result.stdout
    assert max(seen) <= 6
    assert io.read(tmp_path / "out.npz").observed.all()


def test_a_second_interrupt_gives_up_and_writes_nothing(tmp_path, monkeypatch):
    with cli.stop_on_interrupt() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGINT)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run_completer", interrupted)
    io.write(tmp_path / "k.npz", random_problem(10, 2))
    result = run("complete", "k.npz", "-o", "o.npz", cwd=tmp_path)
    assert result.returncode == 130
    assert "nothing was written" in result.stderr
    assert not (tmp_path / "o.npz").exists()


BAD = [
    (["complete", "k.npz"], ["-o"]),
    (["complete", "-o", "o.npz"], ["FILE"]),
    (["complete", "k.npz", "-o", "o.npz", "--method", "magic"], ["no method 'magic'", "mkmc-pca"]),
    (["complete", "k.npz", "-o", "o.npz", "--components", "many"], ["'many'", "gk"]),
    (["complete", "k.npz", "-o", "o.npz", "--components", "999"], ["n_components=999", "1 to 29"]),
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
        ["complete", "k.npz", "-o", "o.npz", "--tol", "-1"],
        ["--tol is a finite number of 0 or more, not -1.0"],
    ),
    (["complete", "k.npz", "-o", "k.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "k.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "o.npz"], ["different files"]),
    (["complete", "k.npz", "-o", "o.npz", "--report", "."], ["is a folder"]),
    (
        ["complete", "k.npz", "-o", "o.npz", "--prior", "inf"],
        ["--prior is a finite number of 0 or more, not inf"],
    ),
    (
        ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-full", "--components", "3"],
        ["--components does not"],
    ),
    (["complete", "k.npz", "-o", "o.txt"], [".npz"]),
    (["complete", "k.npz", "-o", "nowhere/o.npz"], ["nowhere", "does not exist"]),
    (["complete", "gone.npz", "-o", "o.npz"], ["gone.npz: no such file"]),
    (["inspect", "gone.npz"], ["gone.npz: no such file"]),
    (["inspect"], ["FILE"]),
    (["inspect", "k.npz", "--colour"], ["--colour"]),
    (["complete", "k.npz", "-o", "o.npz", "--max-iter", "few"], ["few"]),
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


def test_help_shows_examples():
    result = run_process("--help")
    assert result.returncode == 0
    for word in ("demo", "inspect", "complete", "absentia complete patients.npz"):
        assert word in result.stdout
    assert run("--version").stdout.strip() == absentia.__version__


def test_markup_in_names_is_shown_not_obeyed(tmp_path):
    np.savez(tmp_path / "v.npz", **{"view_[bold]x[/bold]": np.ones((2, 1))})
    result = run("inspect", "v.npz", cwd=tmp_path)
    assert "[bold]x[/bold]" in result.stdout
    np.savez(tmp_path / "w.npz", **{"view_a\x1b[31m\nb": np.ones((2, 1))})
    assert "\x1b" not in run("inspect", "w.npz", cwd=tmp_path).stdout
