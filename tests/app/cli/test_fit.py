"""absentia fit and absentia predict, from files to files."""

import csv
import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from absentia import Views, io, models
from absentia.app import _progress
from absentia.tasks import CLASSIFICATION
from helpers.command_line import refused, run, run_process
from helpers.digit_samples import digit_views


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def write_labels(path, ids, labels):
    path.write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in zip(ids, labels, strict=True)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training and new samples, labels inside and beside, and a model with its report."""
    folder = tmp_path_factory.mktemp("fit")
    views, y = digit_views(160)
    words = np.array(["zero", "one", "two"])[y]
    io.write(folder / "train.npz", views[:100], digit=y[:100], word=words[:100], one=y[:100] * 0)
    io.write(folder / "new.npz", views[100:])
    write_labels(folder / "labels.csv", views.ids[:100], words[:100])
    np.save(folder / "truth.npy", y[100:])
    command = ["fit", "train.npz", "--labels", "labels.csv", "-o", "model.npz", "--method", "average"]
    result = run(*command, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "judging" not in result.stderr
    (folder / "said.txt").write_text(result.stdout)
    return folder


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_fit_then_predict_is_right_far_more_often_than_chance(folder, tmp_path):
    said = (folder / "said.txt").read_text()
    for word in ("average: 100 samples, 6 views, 3 classes", "chosen by cross-validation", "pixels"):
        assert word in said
    for word in ("averaged kernel SVM", "most frequent class", "model: model.npz", "report: model.html"):
        assert word in said
    assert re.search(r"cross-validated +balanced accuracy +95% interval +accuracy", said)
    out = tmp_path / "p.csv"
    result = run("predict", "model.npz", "new.npz", "-o", out, cwd=folder)
    assert result.returncode == 0, result.stderr
    rows = table(out)
    new = io.read(folder / "new.npz")
    truth = np.array(["zero", "one", "two"])[np.load(folder / "truth.npy")]
    assert [row["id"] for row in rows] == new.ids.tolist()
    assert np.mean([row["predicted"] == t for row, t in zip(rows, truth, strict=True)]) > 0.9
    probabilities = np.array(
        [[float(row[f"probability={c}"]) for c in ("one", "two", "zero")] for row in rows]
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-4)
    had = np.array([[row[f"view={name}"] == "1" for name in new.names] for row in rows])
    np.testing.assert_array_equal(had, new.observed)
    about = models.load(folder / "model.npz").about
    assert about["method"] == "average"
    assert about["cross-validated balanced accuracy"] > 0.8


def test_what_is_predicted_is_what_the_model_predicts(folder, tmp_path):
    run("predict", "model.npz", "new.npz", "-o", tmp_path / "p.csv", cwd=folder)
    model, new = models.load(folder / "model.npz"), io.read(folder / "new.npz")
    assert [row["predicted"] for row in table(tmp_path / "p.csv")] == model.predict(new).tolist()


@pytest.mark.parametrize("method", ["mkl", "amkl-iterative", "amkl-penalized"])
def test_every_method_learns_from_labels_in_the_file_too(folder, tmp_path, method):
    command = ["fit", "train.npz", "--labels", "digit", "-o", tmp_path / "m.npz", "--method", method]
    result = run(*command, "--C", 10, "--no-probability", "--no-report", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "C = 10 (given)" in result.stdout
    assert "cross-validated" not in result.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "m.npz"]
    result = run("predict", tmp_path / "m.npz", "new.npz", "-o", tmp_path / "p.csv", cwd=folder)
    rows = table(tmp_path / "p.csv")
    scores = np.array([[float(row[f"score={c}"]) for c in range(3)] for row in rows])
    predicted = np.array([int(row["predicted"]) for row in rows])
    np.testing.assert_array_equal(scores.argmax(axis=1), predicted)
    assert (predicted == np.load(folder / "truth.npy")).mean() > 0.9


def test_new_samples_may_lack_views_altogether_or_all_views(folder, tmp_path):
    new = io.read(folder / "new.npz").select(["fourier", "pixels"])
    keep = np.ones((len(new), 2), bool)
    keep[3] = False
    with pytest.warns(UserWarning, match="no view at all"):
        io.write(tmp_path / "few.npz", Views.from_dict(new.hide(keep).to_dict(), ids=new.ids))
    result = run("predict", folder / "model.npz", "few.npz", "-o", "p.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = table(tmp_path / "p.csv")
    assert rows[3]["flag"] == CLASSIFICATION.no_view
    prior = models.load(folder / "model.npz").classifier._prior
    assert float(rows[3]["probability=one"]) == pytest.approx(prior[0], abs=1e-5)
    assert all(row["view=moments"] == "0" for row in rows)
    assert all(row["flag"] != CLASSIFICATION.no_view for row in rows if row["view=pixels"] == "1")


def test_kernels_are_learned_from_and_rows_of_kernels_classified(folder, tmp_path):
    from absentia import KernelViews, ViewKernels

    train, new = io.read(folder / "train.npz"), io.read(folder / "new.npz")
    makes = ViewKernels()
    kernels, rows = makes.fit_transform(train), makes.transform(new)
    assert isinstance(kernels, KernelViews)
    with np.load(folder / "train.npz") as file:
        io.write(tmp_path / "k.npz", kernels, y=file["digit"].astype(float))
    arrays = {"ids": new.ids, "column_ids": train.ids, "names": np.array(train.names)}
    np.savez(tmp_path / "rows.npz", K=rows.to_dense(), **arrays)
    result = run(
        "fit",
        "k.npz",
        "--labels",
        "y",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        "--no-report",
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    result = run("predict", "m.npz", "rows.npz", "-o", "p.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    predicted = np.array([int(row["predicted"]) for row in table(tmp_path / "p.csv")])
    assert (predicted == np.load(folder / "truth.npy")).mean() > 0.9
    np.savez(tmp_path / "bad.npz", K=rows.to_dense(), **arrays | {"column_ids": np.arange(len(train))})
    refused(run("predict", "m.npz", "bad.npz", "-o", "q.csv", cwd=tmp_path), "bad.npz", "are not among")
    refused(run("predict", "m.npz", folder / "new.npz", "-o", "q.csv", cwd=tmp_path), "features came")
    refused(
        run("predict", folder / "model.npz", "rows.npz", "-o", "q.csv", cwd=tmp_path), "but kernels came"
    )
    assert not (tmp_path / "q.csv").exists()


@pytest.mark.slow
def test_empty_labels_and_samples_without_views_are_counted_and_left_out(folder, tmp_path):
    train = io.read(folder / "train.npz")
    keep = np.ones(train.shape, bool)
    keep[:5] = False
    io.write(tmp_path / "t.npz", train.hide(keep))
    with np.load(folder / "train.npz") as file:
        labels = file["word"].astype(object)
    labels[3:10] = ["", " ", "", "", "", "", ""]
    write_labels(tmp_path / "l.csv", train.ids, labels)
    result = run(
        "fit",
        "t.npz",
        "--labels",
        "l.csv",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert "7 of 100 samples without a label: not learned from" in result.stderr
    assert "3 of 100 samples with a label but without any view: not learned from" in result.stderr
    assert "90 samples" in result.stdout
    page = (tmp_path / "m.html").read_text()
    assert "7 of 100 samples without a label" in page
    for section in ("classes", "confusion", "roc", "mistakes", "contribution"):
        assert f'id="{section}"' in page
    assert "3 of 100 samples with a label but without any view" in page


def test_kernels_that_are_none_are_warned_of(tmp_path):
    K = np.eye(20) + 0.5
    K[0, 1] = K[1, 0] = 3
    np.savez(tmp_path / "k.npz", K=K[None], y=np.arange(20) % 2)
    result = run(
        "fit",
        "k.npz",
        "--labels",
        "y",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        "--no-report",
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert "view 'view0': the kernel is not positive semidefinite (eigenvalues from -" in result.stderr


def test_methods_are_listed_with_when_to_use_them():
    result = run("fit", "--list")
    assert result.returncode == 0
    for name in ("auto", "mkl", "amkl-convex", "amkl-iterative", "svm", "forest", "ridge", "cox"):
        assert f"\n{name} " in result.stdout
    assert "cvkt-svm" in result.stdout  # named where it stands, beside the method that it is a form of
    assert "mkmc-pca " not in result.stdout
    assert "amkl" not in run("complete", "--list").stdout


@pytest.mark.slow
def test_the_commands_work_as_a_person_runs_them(folder, tmp_path):
    result = run_process("predict", folder / "model.npz", folder / "new.npz", "-o", "p.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "60 samples classified" in result.stdout
    assert "Example: absentia fit" in run("fit", "--help").stdout


def test_an_interrupt_writes_nothing(folder, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("absentia.experiment.cross_validate", interrupted)
    result = run(
        "fit",
        folder / "train.npz",
        "--labels",
        "word",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        cwd=tmp_path,
    )
    assert result.returncode == 130
    assert "every file is whole, or as it was" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_real_ctrl_c_during_the_fit_writes_nothing(tmp_path):
    views, y = digit_views(60)
    io.write(tmp_path / "t.npz", views, y=y)
    code = (
        # where the tests run in the background, the signal is ignored from birth
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; from absentia.app.cli import _main as cli; from absentia.tasks import Plan\n"
        "def endless(*a):\n    print('busy', flush=True)\n    while True: pass\n"
        "Plan.fit = endless; cli.main(sys.argv[1:])"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "fit",
        "t.npz",
        "--labels",
        "y",
        "-o",
        "m.npz",
        "--method",
        "mkl",
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, **pipes)
    assert process.stdout.readline() == "busy\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]


@pytest.mark.slow
def test_a_report_that_cannot_be_made_keeps_the_model_from_being_written(folder, tmp_path, monkeypatch):
    from absentia.app import report

    def fail(_):
        raise ValueError("no ink")

    monkeypatch.setattr(report, "render_classification", fail)
    result = run(
        "fit",
        folder / "train.npz",
        "--labels",
        "word",
        "-o",
        "m.npz",
        "--method",
        "amkl-convex",
        "--C",
        1,
        cwd=tmp_path,
    )
    refused(result, "no ink")
    assert list(tmp_path.iterdir()) == []


FIT = ["fit", "train.npz", "--labels"]


BAD = [
    (["fit"], ["DATA", "--labels"]),
    (["fit", "train.npz", "-o", "m.npz"], ["--labels"]),
    ([*FIT, "word"], ["-o MODEL.absentia"]),
    ([*FIT, "word", "-o", "m.txt"], [".npz"]),
    ([*FIT, "word", "-o", "train.npz"], ["different files"]),
    ([*FIT, "word", "-o", "m.npz", "--report", "m.npz"], ["different files"]),
    ([*FIT, "labels.csv", "-o", "m.npz", "--report", "labels.csv"], ["different files"]),
    ([*FIT, "labels.csv:label", "-o", "m.npz", "--report", "labels.csv"], ["different files"]),
    ([*FIT, "word", "-o", "m.npz", "--report", "r.html", "--no-report"], ["exclude one another"]),
    ([*FIT, "word", "-o", "nowhere/m.npz"], ["nowhere", "does not exist"]),
    ([*FIT, "word", "-o", "m.npz", "--report", "nowhere/r.html"], ["nowhere", "does not exist"]),
    (
        [*FIT, "word", "-o", "m.npz", "--method", "mkmc-pca"],
        ["no method 'mkmc-pca'", "completes kernels", "used by mkmc-svm"],
    ),
    ([*FIT, "word", "-o", "m.npz", "--kernel", "magic"], ["no kernel 'magic'"]),
    ([*FIT, "word", "-o", "m.npz", "--C", "many"], ["--C is a positive number or cv, not 'many'"]),
    ([*FIT, "word", "-o", "m.npz", "--C", "0"], ["--C is a positive number"]),
    ([*FIT, "word", "-o", "m.npz", "--C", "inf"], ["--C is a positive number"]),
    ([*FIT, "wrd", "-o", "m.npz"], ["holds no labels 'wrd'", "'word'"]),
    ([*FIT, "gone.csv", "-o", "m.npz"], ["gone.csv: no such file"]),
    ([*FIT, "one", "-o", "m.npz"], ["labels 'one': only the class 0", "two classes or more"]),
    ([*FIT, ".", "-o", "m.npz"], ["is a folder"]),
    (["fit", "gone.npz", "--labels", "y", "-o", "m.npz"], ["gone.npz: no such file"]),
    (["fit", "labels.csv", "--labels", "y", "-o", "m.npz"], ["there are no labels 'y'"]),
    (["predict"], ["MODEL"]),
    (["predict", "model.npz", "new.npz", "-o", "p.txt"], [".csv"]),
    (["predict", "model.npz", "new.npz", "-o", "nowhere/p.csv"], ["does not exist"]),
    (["predict", "train.npz", "new.npz", "-o", "p.csv"], ["train.npz: holds no model"]),
    (["predict", "gone.npz", "new.npz", "-o", "p.csv"], ["gone.npz: no such file"]),
    (["predict", "model.npz", "gone.npz", "-o", "p.csv"], ["gone.npz: no such file"]),
    (["predict", "model.npz", "model.npz", "-o", "p.csv"], ["neither 'K' nor 'view_<name>'"]),
    (["predict", "labels.csv", "new.npz", "-o", "p.csv"], ["is no model of absentia"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(a)[-40:] for a, _ in BAD])
def test_bad_usage_gets_one_sentence_and_exit_code_2(folder, arguments, words):
    before = sorted(folder.iterdir())
    refused(run(*arguments, cwd=folder), *words)
    assert sorted(folder.iterdir()) == before


TABLES = [
    ("", ["the file is empty"]),
    ("a,one\nb,two\n", ["only the class 'two'"]),
    ("id,label\nA,1\n", ["none of its 1 ids", "differ only in case"]),
    ("id,label\na,1\na,2\n", ["1 id more than once: 'a' (lines 2, 3)"]),
    ("id,label\na,1,2\n", ["line 2 has 3 fields, line 1 has 2"]),
    ("id,label\na,1\nb,1\nc,1\nd,1\ne,1\nf,1\n", ["only the class '1'", "two classes or more"]),
    ("id,label\na,\nb,\nc,\nd,\ne,\nf,\n", ["no class among samples with a view"]),
    ("id,label\na,1\nb,1\nc,1\nd,1\ne,2\nf,2\n", ["class '2' has 2 sample(s)", "at least 3"]),
    (b"\xff\xfe\x00", ["is no text"]),
    ('id,label\n"a,1\n', ["is not a line of a table"]),
]


@pytest.mark.parametrize(("content", "words"), TABLES, ids=[w[0][:30] for _, w in TABLES])
def test_bad_tables_of_labels_get_one_sentence_and_exit_code_2(tmp_path, content, words):
    io.write(tmp_path / "t.npz", Views.from_dict({"a": np.arange(6.0)[:, None]}, ids=list("abcdef")))
    path = tmp_path / "l.csv"
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    refused(run("fit", "t.npz", "--labels", "l.csv", "-o", "m.npz", cwd=tmp_path), "l.csv", *words)
    assert not (tmp_path / "m.npz").exists()


ARRAYS = [
    (np.zeros(5), "labels of shape (5,) for 6 samples"),
    (np.zeros((6, 1)), "labels of shape (6, 1)"),
    (np.linspace(0, 1, 6), "6 sample(s) with a number and a view; at least 10"),
    (np.array([1, np.inf, 1, 2, 2, 2]), "1 number(s) are infinite"),
    (np.zeros(6, complex), "labels are complex128"),
    (np.array([{}] * 6, dtype=object), "pickled Python objects"),
]


@pytest.mark.parametrize(("labels", "words"), ARRAYS, ids=[w[:30] for _, w in ARRAYS])
def test_bad_arrays_of_labels_get_one_sentence_and_exit_code_2(tmp_path, labels, words):
    np.savez(tmp_path / "t.npz", view_a=np.arange(6.0)[:, None], y=labels)
    refused(run("fit", "t.npz", "--labels", "y", "-o", "m.npz", cwd=tmp_path), "t.npz", "'y'", words)


def test_ids_that_are_numbers_are_found_as_text(tmp_path):
    (tmp_path / "l.csv").write_text("\ufefflabel, id ,other\nx,2,\ny,0,\n\nx,1,\n", encoding="utf-8")
    data = Views.from_dict({"a": np.eye(3)})
    assert io.read_labels(str(tmp_path / "l.csv"), data, tmp_path).values.tolist() == ["y", "x", "x"]


NEW = [
    ({"view_magic": np.ones((2, 3))}, ["none of the views ['magic'] is one of the model's", "'pixels'"]),
    ({"view_pixels": np.ones((2, 3))}, ["view 'pixels' has 3 features but had 64 in training"]),
    ({"view_pixels": np.array([["red"]])}, ["view 'pixels'"]),
    ({"view_pixels": np.full((2, 64), np.inf)}, ["infinite"]),
]


@pytest.mark.parametrize(("arrays", "words"), NEW, ids=[w[0][:40] for _, w in NEW])
def test_new_samples_unlike_the_training_samples_are_refused(folder, tmp_path, arrays, words):
    np.savez(tmp_path / "n.npz", **arrays)
    result = run("predict", folder / "model.npz", "n.npz", "-o", "p.csv", cwd=tmp_path)
    refused(result, "n.npz", *words)
    assert not (tmp_path / "p.csv").exists()


def test_markup_and_commas_in_names_and_ids_survive(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    ids = np.array([f'[red]"{i}",' for i in range(30)])
    views = Views.from_dict({"[bold]a": X, "b,c": X}, ids=ids)
    labels = np.where(X[:, 0] > 0, "[u]x", 'y,"')
    io.write(tmp_path / "t.npz", views, y=labels)
    result = run(
        "fit", "t.npz", "--labels", "y", "-o", "m.npz", "--method", "amkl-convex", "--C", 1, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "[bold]a" in result.stdout
    assert run("predict", "m.npz", "t.npz", "-o", "p.csv", cwd=tmp_path).returncode == 0
    rows = table(tmp_path / "p.csv")
    assert [row["id"] for row in rows] == ids.tolist()
    assert {row["predicted"] for row in rows} == {"[u]x", 'y,"'}
    assert "view=b,c" in rows[0]
    assert 'probability=y,"' in rows[0]


@pytest.mark.parametrize(
    ("method", "flags", "words"),
    [
        pytest.param(
            "forest", ["--trees", "20"], "forest: 100 samples, 6 views, 3 classes\n", marks=pytest.mark.slow
        ),
        pytest.param("linear", [], "C = ", marks=pytest.mark.slow),
        ("linear", ["--C", "0.01", "--no-report"], "C = 0.01 (given)"),
    ],
)
def test_models_on_joined_features_are_fitted_and_applied(folder, tmp_path, method, flags, words):
    model, out = tmp_path / "m.absentia", tmp_path / "p.csv"
    call = ["fit", folder / "train.npz", "--labels", folder / "labels.csv", "--method", method, "-o", model]
    result = run(*call, *flags)
    assert result.returncode == 0, result.stderr
    assert words in result.stdout
    result = run("predict", model, folder / "new.npz", "-o", out)
    assert result.returncode == 0, result.stderr
    rows = table(out)
    truth = np.array(["zero", "one", "two"])[np.load(folder / "truth.npy")]
    assert np.mean([row["predicted"] == word for row, word in zip(rows, truth, strict=True)]) > 0.8
    sums = [sum(float(row[f"probability={word}"]) for word in ("zero", "one", "two")) for row in rows]
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_a_price_is_refused_where_there_is_none(folder, tmp_path):
    call = [
        "fit",
        folder / "train.npz",
        "--labels",
        folder / "labels.csv",
        "--method",
        "forest",
        "--C",
        "1",
    ]
    refused(run(*call, "-o", tmp_path / "m.absentia"), "--C does not apply to method 'forest'")


@pytest.mark.slow
def test_by_default_several_methods_are_tried_and_used_together(folder, tmp_path, monkeypatch):
    from absentia.methods.prediction import LIBRARY

    monkeypatch.setitem(LIBRARY["classifier"], "features", ("cvkt-linear", "linear"))
    command = ["fit", "train.npz", "--labels", "labels.csv", "-o", tmp_path / "m.absentia", "--no-report"]
    result = run(*command, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "\nauto: " in "\n" + result.stdout
    assert "used: " in result.stdout
    assert "\ncvkt-linear " in result.stdout
    model = models.load(tmp_path / "m.absentia")
    assert set(model.classifier.candidates_) == {"cvkt-linear", "linear"}
    assert (
        run("predict", tmp_path / "m.absentia", "new.npz", "-o", tmp_path / "p.csv", cwd=folder).returncode
        == 0
    )
    rows = table(tmp_path / "p.csv")
    assert [row["predicted"] for row in rows] == model.predict(io.read(folder / "new.npz")).tolist()


def test_a_page_of_very_many_samples_says_what_was_learned_from_and_what_was_judged_on(
    tmp_path, monkeypatch
):
    from absentia.tasks import Classification

    monkeypatch.setattr(Classification, "max_validated", 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    np.savez(tmp_path / "d.npz", view_a=X[:, :2], view_b=X[:, 2:], y=np.where(X[:, 0] > 0, "u", "v"))
    done = run("fit", tmp_path / "d.npz", "--labels", "y", "-o", tmp_path / "m.npz", "--method", "average")
    assert done.returncode == 0, done.stderr
    assert "judged on 30 of the 60 samples" in done.stdout.replace("\n", " ")
    page = (tmp_path / "m.html").read_text()
    assert "judged on 30 of the 60 samples" in page
    assert "samples learned from, of 60" in page
    assert ">60<" in page.split("samples learned from")[0][-120:]


def test_what_counts_is_the_users_choice(folder, tmp_path):
    """Costs of mistakes go into the model, its page, and what predict writes; scores are named."""
    costs, model, out = tmp_path / "costs.csv", tmp_path / "m.absentia", tmp_path / "p.csv"
    costs.write_text(",two,zero,one\nzero,1000,0,1000\none,1,1,0\ntwo,0,1,1\n")
    start = ("fit", "train.npz", "--labels", "labels.csv", "-o", model, "--method", "linear", "--force")
    done = run(*start, "--costs", costs, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cross-validated +cost +balanced accuracy +95% interval +accuracy", done.stdout)
    assert "class of least cost" in done.stdout
    page = model.with_suffix(".html").read_text()
    assert "cost, cross-validated, with linear" in page
    assert "least expected cost (one taken for two 1, one taken for zero 1, two taken for one 1" in page
    said = run("predict", model, "new.npz", "-o", out, cwd=folder)
    assert "the class is that with the least expected cost (one taken for two 1" in said.stdout
    rows = table(out)
    names = ["one", "two", "zero"]
    proba = np.array([[float(row[f"probability={name}"]) for name in names] for row in rows])
    expected = proba @ [[0, 1, 1], [1, 0, 1], [1000, 1000, 0]]
    assert [row["predicted"] for row in rows] == [names[k] for k in expected.argmin(axis=1)]
    other = np.array(names)[proba.argmax(axis=1)] != [row["predicted"] for row in rows]
    assert [row["flag"].startswith("by least expected cost") for row in rows] == other.tolist()
    assert other.any()
    done = run(*start, "--score", "log-loss", "--no-report", cwd=folder)
    assert models.load(model).classifier.decision_.shape == (3,)
    refused(run(*start, "--score", "cost", cwd=folder), "cost wants --costs")
    refused(run(*start, "--score", "auc", "--no-probability", cwd=folder), "AUC wants probabilities")
    costs.write_text(",zero,one\nzero,0,1\none,1,0\n")
    refused(run(*start, "--costs", costs, cwd=folder), str(costs), "no row of class 'two'", "'zero', 'one'")
    number = ("fit", "train.npz", "--labels", "digit", "-o", model, "--method", "ridge", "--force")
    refused(run(*number, "--score", "accuracy", cwd=folder), "--score and --costs are of classes")


def test_how_long_it_takes_is_said_before_the_fit_and_of_judging_once_it_is_there(
    folder, tmp_path, monkeypatch
):
    command = ("fit", "train.npz", "--labels", "labels.csv", "--method", "linear", "-o")
    quick = run(*command, tmp_path / "quick.npz", cwd=folder).stderr
    assert "judg" not in quick
    assert "about" not in quick
    times = iter(range(0, 10**6, 60))  # every look at the clock is a minute after the one before
    monkeypatch.setattr(_progress, "_clock", lambda: float(next(times)))
    said = run(*command, tmp_path / "slow.npz", cwd=folder).stderr
    before, after = said.split("fitted; ")
    assert re.search(
        r"linear: about [\d.]+ min for 100 samples, and [\d.]+ min to judge it in folds", before
    )
    assert re.search(r"judging it in folds beside baselines takes about \d+ min more", after)
    said = run(*command, tmp_path / "alone.npz", "--no-report", cwd=folder).stderr
    assert re.search(r"linear: about [\d.]+ min for 100 samples\n", said)


def test_a_model_without_rows_predicts_and_says_what_it_holds(folder, tmp_path):
    shared, new = tmp_path / "shared.absentia", folder / "new.npz"
    fit = ["fit", "train.npz", "--labels", "labels.csv", "-o", shared, "--no-report"]
    result = run(*fit, "--no-rows", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "the model holds of training samples no id, feature row or other number" in result.stdout
    assert not any(models.describe(shared)["holds"].values())
    train = io.read(folder / "train.npz")
    assert not set(map(str, train.ids)) & set(map(str, models.load(shared).classifier.ids_))
    assert not hasattr(
        models.load(shared).classifier, "training_summary_"
    )  # least and largest are of samples
    said = run("predict", shared, new, "-o", tmp_path / "p.csv", "--json", cwd=folder)
    assert json.loads(said.stdout)["shift"] is None
    truth = np.array(["zero", "one", "two"])[np.load(folder / "truth.npy")]
    assert (
        np.mean([row["predicted"] == t for row, t in zip(table(tmp_path / "p.csv"), truth, strict=True)])
        > 0.9
    )
    said = run("inspect", shared, cwd=folder).stdout
    assert "no id, feature row or other number, but sums over them" in said
    said = run("inspect", "model.npz", cwd=folder).stdout
    assert re.search(r"personal data +of training samples: ids \(\d+\), .*feature rows \(\d+\)", said)
    result = run("predict", shared, new, "-o", tmp_path / "q.csv", "--coverage", "0.9", cwd=folder)
    assert result.returncode == 2


def test_rows_that_a_method_needs_are_not_left_out(folder, tmp_path):
    fit = ["fit", "train.npz", "--labels", "labels.csv", "-o", tmp_path / "m.absentia", "--no-rows"]
    refused(run(*fit, "--method", "forest", "--no-report", cwd=folder), "leaves may hold one")
    refused(run(*fit, "--method", "amkl-convex", "--no-report", cwd=folder), "compares new samples")
    refused(run(*fit, "--coverage", "0.9", cwd=folder), "which --no-rows leaves out")
    assert not (tmp_path / "m.absentia").exists()
