"""Samples to learn from: who has a label and a view, and who is left out."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import AbsenceWarning, KernelViews, Views, io
from absentia.app.cli import _data
from absentia.app.cli._flags import ReadOptions, ViewKernelOptions
from absentia.experiment.comparison import make_task_data
from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL, Classification
from helpers.command_line import refused, run


def read_training(path, labels, *, tasks=(CLASSIFICATION,), kernels=()):
    return _data.read_training(path, ReadOptions(), labels, ViewKernelOptions(kernel=kernels), tasks)


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
        training = read_training(folder, "labels.csv:y")
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
        read_training(folder, "labels.csv:age")
    with pytest.raises(ValueError, match="times and events"):
        read_training(folder, "labels.csv:time,event")


def test_a_label_out_of_a_view_is_no_feature_any_more(folder):
    table = pd.read_csv(folder / "a.csv", index_col=0)
    table.assign(kind=["p", "q"] * 8).to_csv(folder / "a.csv")
    with pytest.warns(AbsenceWarning, match="4 of 20 samples without a label"):
        training = read_training(folder, "kind")
    assert training.data.features("a").tolist() == ["x", "y", "z"]


def test_kernels_are_not_chosen_for_what_is_kernels_already(tmp_path):
    io.write(tmp_path / "k.npz", KernelViews.from_dense(np.eye(8)[None]), y=np.arange(8) % 2)
    with pytest.raises(ValueError, match="holds kernels already; --kernel and --log are for features"):
        read_training(tmp_path / "k.npz", "y", kernels=("rbf",))
    assert len(read_training(tmp_path / "k.npz", "y").y) == 8


def test_labels_have_to_be_somewhere(folder):
    with pytest.raises(ValueError, match="labels are wanted: --labels FILE:COLUMN"):
        read_training(folder, None)


def test_ids_that_differ_in_writing_are_pointed_at_here_too(folder):
    table = pd.read_csv(folder / "b.csv", index_col=0)
    table.rename(index={"s4": "S4", "s5": "S5"}).to_csv(folder / "b.csv")
    with pytest.warns(AbsenceWarning) as said:
        read_training(folder, "labels.csv:y")
    assert any("S4" in str(one.message) and "s4" in str(one.message) for one in said)


def test_numbers_are_learned_from_where_they_are_wanted(folder):
    training = read_training(folder, "labels.csv:age", tasks=(CLASSIFICATION, REGRESSION))
    assert training.task is REGRESSION
    assert training.y.dtype == float
    assert training.dropped == {"without a number": 0, "with a number but without any view": 0}
    whole = pd.read_csv(folder / "labels.csv", index_col=0).assign(grade=np.arange(20) % 4)
    whole.to_csv(folder / "labels.csv")
    assert read_training(folder, "labels.csv:grade").task is CLASSIFICATION
    graded = read_training(folder, "labels.csv:grade", tasks=(REGRESSION,))
    assert (graded.task, graded.y.max()) == (REGRESSION, 3.0)
    with pytest.raises(ValueError, match="is to be numbers, and 'u' is none"):
        read_training(folder, "labels.csv:y", tasks=(REGRESSION,))
    with pytest.raises(ValueError, match="are classes; times and events are wanted"):
        read_training(folder, "labels.csv:y", tasks=(SURVIVAL,))
    whole.assign(same=3.5).to_csv(folder / "labels.csv")
    with pytest.raises(ValueError, match=r"labels 'labels.csv:same': all 20 numbers are 3.5"):
        read_training(folder, "labels.csv:same", tasks=(REGRESSION,))


def test_of_very_many_samples_some_are_judged_on_and_that_is_said(monkeypatch):
    views = Views.from_dict({"a": np.arange(80.0).reshape(40, 2)})
    samples = make_task_data(views, np.repeat(["x", "y"], [30, 10]))
    said = {"dropped": {}, "notes": (), "columns": ("y",), "reading": {}, "covariates": pd.DataFrame()}
    training = _data.TrainingData(samples, CLASSIFICATION, 40, in_memory=None, **said)
    assert training.validated is training
    monkeypatch.setattr(Classification, "max_validated", 20)
    some = _data.TrainingData(samples, CLASSIFICATION, 40, in_memory=None, **said).validated
    assert len(some.data) == len(some.y) == 20
    assert some.n_learned == 40
    assert np.unique(some.y, return_counts=True)[1].tolist() == [15, 5]
    np.testing.assert_array_equal(some.data.block("a")[:, 0] / 2 >= 30, some.y == "y")
    assert some.notes == ("judged on 20 of the 40 samples: with all to learn from, it may do better",)


# ----------------------------------------------------------------------- what stands beside the label

QUICK = ("--method", "average", "--C", "1", "--no-report", "--json")
LABEL = ("--labels", "metadata.csv:status")


def fitted(folder, *flags):
    """The views that a model was learned from, and what was said on standard error."""
    done = run("fit", folder, *LABEL, "-o", folder.parent / "m.absentia", *QUICK, *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["views"], done.stderr


def test_what_stands_beside_the_label_is_no_feature(clinic):
    views, said = fitted(clinic)
    assert views == ["expr", "meth"]
    assert "determines" not in said
    beside = read_training(clinic, LABEL[1])
    assert any("metadata.csv is not a view" in note for note in beside.notes)
    pd.read_csv(clinic / "metadata.csv", index_col="id")[["status"]].to_csv(clinic / "metadata.csv")
    alone = read_training(clinic, LABEL[1])
    assert alone.data.names == beside.data.names
    assert all(np.array_equal(alone.data.block(v), beside.data.block(v)) for v in views)
    assert alone.y.tolist() == beside.y.tolist()


def test_columns_beside_the_label_are_features_if_they_are_named(clinic):
    views, said = fitted(clinic, "--features-from-labels", "cluster", "age")
    assert views == ["expr", "meth", "metadata"]
    for words in ("'cluster'", "'metadata'", "nearly determines the label 'status'", "100%"):
        assert words in said
    assert "--ignore metadata:cluster" in said
    assert "'age'" not in said


def test_a_column_of_any_view_that_nearly_determines_the_label_is_named_everywhere(clinic):
    table = pd.read_csv(clinic / "expr.csv", index_col="id")
    table.insert(3, "group", pd.read_csv(clinic / "metadata.csv").cluster.to_numpy())
    table.to_csv(clinic / "expr.csv")
    out = ("-o", clinic / "out")
    for command in (("inspect", clinic), ("compare", clinic, "--dry-run", *out)):
        done = run(*command, *LABEL)
        assert done.returncode == 0
        assert "column 'group' of view 'expr' nearly determines the label 'status'" in done.stderr
    assert "nearly determines" in fitted(clinic)[1]
    assert "nearly determines" not in fitted(clinic, "--ignore", "expr:gr*")[1]
    with pytest.warns(AbsenceWarning, match="'group' of view 'expr' nearly determines"):
        absentia.read(clinic, labels="metadata.csv:status")


def test_what_was_ignored_in_training_is_ignored_in_prediction(clinic):
    flags = ("--features-from-labels", "age", "--ignore", "expr0", "meth:*[12]")
    fitted(clinic, *flags)
    model = clinic.parent / "m.absentia"
    done = run("predict", model, clinic, "-o", clinic.parent / "p.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ignored" not in done.stdout
    assert "7 features of 'expr' matched by name" in done.stdout
    assert "6 features of 'meth' matched by name" in done.stdout
    said = run("inspect", model, "--json")
    assert json.loads(said.stdout)["about"]["reading"] == {
        "ignore": ["expr0", "meth:*[12]"],
        "labels": "metadata.csv",
        "features from labels": ["age"],
    }
    (clinic / "metadata.csv").unlink()  # new patients come without it
    done = run("predict", model, clinic, "-o", clinic.parent / "p.csv")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_being_ignored_dates_are_refused_and_the_flag_is_named(clinic):
    refused(run("inspect", clinic), "metadata.csv", "'seen'", "dates", "--ignore")
    assert run("inspect", clinic, "--ignore", "seen").returncode == 0
    assert "metadata" not in run("inspect", clinic, "--ignore", "metadata:*").stdout
    refused(run("inspect", clinic, "--ignore", "sean", "metadata:*"), "no column of any view fits 'sean'")


# --------------------------------------------------------------------------------- repeats, orientation


def test_visits_of_one_patient_are_named_by_every_verb_that_judges(clinic):
    for name in ("expr", "meth", "metadata"):
        table = pd.read_csv(clinic / f"{name}.csv")
        table["id"] = [f"P{k // 2:02d}_visit{k % 2 + 1}" for k in range(60)]
        table.to_csv(clinic / f"{name}.csv", index=False)
    words = "'P00_visit1' and 'P00_visit2'"
    out = ("-o", clinic / "out")
    for command in (
        ("inspect", clinic, *LABEL),
        ("inspect", clinic, "--ignore", "metadata:*"),
        ("compare", clinic, "--dry-run", *LABEL, *out),
        ("compare", clinic, "--dry-run", "--ignore", "metadata:*", *out),
        ("fit", clinic, *LABEL, *QUICK, "-o", clinic.parent / "m.absentia"),
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
        assert words in done.stderr, command


@pytest.fixture
def turned(clinic):
    for name in ("expr", "meth"):
        pd.read_csv(clinic / f"{name}.csv", index_col="id").T.to_csv(
            clinic / f"{name}.csv", index_label="gene"
        )
    return clinic


def test_genes_by_samples_are_recognised_and_offered(turned):
    done = run("inspect", turned, "--ignore", "metadata:*")
    assert "no sample in common, but columns of the same names ('P00'" in done.stderr
    assert "--transpose" in done.stderr
    refused(run("inspect", turned, *LABEL), "'expr', 'meth'", "is it transposed? Give --transpose")
    done = run("inspect", turned, *LABEL, "--transpose")
    assert "60 samples, 2 views" in done.stdout
    assert "--transpose -o model.absentia" in done.stdout
    assert done.stderr.count("transpose") == 0


def test_one_view_can_be_transposed_alone(turned):
    meth = pd.read_csv(turned / "meth.csv", index_col="gene")
    meth.T.to_csv(turned / "meth.csv", index_label="id")
    refused(run("inspect", turned, *LABEL), "'expr'", "give --transpose expr")
    assert fitted(turned, "--transpose", "expr")[0] == ["expr", "meth"]
    refused(run("inspect", turned, *LABEL, "--transpose", "expr", "x"), "transpose: no view 'x'")
    model, out = turned.parent / "m.absentia", ("-o", turned.parent / "p.csv")
    (turned / "meth.csv").unlink()
    refused(run("predict", model, turned, *out), "seems to be transposed; give --transpose expr")
    assert run("predict", model, turned, *out, "--transpose", "expr").returncode == 0


# ------------------------------------------------------------------------------------ what is advised


def test_inspect_advises_no_fit_that_would_be_refused(folder):
    done = run("inspect", folder, "--labels", "labels.csv:y")
    assert "next:  " in done.stdout
    table = pd.read_csv(folder / "labels.csv").assign(one="same", none="", p=[0, 1] * 10, q=[1, 0] * 10)
    table.to_csv(folder / "labels.csv", index=False)
    for label in ("one", "none"):
        done = run("inspect", folder, "--labels", f"labels.csv:{label}")
        assert done.returncode == 0
        assert "absentia fit would refuse" in done.stdout
        assert "next:" not in done.stdout
        refused(run("fit", folder, "--labels", f"labels.csv:{label}", "-o", folder / "m.absentia"))
    done = run("inspect", folder, "--labels", "labels.csv:p,q")
    assert "next:  absentia compare" in done.stdout


def test_times_and_events_are_compared_by_concordance(folder):
    done = run("compare", folder, "--labels", "labels.csv:time,event", "-o", folder / "out", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "not known before the first trial" in done.stdout


# ------------------------------------------------------------------------------- what is odd about data


def look_at(place, *flags):
    """What ``absentia inspect`` says of these data, for programs."""
    done = run("inspect", place, *flags, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def counted(tmp_path):
    counts = np.random.default_rng(0).poisson(0.5, size=(20, 6)).astype(float)
    views = Views.from_dict({"text": counts, "image": counts + 0.5, "more": counts * 1.5})
    io.write(tmp_path / "v.npz", views, y=np.arange(20) % 2)
    return tmp_path / "v.npz"


def test_counts_get_advice_unless_something_was_chosen(counted):
    words = "looks like counts"
    (sentence,) = [one for one in look_at(counted)["warnings"] if words in one]
    assert "view 'text' looks like counts" in sentence
    assert "--kernel text=cosine or --log text" in sentence
    call = ("compare", counted, "--labels", "y", "--methods", "average", "--dry-run")
    assert words in run(*call).stderr
    for flags in (("--kernel", "text=cosine"), ("--log", "text")):
        done = run(*call, *flags)
        assert done.returncode == 0
        assert words not in done.stderr


def test_categories_that_look_like_numbers_are_pointed_at(counted):
    frame = pd.DataFrame({"weight": [f"{50 + k} kg" for k in range(10)], "stage": ["1a", "2b"] * 5})
    words = "which begin with numbers"
    (sentence,) = [one for one in _data.list_advice(Views.from_dict({"clin": frame})) if words in one]
    assert f"column 'weight' is taken as a category of 10 levels, {words} (e.g. '50 kg')" in sentence
    assert not any(words in one for one in look_at(counted)["warnings"])


def test_labels_of_every_kind_are_said_in_a_line(tmp_path):
    pd.DataFrame({"x": range(5)}, [f"s{k}" for k in range(5)]).to_csv(tmp_path / "a.csv", index_label="id")
    columns = {"y": ["a", "b", ""], "n": [1.5, 2, ""], "t": [3.0, 4, ""], "e": [1, 0, ""], "p": [1, 0, ""]}
    table = pd.DataFrame({**columns, "q": ["", 1, ""]}, ["s0", "s1", "s2"])
    more = pd.DataFrame("", list("uvwx"), table.columns)
    pd.concat([table, more]).to_csv(tmp_path / "labels.csv", index_label="id")
    rest = ", 1 empty or NA, 2 sample(s) without a line, 4 ids in no view (ignored: u, v, w, ...)"
    said = {
        "y": "2 usable (a 1, b 1)",
        "n": "2 usable (numbers from 1.5 to 2)",
        "t,e": "2 usable (survival, 1 events)",
        "p,q": "2 usable (2 labels, 1 entries unknown)",
    }
    for column, words in said.items():
        assert f"{words}{rest}" in run("inspect", tmp_path, "--labels", f"labels.csv:{column}").stdout


def test_classes_that_differ_in_writing_only_are_pointed_at(tmp_path):
    ids = [f"s{k}" for k in range(4)]
    pd.DataFrame({"x": range(4)}, ids).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"y": ["Tumor", "tumor", "normal", "normal"]}, ids).to_csv(tmp_path / "labels.csv")
    said = run("inspect", tmp_path, "--labels", "labels.csv:y").stderr
    assert "the classes 'Tumor' and 'tumor' differ in writing only" in said


def test_concerns_name_absence_missing_values_and_kernels_that_are_none(tmp_path):
    with warnings.catch_warnings(action="ignore"):
        kernels = KernelViews.from_dense(
            np.stack([np.eye(3) - 0.5, np.eye(3)]), np.array([[1, 1], [1, 1], [0, 0]])
        )
        views = Views.from_dict({"a": [[1.0, np.nan], [2.0, 1.0]]})
    odd = KernelViews.from_dense([np.array([[1.0, 2.0], [2.0, 1.0]])])
    for name, data in {"absent": kernels, "odd": odd, "gaps": views}.items():
        io.write(tmp_path / f"{name}.npz", data)
    assert sum("no view at all" in one for one in look_at(tmp_path / "absent.npz")["warnings"]) == 1
    assert look_at(tmp_path / "odd.npz")["warnings"][0] == (
        "view 'view0': the kernel is not positive semidefinite (eigenvalues from -1 to 3); complete it with "
        "--repair clip or --repair shift"
    )
    assert look_at(tmp_path / "gaps.npz")["warnings"][0] == (
        "values missing inside observed samples (a 1); kernels take the feature's mean"
    )
