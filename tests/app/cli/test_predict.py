"""absentia predict: block after block, in bounded memory; nothing that is no number, nothing a spreadsheet obeys."""

import csv
import json
import tracemalloc

import numpy as np
import pytest

from absentia import Views, inspection, io, models
from absentia.app.cli import _completing, _predict
from absentia.files import read_state, write_state
from absentia.methods.learning import KernelClassifier
from helpers.command_line import refused, run

pytestmark = pytest.mark.usefixtures("few_strengths")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def views_of(n, seed=0):
    """Two views, each lacked by a fifth of the samples (some lack both), and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    views = {"a": X, "b": X + 0.5 * rng.normal(size=X.shape)}
    ids = np.array([f"s{i}" for i in range(n)])
    observed = rng.random((n, 2)) < 0.8
    observed[0] = False
    with pytest.warns(UserWarning, match="no view at all"):
        return Views.from_dict(views, ids=ids, observed=observed), np.where(X[:, 0] > 0, "up", "down")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    views, y = views_of(60)
    io.write(folder / "train.npz", views, y=y)
    for name, flags in (("model.npz", []), ("scores.npz", ["--no-probability"])):
        command = [
            "fit",
            "train.npz",
            "--labels",
            "y",
            "-o",
            name,
            "--method",
            "amkl-convex",
            "--C",
            1,
            "--no-report",
            *flags,
        ]
        assert run(*command, cwd=folder).returncode == 0
    io.write(folder / "new.npz", views_of(501, seed=1)[0])
    return folder


def table(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


# -------------------------------------------------------------------------------------------- in blocks


@pytest.mark.parametrize("model", [pytest.param("model.npz", marks=pytest.mark.slow), "scores.npz"])
def test_blocks_of_any_size_give_one_table(folder, tmp_path, monkeypatch, model):
    """To the digits written: products of other shapes may be rounded in another order."""
    tables = []
    for k, rows in enumerate((1000, 100, 7)):
        monkeypatch.setattr(_predict, "_MAX_ROWS", rows)
        result = run("predict", model, "new.npz", "-o", tmp_path / f"{k}.csv", cwd=folder)
        assert result.returncode == 0, result.stderr
        assert "\n501 samples classified, " in result.stdout
        tables.append((result.stdout.splitlines()[0], table(tmp_path / f"{k}.csv")))
    (said, first), *others = tables
    numbers = [j for j, name in enumerate(first[0]) if "=" in name]
    for again, lines in others:
        assert again == said
        assert len(lines) == 502
        for j in range(len(first[0])):
            one, two = ([line[j] for line in t[1:]] for t in (first, lines))
            if j in numbers:
                np.testing.assert_allclose(np.array(one, float), np.array(two, float), rtol=1e-5, atol=1e-9)
            else:
                assert one == two


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_samples(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_predict, "_BLOCK_BYTES", 2**18)
    model, peaks = models.load(folder / "model.npz"), []
    for n in (1000, 8000):
        views = views_of(n)[0]
        tracemalloc.start()
        _predict._write_predictions(tmp_path / "p.csv", model, views)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert len(table(tmp_path / "p.csv")) == 8001
    # all kernels of 8000 samples are 8000 x 60 x 2 numbers, 7.7 MB; more rows than one block add only their marks
    assert peaks[1] < peaks[0] + 2**20
    assert peaks[1] < 2**22


def test_progress_counts_the_blocks(folder, tmp_path, monkeypatch):
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def bar(name, total):
        seen.append(total)
        yield lambda: seen.append(1)

    monkeypatch.setattr(_predict, "step_bar", bar)
    monkeypatch.setattr(_predict, "_MAX_ROWS", 100)
    assert run("predict", "model.npz", "new.npz", "-o", tmp_path / "p.csv", cwd=folder).returncode == 0
    assert seen == [6, 1, 1, 1, 1, 1, 1]


def test_a_failure_in_a_late_block_leaves_nothing(folder, tmp_path, monkeypatch):
    lines, calls = _predict._prediction_lines, []

    def fail(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise ValueError("the third block")
        return lines(*arguments)

    monkeypatch.setattr(_predict, "_prediction_lines", fail)
    monkeypatch.setattr(_predict, "_MAX_ROWS", 100)
    (tmp_path / "p.csv").write_text("what was there")
    refused(
        run("predict", "model.npz", "new.npz", "-o", tmp_path / "p.csv", "--force", cwd=folder),
        "the third block",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
    assert (tmp_path / "p.csv").read_text() == "what was there"


def test_no_samples_at_all_are_refused(folder, tmp_path):
    np.savez(tmp_path / "none.npz", view_a=np.zeros((0, 3)), view_b=np.zeros((0, 3)))
    result = run("predict", folder / "model.npz", "none.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "none.npz", "no sample")
    assert list(tmp_path.iterdir()) == [tmp_path / "none.npz"]


# --------------------------------------------------------------------------------------- what is no number


def test_a_model_that_was_changed_is_refused(folder, tmp_path):
    arrays = io.read_arrays(folder / "model.npz")
    key = next(key for key, a in arrays.items() if a.dtype.kind == "f" and a.ndim == 2)
    np.savez(tmp_path / "bad.npz", **arrays | {key: arrays[key] * 1e308})
    result = run("predict", "bad.npz", folder / "new.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "bad.npz", "damaged or changed")
    assert not (tmp_path / "p.csv").exists()


def test_a_model_that_gives_no_answer_is_named(folder, tmp_path):
    """Changed by somebody who can compute checksums."""
    state, _ = read_state(folder / "model.npz")
    attributes = next(one for _, one in state.parts() if "_weights" in one)
    attributes["_weights"] = {}
    write_state(tmp_path / "bad.npz", state, {})
    result = run("predict", "bad.npz", folder / "new.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "bad.npz: the model gives no answer", "fit it again")


def test_predictions_that_are_not_finite_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(
        KernelClassifier, "decision_function", lambda self, rows: np.full((len(rows), 1), np.inf)
    )
    result = run("predict", folder / "model.npz", folder / "new.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "new.npz", "not finite")
    assert not (tmp_path / "p.csv").exists()


def test_completed_kernels_that_are_not_finite_are_refused(tmp_path, monkeypatch):
    from conftest import random_problem

    kernels = random_problem(10, 2)
    io.write(tmp_path / "k.npz", kernels)

    def spoiled(*_):
        return kernels.completed({name: np.full((10, 10), np.nan) for name in kernels.names})

    monkeypatch.setattr(_completing, "_run_completer", spoiled)
    refused(run("complete", "k.npz", "-o", "o.npz", cwd=tmp_path), "k.npz", "'view0'", "not finite")
    assert not (tmp_path / "o.npz").exists()


# ---------------------------------------------------------------------------------- what is no formula


def test_ids_classes_and_views_cannot_be_formulas(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    ids = np.array(["=1+1", "@sum", "+x", "-y", "\tz", "-5", "+1e3", *(f"s{i}" for i in range(23))])
    views = Views.from_dict({"=cmd()": X, "@b": X}, ids=ids)
    io.write(tmp_path / "t.npz", views, y=np.where(X[:, 0] > 0, "=up", "-down"))
    flags = ["--labels", "y", "-o", "m.npz", "--method", "amkl-convex", "--C", 1, "--no-report"]
    assert run("fit", "t.npz", *flags, cwd=tmp_path).returncode == 0
    assert run("predict", "m.npz", "t.npz", "-o", "p.csv", cwd=tmp_path).returncode == 0
    lines = table(tmp_path / "p.csv")
    assert [line[0] for line in lines[1:8]] == ["'=1+1", "'@sum", "'+x", "'-y", "'\tz", "-5", "+1e3"]
    assert {line[1] for line in lines[1:]} == {"'=up", "'-down"}
    assert not [cell for cell in lines[0] if cell[0] in "=+-@\t\r"]


@pytest.mark.filterwarnings("ignore:.*no view at all")
def test_ids_that_are_no_text_are_refused(folder, tmp_path):
    new = io.read(folder / "new.npz")
    ids = new.ids.astype("<U8").copy()
    ids[3] = "x\ud800"
    np.savez(
        tmp_path / "n.npz", ids=ids, mask=new.observed, **{f"view_{k}": v for k, v in new.to_dict().items()}
    )
    result = run("predict", folder / "model.npz", "n.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "n.npz", "'ids'", "characters that there are not")
    assert not (tmp_path / "p.csv").exists()


def test_predictions_go_back_into_the_container_that_samples_came_from(tmp_path):
    import warnings

    import pandas as pd

    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    ids = [f"cell{k}" for k in range(40)]
    y = np.array(["u", "v"] * 20)
    parts = {
        name: pd.DataFrame(
            rng.normal(size=(30, 4)) + 2 * (y[rows] == "u")[:, None], ids[rows], list("abcd")
        )
        for name, rows in {"rna": slice(0, 30), "adt": slice(10, 40)}.items()
    }
    with warnings.catch_warnings(action="ignore"):
        mdata = mudata.MuData({name: anndata.AnnData(part) for name, part in parts.items()})
        mdata.obs["kind"] = pd.Series(y, ids)
        mdata.write(tmp_path / "cells.h5mu")
    fit = [
        "fit",
        "cells.h5mu",
        "--labels",
        "kind",
        "-o",
        "m.absentia",
        "--no-report",
        "--method",
        "amkl-convex",
        "--C",
        "1",
    ]
    assert run(*fit, cwd=tmp_path).returncode == 0
    said = run("predict", "m.absentia", "cells.h5mu", "-o", "done.h5mu", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    with warnings.catch_warnings(action="ignore"):
        done = mudata.read_h5mu(tmp_path / "done.h5mu")
    assert (done.obs["absentia_predicted"][ids] == y).mean() > 0.9
    assert done.obs["absentia_rna_observed"][ids].tolist() == [k < 30 for k in range(40)]
    probabilities = done.obs[["absentia_probability=u", "absentia_probability=v"]].sum(axis=1)
    np.testing.assert_allclose(probabilities, 1, atol=1e-5)


def test_one_table_goes_to_a_model_of_one_view_under_any_name(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 3)), [f"s{k}" for k in range(30)], list("abc"))
    table.assign(dx=np.where(table["a"] > 0, "p", "q")).to_csv(tmp_path / "old.csv")
    table.iloc[:5, ::-1].to_csv(tmp_path / "next_month.csv")
    fit = [
        "fit",
        "old.csv",
        "--labels",
        "old.csv:dx",
        "-o",
        "m.absentia",
        "--no-report",
        "--method",
        "amkl-convex",
        "--C",
        "1",
    ]
    assert run(*fit, cwd=tmp_path).returncode == 0
    said = run("predict", "m.absentia", "next_month.csv", "-o", "p.csv", cwd=tmp_path)
    assert "3 features of 'old' matched by name (order differed)" in said.stdout
    (tmp_path / "other").mkdir()
    for name in "uv":
        table.to_csv(tmp_path / "other" / f"{name}.csv")
    said = run("predict", "m.absentia", "other", "-o", "p.csv", cwd=tmp_path)
    refused(said, "none of the views ['u', 'v'] is one of the model's, ['old']")


def test_kernels_without_ids_are_nobody(tmp_path):
    K = np.eye(20)[None] + 0.1
    np.savez(tmp_path / "k.npz", K=K, y=np.arange(20) % 2)
    fit = [
        "fit",
        "k.npz",
        "--labels",
        "y",
        "-o",
        "m.absentia",
        "--no-report",
        "--method",
        "amkl-convex",
        "--C",
        "1",
    ]
    assert run(*fit, cwd=tmp_path).returncode == 0
    np.savez(tmp_path / "other.npz", K=K)
    refused(run("predict", "m.absentia", "other.npz", "-o", "p.csv", cwd=tmp_path), "samples without ids")
    refused(run("predict", "m.absentia", "other.npz", "-o", "-", "--json", cwd=tmp_path), "choose one")


def test_what_is_unlike_training_is_said_in_a_few_lines_and_whole_to_programs(folder):
    rng = np.random.default_rng(2)
    tables = {"a": 1000 * rng.normal(size=(40, 3)), "b": rng.normal(size=(40, 3)) + 3}
    observed = np.ones((40, 2), bool)
    observed[:30, 1] = False
    io.write(folder / "unlike.npz", Views.from_dict(tables, observed=observed))
    said = run("predict", "model.npz", "unlike.npz", "-o", "unlike.csv", cwd=folder).stdout.splitlines()
    whole = run("predict", "model.npz", "unlike.npz", "-o", "unlike.csv", "--json", cwd=folder)
    document = json.loads(whole.stdout)
    assert any(line.startswith("view 'a':") and "outside the training range" in line for line in said)
    assert "view 'b': 25% of the new samples have it" in " ".join(said)
    unlike = document["shift"]["sentences"]
    assert [line for line in said if line in unlike] == unlike[:5]
    assert {row["view"] for row in document["shift"]["notable"]} == {"a", "b"}
    again = run("predict", "model.npz", "train.npz", "-o", "again.csv", "--json", cwd=folder)
    (sentence,) = json.loads(again.stdout)["shift"]["sentences"]  # who has nothing was not learned from
    assert "no training sample has: no view (3)." in sentence


def test_patterns_never_seen_in_training_are_named(tmp_path):
    views, y = views_of(60)
    some = views.observed.all(axis=1)
    io.write(tmp_path / "whole.npz", views[some], y=y[some])
    command = ["fit", "whole.npz", "--labels", "y", "-o", "m.npz", "--method", "linear", "--no-report"]
    assert run(*command, cwd=tmp_path).returncode == 0
    new = views[some][:4].select(["a"])
    io.write(tmp_path / "new.npz", new)
    said = run("predict", "m.npz", "new.npz", "-o", "p.csv", cwd=tmp_path).stdout
    assert "4 of 4 new samples (100%) have a pattern that no training sample has: only a (4)." in said
    shift = inspection.shift(models.load(tmp_path / "m.npz"), new)
    assert shift.sentences[0] in said
