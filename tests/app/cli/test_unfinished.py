"""absentia predict goes on where it was killed: the same table, nothing half written, nothing mixed."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from absentia import Views, io
from absentia.app.cli import _predict
from absentia.data import ChunkedTable
from helpers.command_line import refused, run

pytest.importorskip("pyarrow")
N = 240


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Views as one file and as folders of Parquet files, and a model of each road."""
    folder, rng = tmp_path_factory.mktemp("unfinished"), np.random.default_rng(0)
    common, ids = rng.normal(size=(N, 2)), np.array([f"P{k:03d}" for k in range(N)])
    frames = {}
    for name, d in (("rna", 120), ("image", 80)):
        table = common @ rng.normal(size=(2, d)) + rng.normal(size=(N, d))
        frames[name] = pd.DataFrame(table, ids, [f"{name}{j}" for j in range(d)])
        (folder / "big" / name).mkdir(parents=True)
        has = rng.permutation(N)[: N - 30]
        frames[name] = frames[name].iloc[has]
        for k, part in enumerate(np.array_split(np.arange(len(has)), 3)):
            some = frames[name].iloc[part].rename_axis("id").reset_index()
            some.to_parquet(folder / "big" / name / f"part-{k}.parquet", index=False, row_group_size=25)
    labels = pd.DataFrame({"id": ids, "y": np.where(common[:, 0] > 0, "ill", "well")})
    labels.to_csv(folder / "labels.csv", index=False)
    io.write(folder / "new.npz", Views.from_dict(frames))
    for model, method in (("whole.absentia", "zero-svm"), ("factors.absentia", "factors")):
        flags = (
            "--labels",
            "labels.csv:y",
            "-o",
            model,
            "--method",
            method,
            "--no-report",
            "--factors",
            20,
        )
        assert run("fit", "big", *flags, cwd=folder).returncode == 0
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_predict, "_MAX_ROWS", 20)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "250k")  # folders stay in chunks


class Killed(BaseException):
    """What nothing catches, as a signal that nothing can catch."""


def stop_after(monkeypatch, where, name, number):
    """Let a function that yields be killed after so many."""
    true = getattr(where, name)

    def stopped(*args, **more):
        for k, x in enumerate(true(*args, **more)):
            if k == number:
                raise Killed
            yield x

    monkeypatch.setattr(where, name, stopped)


def predict(place, model, data, output, *more):
    return run("predict", model, data, "-o", output, *more, cwd=place)


ROADS = [
    ("whole.absentia", "new.npz", (_predict, "_by_block"), ".csv"),
    ("whole.absentia", "new.npz", (_predict, "_by_block"), ".parquet"),
    ("factors.absentia", "big", (ChunkedTable, "fill"), ".csv"),
    ("factors.absentia", "big", (_predict, "_by_block"), ".parquet"),
]


@pytest.mark.parametrize(("model", "data", "where", "ending"), ROADS)
def test_a_second_call_goes_on_and_gives_the_same_table(place, monkeypatch, model, data, where, ending):
    if data.endswith("npz"):
        monkeypatch.delenv("ABSENTIA_MAX_BYTES")
    whole, output = place / f"whole{ending}", place / f"resumed{ending}"
    assert predict(place, model, data, whole.name, "--force").returncode == 0
    with monkeypatch.context() as patch:
        stop_after(patch, *where, 3)
        assert predict(place, model, data, output.name).returncode
    assert not output.exists()
    kept = place / f".{output.name}.unfinished"
    assert kept.is_dir()
    made = []
    true = getattr(*where)
    monkeypatch.setattr(*where, lambda *args, **more: (made.append(x) or x for x in true(*args, **more)))
    result = predict(place, model, data, output.name)
    assert result.returncode == 0
    assert "gone on from where" in result.stdout
    assert output.read_bytes() == whole.read_bytes()
    assert not kept.exists()
    n_all = 12 if where[1] == "_by_block" else 18
    assert len(made) == n_all - 3
    output.unlink()


def test_a_block_that_was_cut_is_made_again(place, monkeypatch):
    monkeypatch.delenv("ABSENTIA_MAX_BYTES")
    with monkeypatch.context() as patch:
        stop_after(patch, _predict, "_by_block", 3)
        assert predict(place, "whole.absentia", "new.npz", "cut.csv").returncode
    lines = place / ".cut.csv.unfinished" / "lines"
    lines.write_bytes(lines.read_bytes()[:-40])
    assert predict(place, "whole.absentia", "new.npz", "cut.csv").returncode == 0
    assert predict(place, "whole.absentia", "new.npz", "plain.csv").returncode == 0
    assert (place / "cut.csv").read_bytes() == (place / "plain.csv").read_bytes()


def test_other_inputs_are_refused(place, monkeypatch):
    monkeypatch.delenv("ABSENTIA_MAX_BYTES")
    with monkeypatch.context() as patch:
        stop_after(patch, _predict, "_by_block", 3)
        assert predict(place, "whole.absentia", "new.npz", "other.csv").returncode
    views = io.read(place / "new.npz")
    changed = {name: views[name] for name in views.names}
    changed["rna"].iloc[0, 0] += 1e-9
    io.write(place / "changed.npz", Views.from_dict(changed))
    refused(predict(place, "whole.absentia", "changed.npz", "other.csv"), "begun and not ended", "--force")
    refused(predict(place, "factors.absentia", "new.npz", "other.csv"), "begun and not ended")
    done = predict(place, "whole.absentia", "changed.npz", "other.csv", "--force")
    assert done.returncode == 0
    assert "gone on" not in done.stdout
    assert not (place / ".other.csv.unfinished").exists()


def test_what_is_refused_leaves_nothing_behind(place, monkeypatch):
    monkeypatch.delenv("ABSENTIA_MAX_BYTES")

    def refuse(*_, **__):
        raise ValueError("no such sample")

    monkeypatch.setattr(_predict, "_prediction_lines", refuse)
    refused(predict(place, "whole.absentia", "new.npz", "refused.csv"), "no such sample")
    assert not list(place.glob("*refused.csv*"))
    assert not list(place.glob(".refused.csv*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kills")
@pytest.mark.parametrize("blocks", [1, 5, 11])
def test_killed_for_good_it_goes_on(place, blocks):
    """kill -9 once so many blocks are there; the next call ends it."""
    script = (
        "import sys; from absentia.app.cli import _main, _predict; _predict._MAX_ROWS = 20\n"
        "import time; true = _predict._prediction_lines\n"
        "def slow(*a):\n    time.sleep(0.2); return true(*a)\n"
        "_predict._prediction_lines = slow\n"
        "sys.argv[1:] = ['predict', 'factors.absentia', 'big', '-o', 'killed.csv']\n"
        "sys.exit(_main.main())"
    )
    lines = place / ".killed.csv.unfinished" / "lines"
    process = subprocess.Popen([sys.executable, "-c", script], cwd=place, env=os.environ)
    deadline = time.monotonic() + 120
    while not (lines.exists() and len(lines.read_bytes().splitlines()) >= blocks):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (place / "killed.csv").exists()
    assert json.loads(lines.read_bytes().splitlines()[0])[0] == 0
    result = predict(place, "factors.absentia", "big", "killed.csv")
    assert result.returncode == 0, result.stderr
    assert "gone on" in result.stdout
    assert predict(place, "factors.absentia", "big", "unkilled.csv", "--force").returncode == 0
    assert (place / "killed.csv").read_bytes() == (place / "unkilled.csv").read_bytes()
    (place / "killed.csv").unlink()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kills")
@pytest.mark.parametrize(("kind", "chunks"), [("scores-*.done", 2), ("scores-*.done", 13), ("lines", 4)])
def test_killed_for_good_while_workers_make_scores_it_goes_on(place, kind, chunks):
    """kill -9 of the calling process once so many chunks or blocks are there; with workers again it ends."""
    pytest.importorskip("distributed")
    script = (
        "import sys, time; from absentia.app.cli import _main, _predict; _predict._MAX_ROWS = 20\n"
        "from absentia.data import ChunkedTable\n"
        "def slow(true):\n"
        "    def f(*a, **more):\n"
        "        for x in true(*a, **more):\n"
        "            yield x\n"
        "            time.sleep(0.2)\n"
        "    return f\n"
        "ChunkedTable.fill, _predict._by_block = slow(ChunkedTable.fill), slow(_predict._by_block)\n"
        "sys.argv[1:] = ['predict', 'factors.absentia', 'big', '--dask', 'local:2', '-o', 'workers.csv']\n"
        "sys.exit(_main.main())"
    )
    kept, output = place / ".workers.csv.unfinished", place / "workers.csv"

    def count():
        ends = b"\n" if kind == "lines" else b"."
        return sum(file.read_bytes().count(ends) for file in kept.glob(kind))

    process = subprocess.Popen([sys.executable, "-c", script], cwd=place, env=os.environ)
    deadline = time.monotonic() + 120
    while count() < chunks:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not output.exists()
    made, wanted = count(), place / "alone.csv"
    result = predict(place, "factors.absentia", "big", output.name, "--dask", "local:2")
    assert result.returncode == 0, result.stderr
    assert "gone on" in result.stdout
    assert made >= chunks
    assert not kept.exists()
    assert predict(place, "factors.absentia", "big", wanted.name, "--force").returncode == 0
    assert output.read_bytes() == wanted.read_bytes()
    output.unlink()
