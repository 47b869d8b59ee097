"""``absentia complete --values``, from files to files."""

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import Views, io
from helpers.command_line import refused, run

N = 80


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    Z, ids = rng.normal(size=(N, 2)), pd.Index([f"p{i:02}" for i in range(N)], name="id")
    genes = pd.DataFrame(Z @ rng.normal(size=(2, 5)), index=ids, columns=[f"g{j}" for j in range(5)])
    drugs = pd.DataFrame(9 + Z @ rng.normal(size=(2, 3)), index=ids, columns=["a", "b", "c"])
    drugs["noise"] = rng.normal(size=N)
    clinical = pd.DataFrame({"stage": np.where(Z[:, 0] > 0, "II", "I")}, index=ids)
    genes.iloc[70, 1] = np.nan
    return {"clinical": clinical.iloc[20:], "drugs": drugs.iloc[:60], "genes": genes.iloc[10:]}


@pytest.fixture
def folder(tmp_path, frames):
    (tmp_path / "data").mkdir()
    for name, frame in frames.items():
        frame.to_csv(tmp_path / "data" / f"{name}.csv")
    return tmp_path


def test_a_folder_is_filled_and_reads_back_by_id(folder, frames):
    result = run("complete", "data", "-o", "filled/", "--values", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "drugs: 20 samples filled; 3 of 4 features can be trusted" in result.stdout
    assert "completed values: filled" in result.stdout
    back, done = io.read(folder / "filled"), absentia.complete_values(io.read(folder / "data"))
    assert back.names == ("clinical", "drugs", "genes")
    for name in back.names:
        pd.testing.assert_frame_equal(
            back[name], done.views[name].loc[back.ids], check_names=False, check_categorical=False
        )
        known = back[name].loc[frames[name].index]
        pd.testing.assert_frame_equal(
            known.astype(frames[name].dtypes), frames[name], check_names=False, check_categorical=False
        )
    assert back["drugs"]["noise"].isna().sum() == 20
    assert np.isnan(back["genes"].loc["p70", "g1"])
    trust = pd.read_csv(folder / "filled" / "about" / "trust.csv")
    pd.testing.assert_frame_equal(trust, done.table(), check_dtype=False)
    filled = pd.read_csv(folder / "filled" / "about" / "filled.csv", index_col="id")
    assert filled.index[filled["genes"]].tolist() == [f"p{i:02}" for i in range(10)]
    std = pd.read_csv(folder / "filled" / "std" / "drugs.csv", index_col="id")
    pd.testing.assert_frame_equal(std, done.std["drugs"].loc[std.index])
    proba = pd.read_csv(folder / "filled" / "proba" / "clinical.csv", index_col="id")
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_everything_is_filled_when_asked_and_again_into_the_same_folder(folder):
    command = ("complete", "data", "-o", "filled", "--values")
    assert run(*command, "--method", "mean", "--kernel", "linear", cwd=folder).returncode == 0
    result = run(*command, "--all-values", "--fill-gaps", cwd=folder)
    assert result.returncode == 0, result.stderr
    for name in ("clinical", "drugs", "genes"):
        assert io.read(folder / "filled")[name].notna().all(axis=None)


def test_h5mu_gets_layers(folder, frames):
    pytest.importorskip("mudata")
    views = Views.from_dict(frames)
    io.write_mudata(folder / "cells.h5mu", views.to_mudata())
    result = run("complete", "cells.h5mu", "-o", "done.h5mu", "--values", cwd=folder)
    assert result.returncode == 0, result.stderr
    whole = io.read(folder / "done.h5mu", layer="absentia_completed")
    assert whole.observed.all()
    assert whole.levels("clinical") == {"stage": ("I", "II")}
    done = absentia.complete_values(io.read(folder / "cells.h5mu"))
    pd.testing.assert_frame_equal(whole["drugs"], done.views["drugs"].loc[whole.ids], check_names=False)
    genes = io.read_mudata(folder / "done.h5mu").mod["genes"]
    assert (genes[genes.obs_names.str.startswith("p0")].layers["absentia_std"] > 0).all()
    assert genes.var["absentia_trusted"].all()


def test_what_cannot_be_is_refused_before_anything_is_written(folder):
    def refuse(*words, says):
        refused(run("complete", *words, cwd=folder), *says)
        assert not (folder / "out").exists()

    values = ("-o", "out", "--values")
    refuse("data", "-o", "data", "--values", says=["the data are there"])
    refuse("data", "-o", "out.csv", "--values", says=["if it is no folder, is a .h5mu file"])
    refuse("data", "-o", "out.h5mu", "--values", says=["filled from is a .h5mu file"])
    refuse("data", *values, "--report", "r.html", says=["--report does not apply to --values"])
    refuse("data", *values, "--method", "pma", says=["--values is for views, and pma completes one matrix"])
    refuse("data", "-o", "out.npz", "--all-values", says=["--all-values does not apply without --values"])
    np.savez(folder / "k.npz", K=np.stack([np.eye(6)] * 2))
    refuse("k.npz", *values, says=["k.npz: holds kernels, and --values fills in features"])
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("mine")
    refuse("data", "-o", "full", "--values", says=["full: is not empty; give a new folder"])
