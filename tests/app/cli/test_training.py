"""Samples to learn from: who has a label and a view, and who is left out."""

import numpy as np
import pandas as pd
import pytest

from absentia import AbsenceWarning, KernelViews, ViewKernels, Views, io
from absentia.app.cli import _training
from absentia.app.cli._source import Source
from absentia.app.cli._training import read_training


@pytest.fixture
def folder(tmp_path):
    """Twenty samples in two tables, with labels of which two are of a class of their own."""
    rng = np.random.default_rng(0)
    ids = [f"s{k}" for k in range(20)]
    for name, rows in {"a": slice(0, 16), "b": slice(4, 20)}.items():
        pd.DataFrame(rng.normal(size=(16, 3)), ids[rows], list("xyz")).to_csv(tmp_path / f"{name}.csv")
    y = ["u", "v"] * 8 + ["w", "w", "", "NA"]
    pd.DataFrame({"y": y, "age": rng.normal(60, 8, 20), "time": 1.0, "event": 1}, ids).to_csv(
        tmp_path / "labels.csv", index_label="id"
    )
    return tmp_path


def test_small_classes_and_samples_without_a_label_are_left_out_and_counted(folder):
    with pytest.warns(AbsenceWarning) as said:
        training = read_training(folder, Source(), "labels.csv:y")
    sentences = [str(w.message) for w in said]
    assert any("class 'w' has fewer than 3 samples" in one for one in sentences)
    assert training.dropped == {
        "without a label": 2,
        "with a label but without any view": 0,
        "of classes that are too small": 2,
    }
    assert len(training.y) == 16
    assert training.n_all == 20
    assert set(training.y) == {"u", "v"}
    assert training.data.ids.tolist() == [f"s{k}" for k in range(16)]
    assert training.notes[-1].startswith("labels: 18 usable (u 8, v 8, w 2), 2 empty or NA")


def test_labels_that_are_no_classes_are_said_to_be_so(folder):
    with pytest.raises(ValueError, match=r"labels 'labels.csv:age' are numbers, which --method ridge"):
        read_training(folder, Source(), "labels.csv:age")
    with pytest.raises(ValueError, match="times and events"):
        read_training(folder, Source(), "labels.csv:time,event")


def test_a_label_out_of_a_view_is_no_feature_any_more(folder):
    table = pd.read_csv(folder / "a.csv", index_col=0)
    table.assign(kind=["p", "q"] * 8).to_csv(folder / "a.csv")
    with pytest.warns(AbsenceWarning, match="4 of 20 samples without a label"):
        training = read_training(folder, Source(), "kind")
    assert training.data.features("a").tolist() == ["x", "y", "z"]


def test_kernels_are_not_chosen_for_what_is_kernels_already(tmp_path):
    io.write(tmp_path / "k.npz", KernelViews.from_dense(np.eye(8)[None]), y=np.arange(8) % 2)
    with pytest.raises(ValueError, match="holds kernels already; --kernel and --log are for features"):
        read_training(tmp_path / "k.npz", Source(), "y", ["rbf"])
    assert len(read_training(tmp_path / "k.npz", Source(), "y").y) == 8


def test_labels_have_to_be_somewhere(folder):
    with pytest.raises(
        ValueError, match=r"labels are wanted: --labels FILE:COLUMN, or \[labels\] in a manifest"
    ):
        read_training(folder, Source(), None)
    (folder / "absentia.toml").write_text(
        'schema = 1\n[views.a]\nfile = "a.csv"\nkernel = "linear"\n[labels]\nfile = "labels.csv"\ncolumn = "y"\n'
    )
    training = read_training(folder, Source(), None)
    assert training.data.names == ("a",)
    assert training.kernels.per_view == {"a": {"kernel": "linear"}}


def test_ids_that_differ_in_writing_are_pointed_at_here_too(folder):
    table = pd.read_csv(folder / "b.csv", index_col=0)
    table.rename(index={"s4": "S4", "s5": "S5"}).to_csv(folder / "b.csv")
    with pytest.warns(AbsenceWarning) as said:
        read_training(folder, Source(), "labels.csv:y")
    assert any("S4" in str(one.message) and "s4" in str(one.message) for one in said)


def test_numbers_are_learned_from_where_they_are_wanted(folder):
    training = read_training(folder, Source(), "labels.csv:age", kinds=("classes", "numbers"))
    assert training.kind == "numbers"
    assert training.y.dtype == float
    assert training.dropped == {"without a number": 0, "with a number but without any view": 0}
    whole = pd.read_csv(folder / "labels.csv", index_col=0).assign(grade=np.arange(20) % 4)
    whole.to_csv(folder / "labels.csv")
    assert read_training(folder, Source(), "labels.csv:grade").kind == "classes"
    graded = read_training(folder, Source(), "labels.csv:grade", kinds=("numbers",))
    assert (graded.kind, graded.y.max()) == ("numbers", 3.0)
    with pytest.raises(ValueError, match="is to be numbers, and 'u' is none"):
        read_training(folder, Source(), "labels.csv:y", kinds=("numbers",))
    with pytest.raises(ValueError, match="are classes; times and events are wanted"):
        read_training(folder, Source(), "labels.csv:y", kinds=("survival",))
    whole.assign(same=3.5).to_csv(folder / "labels.csv")
    with pytest.raises(ValueError, match=r"labels 'labels.csv:same': all 20 numbers are 3.5"):
        read_training(folder, Source(), "labels.csv:same", kinds=("numbers",))


def test_of_very_many_samples_some_are_judged_on_and_that_is_said(monkeypatch):
    views = Views.from_dict({"a": np.arange(80.0).reshape(40, 2)})
    training = _training.Training(views, np.repeat(["x", "y"], [30, 10]), ViewKernels(), 40, {})
    assert training.judged is training
    monkeypatch.setattr(_training, "JUDGED", 20)
    some = _training.Training(views, training.y, ViewKernels(), 40, {}).judged
    assert len(some.data) == len(some.y) == 20
    assert some.n_learned == 40
    assert np.unique(some.y, return_counts=True)[1].tolist() == [15, 5]
    np.testing.assert_array_equal(some.data.block("a")[:, 0] / 2 >= 30, some.y == "y")
    assert some.notes == ("judged on 20 of the 40 samples: with all to learn from, it may do better",)
