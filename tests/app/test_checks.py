"""What is refused before any work begins."""

import os

import numpy as np
import pytest
import threadpoolctl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from absentia import Views, io, models
from absentia.app.cli import _comparing, _completing, _fitting, _predict
from absentia.app.cli._flags import check_replaced
from absentia.app.cli._verbs import check_study_folder
from absentia.core import _resources as threads
from absentia.tasks import Task
from conftest import random_problem
from helpers.command_line import refused, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Kernels, features with labels, a matrix and a model."""
    folder = tmp_path_factory.mktemp("calls")
    io.write(folder / "k.npz", random_problem(12, 2, 0.2))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    io.write(folder / "v.npz", Views.from_dict({"a": X, "b": X}), y=(X[:, 0] > 0).astype(int))
    table = "\n".join(f"r{i}," + ",".join(f"{x:.3f}" for x in row) for i, row in enumerate(X))
    (folder / "t.csv").write_text("id,p,q\n" + table.replace("0.", "", 1) + "\nlast,,1\n")
    (folder / "there").mkdir()
    result = run(
        "fit",
        "v.npz",
        "--labels",
        "y",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        "--no-report",
        cwd=folder,
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def idle(monkeypatch):
    """Whatever begins to work fails the test."""

    def work(*_, **__):
        raise AssertionError("the work began")

    for where, name in [
        (io, "read"),
        (_completing, "_run_completer"),
        (_fitting, "read_training"),
        (io, "read_new"),
        (models, "load"),
        (io, "read_matrix"),
        (_comparing, "make_demo_study"),
        (_comparing, "run_trials"),
        (Task, "learn"),
    ]:
        monkeypatch.setattr(where, name, work)


# ------------------------------------------------------------------------------------------- numbers

K = ["complete", "k.npz", "-o", "o.npz", "--method", "mkmc-pca"]
T = ["complete", "t.csv", "-o", "o.csv", "--method", "pma"]
F = ["fit", "v.npz", "--labels", "y", "-o", "o.npz", "--method", "amkl-convex"]
P = ["predict", "m.npz", "v.npz", "-o", "o.csv"]
D = ["demo", "-o", "new"]

NUMBERS = [
    *[([*K, "--tol", x], "--tol is a number of 0 or more") for x in ("nan", "-1", "inf", "-inf", "-1e-9")],
    *[([*K, "--prior", x], "--prior is a number of 0 or more") for x in ("nan", "-0.5", "inf")],
    *[([*K, "--max-iter", x], "--max-iter is a whole number of 1 or more") for x in ("-1", "0")],
    *[([*K, "--components", x], "--components is a whole number of 1 or more") for x in ("-1", "0", "-99")],
    *[([*K, "--threads", x], "--threads is a whole number from 1 to 4096") for x in ("0", "-1", "99999")],
    ([*T, "--tol", "nan"], "--tol is a number of 0 or more"),
    ([*T, "--max-iter", "-1"], "--max-iter is a whole number of 1 or more"),
    ([*T, "--threads", "0"], "--threads is a whole number from 1 to 4096"),
    ([*F, "--threads", "0"], "--threads is a whole number from 1 to 4096"),
    ([*P, "--threads", "-2"], "--threads is a whole number from 1 to 4096"),
    *[([*F, "--C", x], "--C is a positive number or cv") for x in ("nan", "-1", "0", "inf", "-inf", "one")],
    *[
        ([*D, "--absent", x], "--absent is a number from 0 to 0.8")
        for x in ("nan", "-0.1", "inf", "0.81", "1")
    ],
    *[
        ([*D, "--n-samples", x], "--n-samples is a whole number from 50 to 1797")
        for x in ("0", "-1", "49", "1798")
    ],
    ([*D, "--seed", "-1"], "--seed is a whole number of 0 or more"),
    *[([*K, "--max-iter", x], "--max-iter") for x in ("nan", "1.5", "inf", "", "ten")],
    *[([*K, "--tol", x], "--tol") for x in ("", "small", "1,5")],
]


@pytest.mark.parametrize(
    ("arguments", "words"), NUMBERS, ids=[" ".join(a[-2:]) + " " + a[0] for a, _ in NUMBERS]
)
def test_numbers_that_cannot_be_are_refused_before_the_work(folder, idle, arguments, words):
    before = sorted(folder.iterdir())
    refused(run(*arguments, cwd=folder), words)
    assert sorted(folder.iterdir()) == before


# --------------------------------------------------------------------------------------------- names

NAMES = [
    ([*K[:-1], "mkmc"], ["no method 'mkmc'; did you mean mkmc-", "choose one of"]),
    ([*K[:-1], "MAEN"], ["did you mean mean"]),
    ([*K[:-1], "xyzzy"], ["no method 'xyzzy'; choose one of"]),
    ([*F[:-1], "amkl-convx"], ["did you mean amkl-convex"]),
    ([*F, "--kernel", "rfb"], ["no kernel 'rfb'; did you mean rbf"]),
    ([*K, "--kernel", "polynom"], ["did you mean polynomial"]),
]


@pytest.mark.parametrize(("arguments", "words"), NAMES, ids=[a[-1] for a, _ in NAMES])
def test_a_name_that_is_none_gets_the_nearest_ones(folder, idle, arguments, words):
    refused(run(*arguments, cwd=folder), *words)


# -------------------------------------------------------------------------------------------- places

C, M, L = ["complete", "k.npz"], ["complete", "t.csv", "--method", "pma"], ["fit", "v.npz", "--labels", "y"]
PLACES = [
    ([*C, "-o", "k.npz"], "different files"),
    ([*C, "-o", "there/../k.npz"], "different files"),
    ([*C, "-o", "link.npz"], "different files"),
    ([*C, "-o", "o.npz", "--report", "o.npz"], "different files"),
    ([*C, "-o", "o.npz", "--report", "k.npz"], "different files"),
    ([*C, "-o", "none/o.npz"], "the folder none does not exist"),
    ([*C, "-o", "k.npz/o.npz"], "the folder k.npz does not exist"),
    ([*C, "-o", "o.npz", "--report", "none/r.html"], "the folder none does not exist"),
    ([*C, "-o", "folder.npz"], "is a folder"),
    ([*C, "-o", "o.npz", "--report", "there"], "is a folder"),
    ([*C, "-o", "o.csv"], "an .npz or a .mat file"),
    ([*M, "-o", "t.csv"], "different files"),
    ([*M, "-o", "o.csv", "--report", "o.std.csv"], "different files"),
    ([*M, "-o", "none/o.csv"], "the folder none does not exist"),
    ([*M, "-o", "o.csv", "--report", "there"], "is a folder"),
    ([*L, "-o", "v.npz"], "different files"),
    ([*L, "-o", "o.npz", "--report", "o.npz"], "different files"),
    ([*L, "-o", "o.npz", "--report", "v.npz"], "different files"),
    ([*L, "-o", "folder.npz"], "is a folder"),
    (["predict", "m.npz", "v.npz", "-o", "m.npz"], "a .csv or a .parquet file"),
    (["predict", "m.csv", "v.npz", "-o", "m.csv"], "different files"),
    (["predict", "m.npz", "v.csv", "-o", "v.csv"], "different files"),
    (["predict", "m.npz", "v.npz", "-o", "none/p.csv"], "the folder none does not exist"),
    (["demo", "-o", "k.npz"], "is a file, and a folder is wanted"),
    (["demo", "-o", "k.npz/deep"], "is a file, and a folder is wanted"),
]


@pytest.mark.parametrize(("arguments", "words"), PLACES, ids=[" ".join(a)[-44:] for a, _ in PLACES])
def test_places_that_cannot_be_written_are_refused_before_the_work(folder, idle, arguments, words):
    (folder / "folder.npz").mkdir(exist_ok=True)
    if not (folder / "link.npz").exists():
        (folder / "link.npz").symlink_to("k.npz")
    before = sorted(folder.iterdir())
    refused(run(*arguments, cwd=folder), words)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("arguments", [K, T, [*F, "--no-report"], P, D], ids=lambda a: " ".join(a[:2]))
def test_a_folder_without_permission_is_found_out_before_the_work(folder, idle, monkeypatch, arguments):
    monkeypatch.setattr(os, "access", lambda *_: False)  # who runs this as root may write everywhere
    refused(run(*arguments, cwd=folder), "cannot be written to")


# ------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize(
    ("flags", "decided", "wanted"), [([], False, 1), (["--threads", 2], False, 2), ([], True, 2)]
)
@pytest.mark.parametrize(
    ("arguments", "work"),
    [
        (K, (_completing, "_run_completer")),
        (T, (_completing, "_run_imputer")),
        ([*F, "--no-report"], (Task, "learn")),
        (P, (_predict, "_write_table")),
    ],
    ids=["complete", "pma", "fit", "predict"],
)
def test_small_jobs_get_one_thread_unless_someone_decides(
    folder, monkeypatch, arguments, work, flags, decided, wanted
):
    for name in threads._DECIDED:
        monkeypatch.delenv(name, raising=False)
    if decided:
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
    seen = set()

    def look(*_, **__):
        seen.update(x["num_threads"] for x in threadpoolctl.threadpool_info() if x["user_api"] == "blas")
        raise ValueError("seen enough")

    monkeypatch.setattr(*work, look)
    with threadpoolctl.threadpool_limits(2):
        refused(run(*arguments, *flags, cwd=folder), "seen enough")
    assert seen == {wanted}


# ----------------------------------------------------------------------------------- no call whatever

WORDS = """
demo inspect complete fit predict compare work report --methods --dry-run --plan-only --shard --jobs 1/2 --help --version --list -o --output --method --components --algorithm --prior
--tol --max-iter --kernel --repair --report --no-report --threads --labels --C --probability --seed
--no-probability --n-samples --absent k.npz v.npz m.npz t.csv gone.npz there o.npz o.csv r.html y mean zero pma
mkl amkl-convex rbf linear clip paper gk -- -1 0 1 2 0.5 nan inf 1e308 99999999999999999999 cv . .. / /dev/null
k.npz/x.npz --trace -h =1 --tol=-1
"""
WORD = st.sampled_from(WORDS.split())
M = ["compare", "v.npz", "--labels", "y", "-o", "compared"]
STARTS = [K, [*K[:4], "--method", "mean"], T, [*F, "--C", "1", "--no-report"], P, ["inspect", "k.npz"], M]
LINES = st.one_of(
    st.lists(WORD, max_size=7),
    st.lists(st.one_of(WORD, st.text(max_size=5)), max_size=5),
    st.builds(
        lambda start, more: start + more, st.sampled_from(STARTS), st.lists(WORD, min_size=1, max_size=3)
    ),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(LINES)
@example(["inspect", "\0"])
@example([*K, "--report", "\ud800.html"])
@example(["complete", "k.npz", "-o", "\ud800.npz", "--method", "mean"])
@example(["inspect", "x" * 5000])
@example(["fit", "v.npz", "--labels", "", "-o", "o.npz"])
@example(["fit", "v.npz", "--labels", "\0", "-o", "o.npz"])
@example(["--help", "complete"])
@example([""])
def test_no_call_gives_a_traceback(folder, tmp_path_factory, arguments):
    place = tmp_path_factory.mktemp("any")
    for name in ("k.npz", "v.npz", "m.npz", "t.csv"):
        os.link(folder / name, place / name)
    (place / "there").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        # the demo and comparisons take their time and have tests of their own
        patch.setattr(_comparing, "make_demo_study", lambda *_, **__: 1 / 0)
        patch.setattr(_comparing, "run_trials", lambda *_, **__: None)
        result = run(*arguments, cwd=place)
    assert result.returncode in (0, 1, 2), result
    assert "Traceback" not in result.stderr + result.stdout
    assert "defect" not in result.stderr or "demo" in arguments, result
    if result.returncode:
        said = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(said) == 1, said
        assert said[0].startswith("absentia: ")
    assert not list(place.rglob("*.part"))


# ------------------------------------------------------------------------------------- what is replaced

FIT = ("fit", "v.npz", "--labels", "y", "-o", "m.npz", "--method", "average", "--C", 1)
COMPARE = (
    "compare",
    "v.npz",
    "--labels",
    "y",
    "-o",
    "out",
    "--methods",
    "average",
    "--repeats",
    1,
    "--jobs",
    1,
)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (FIT, "m.npz"),
        (FIT, "m.html"),
        ((*FIT, "--report", "notes.html"), "notes.html"),
        (("complete", "k.npz", "-o", "done.npz", "--method", "mean"), "done.npz"),
        (("complete", "t.csv", "-o", "done.csv", "--method", "pma"), "done.csv"),
        (("complete", "t.csv", "-o", "done.csv", "--method", "pma"), "done.std.csv"),
        (("predict", "m.npz", "v.npz", "-o", "p.csv"), "p.csv"),
        (COMPARE, "out/report.html"),
        (COMPARE, "out/table.csv"),
        (("demo", "-o", "out"), "out/digits.npz"),
    ],
)
def test_what_absentia_did_not_write_is_not_replaced(folder, tmp_path, idle, command, name):
    for file in ("v.npz", "k.npz", "t.csv", *(["m.npz"] if command[0] == "predict" else [])):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("id,score\nours,1\n")
    refused(run(*command, cwd=tmp_path), name, "is there already", "--force")
    assert (tmp_path / name).read_text() == "id,score\nours,1\n"


def test_what_absentia_wrote_is_replaced_and_the_rest_by_force(folder, tmp_path):
    for file in ("v.npz", "k.npz", "t.csv"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    complete, predict = (
        ("complete", "t.csv", "-o", "d.csv", "--method", "pma"),
        ("predict", "m.npz", "v.npz"),
    )
    assert run(*FIT, cwd=tmp_path).returncode == 0
    check_replaced([tmp_path / "m.npz", tmp_path / "m.html"], force=False)
    for command in (complete, (*predict, "-o", "p.csv"), (*predict, "-o", "p.csv")):
        assert run(*command, cwd=tmp_path).returncode == 0
    refused(run(*complete, cwd=tmp_path), "d.csv: is there already")  # it is a table like any other
    assert run(*complete, "--force", cwd=tmp_path).returncode == 0
    (tmp_path / "p.csv").write_text("mine")
    refused(run(*predict, "-o", "p.csv", cwd=tmp_path), "p.csv")
    assert run(*predict, "-o", "p.csv", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "p.csv").read_text().startswith("id,predicted,")


def test_a_folder_of_a_comparison_is_gone_on_with(tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"table.csv: is there already"):
        check_study_folder(tmp_path, force=False)
    check_study_folder(tmp_path, force=True)
    for name in ("design.json", "data.absentia"):
        (tmp_path / name).write_text("{}")
    check_study_folder(tmp_path, force=False)
