"""absentia fit and predict on folders of Parquet files, a folder for each view."""

import json
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from absentia import CVKT, AbsenceWarning, Views, io, load
from helpers.command_line import refused, run

pytest.importorskip("pyarrow")
pytest.importorskip("distributed")

N = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two views of people in different order, and labels of them."""
    folder = tmp_path_factory.mktemp("chunks")
    rng = np.random.default_rng(0)
    common, ids = rng.normal(size=(N, 2)), np.array([f"P{k:03d}" for k in range(N)])
    for name, d in (("rna", 60), ("image", 50)):
        (folder / "big" / name).mkdir(parents=True)
        table = common @ rng.normal(size=(2, d)) + 3 * rng.normal(size=(N, d))
        has = rng.permutation(N)[: 180 if name == "rna" else N]
        frame = pd.DataFrame(table[has].astype(np.float32), columns=[f"{name}{j}" for j in range(d)])
        frame.insert(0, "id", ids[has])
        for k, part in enumerate(np.array_split(np.arange(len(has)), 3)):
            path = folder / "big" / name / f"part-{k}.parquet"
            frame.iloc[part].to_parquet(path, index=False, row_group_size=25)
    y = np.where(common[:, 0] > 0, "ill", "well")
    labels = pd.DataFrame({"id": ids, "y": y, "age": (50 + 5 * common[:, 0]).round(3)})
    labels.to_parquet(folder / "labels.parquet", index=False)
    return folder


def refused_at_end(result, *words):
    """Exit code 2 and one sentence, beside what was said of where features stay."""
    assert "stay in the Parquet files" in result.stdout
    refused(result._replace(stdout=""), *words)


def fit(folder, *more, labels="labels.parquet:y", model="model.absentia"):
    flags = ("--labels", labels, "-o", model, "--force", "--factors", 20)
    return run("fit", "big", *flags, *more, cwd=folder)


@pytest.fixture
def little_memory(monkeypatch):
    """Less than the features take, and enough for a model."""
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "120k")
    monkeypatch.setenv("ABSENTIA_MEMORY", "2G")


def test_large_folders_are_left_in_chunks_and_small_ones_read(folder, monkeypatch):
    small = io.read(folder / "big")
    assert not small.chunked
    assert io.read(folder / "big", chunks=True).chunked
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "20k")
    with pytest.warns(AbsenceWarning, match="of features stay in the Parquet files of 2"):
        large = io.read(folder / "big")
    assert large.chunked
    assert large.ids.tolist() == small.ids.tolist()
    np.testing.assert_array_equal(large.to_memory().block("rna"), small.block("rna"))


def test_fit_judges_and_predict_writes_rows_in_the_order_they_came(folder, little_memory):
    done = fit(folder)
    assert done.returncode == 0, done.stderr
    assert "stay in the Parquet files of 2 view(s)" in done.stdout
    assert "factors: 240 samples, 2 views, 2 classes" in done.stdout
    assert "averaged kernel SVM" in done.stdout
    assert (folder / "model.html").exists()
    views = Views.from_parquet({"image": folder / "big" / "image", "rna": folder / "big" / "rna"})
    model = load(folder / "model.absentia")
    wanted = model.classifier.predict_proba(views.to_memory())
    for name in ("out.csv", "out.parquet"):
        assert run("predict", "model.absentia", "big", "-o", name, "--force", cwd=folder).returncode == 0
        read = pd.read_csv if name.endswith("csv") else pd.read_parquet
        table = read(folder / name)
        assert table["id"].tolist() == views.ids.tolist()
        np.testing.assert_allclose(table["probability=ill"], wanted[:, 0], atol=1e-5)
        assert (table["view=rna"] == views.observed[:, 1]).all()
        assert table["predicted"].isin(["ill", "well"]).all()
    y = pd.read_parquet(folder / "labels.parquet").set_index("id")["y"]
    assert (table["predicted"].to_numpy() == views.align(y)).mean() > 0.8


def test_numbers_and_times_are_learned_in_chunks_too(folder, little_memory):
    done = fit(folder, "--json", labels="labels.parquet:age", model="numbers.absentia")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["method"] == "factors-ridge"
    assert said["cross-validated"]["factors-ridge"]["R2"]["value"] > 0.3
    times = pd.read_parquet(folder / "labels.parquet").assign(time=lambda t: t["age"], event=1)
    times.to_parquet(folder / "times.parquet", index=False)
    done = fit(folder, "--json", labels="times.parquet:time,event", model="times.absentia")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["method"] == "factors-cox"
    assert said["cross-validated concordance"]["factors-cox"]["value"] > 0.6
    assert "cox, zero-filled kernels" in said["cross-validated concordance"]
    assert run("predict", "times.absentia", "big", "-o", "risks.csv", cwd=folder).returncode == 0
    views = Views.from_parquet({"image": folder / "big" / "image", "rna": folder / "big" / "rna"})
    wanted = load(folder / "times.absentia").predict(views.to_memory())
    np.testing.assert_allclose(pd.read_csv(folder / "risks.csv")["risk"], wanted, rtol=1e-4, atol=1e-5)


def test_what_is_no_cluster_is_refused_before_any_work(folder):
    refused(fit(folder, "--dask", "two"), "--dask is local:N", "not 'two'")
    done = run("predict", "none.absentia", "big", "-o", "p.csv", "--dask", "local:0", cwd=folder)
    refused(done, "--dask local:N", "from 1 to")


@pytest.mark.slow
def test_a_cluster_gives_the_model_that_one_process_gives(folder, little_memory):
    tables = []
    for name, more in (("one", ()), ("two", ("--dask", "local:2"))):
        assert fit(folder, "--no-report", *more, model=f"{name}.absentia").returncode == 0
        done = run("predict", f"{name}.absentia", "big", *more, "-o", f"{name}.csv", "--force", cwd=folder)
        assert done.returncode == 0, done.stderr
        tables.append(pd.read_csv(folder / f"{name}.csv"))
    pd.testing.assert_frame_equal(*tables)


def test_kernels_are_completed_from_chunks_on_a_cluster_as_without_one(folder, little_memory):
    flags = ("--approx", "nystrom", "--factors", 20, "--force")
    for name, more in (("one", ()), ("two", ("--dask", "local:1"))):
        done = run("complete", "big", "-o", f"{name}.npz", *flags, *more, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "stay in the Parquet files" in done.stdout
    one, two = (np.load(folder / f"{name}.npz") for name in ("one", "two"))
    assert one["ids"].tolist() == two["ids"].tolist()
    np.testing.assert_allclose(one["K"], two["K"], atol=1e-5)
    assert np.isfinite(one["K"]).all()
    refused(
        run("complete", "big", "-o", "v", "--values", "--dask", "local:1", cwd=folder), "--dask does not"
    )


def test_what_takes_whole_kernels_is_refused_of_samples_in_chunks_before_any_work(
    folder, little_memory, monkeypatch
):
    monkeypatch.setenv("ABSENTIA_MEMORY", "3M")
    values = run("complete", "big", "-o", "values", "--values", cwd=folder)
    refused_at_end(values, "values are told from whole kernels: those of 240 samples", "without --values")
    monkeypatch.setattr(CVKT, "fit", None)
    intervals = run("complete", "big", "-o", "intervals.npz", "--coverage", 0.9, cwd=folder)
    refused_at_end(intervals, "intervals of all values of 240 samples", "leave out --coverage")
    assert not list(folder.glob("values*")) + list(folder.glob("intervals*"))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3, 5, 7])
def test_a_fit_that_is_killed_leaves_nothing_and_gives_the_same_when_run_again(folder, seconds):
    """The calling process is killed, at another moment each time; its workers end by themselves."""
    assert fit(folder, "--no-report", "--dask", "local:2", model="whole.absentia").returncode == 0
    before = {path.name for path in folder.iterdir()}
    call = ("fit", "big", "--labels", "labels.parquet:y", "-o", "killed.absentia", "--factors", "20")
    command = [sys.executable, "-m", "absentia", *call, "--no-report", "--dask", "local:2"]
    left = {"killed.absentia"}  # if it was quicker than that
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(command, cwd=folder, timeout=seconds, stderr=subprocess.DEVNULL)
        before |= left
    assert {path.name for path in folder.iterdir()} <= before | {"dask-scratch-space"}
    assert fit(folder, "--no-report", "--dask", "local:2", model="killed.absentia").returncode == 0
    views = Views.from_parquet({"image": folder / "big" / "image", "rna": folder / "big" / "rna"})
    said = [load(folder / f"{name}.absentia").predict_proba(views) for name in ("whole", "killed")]
    np.testing.assert_array_equal(*said)
