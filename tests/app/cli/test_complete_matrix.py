"""``absentia complete --method pma``, from files to files."""

import csv
import html

import numpy as np
import pytest
from sklearn.metrics import root_mean_squared_error

from absentia import PMAImputer, io
from absentia.app.cli import _completing
from absentia.methods.matrix import _imputer, hold_out
from conftest import random_problem
from helpers.command_line import refused, run, run_process

PMA = ["--method", "pma"]


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def gappy(n=40, m=5, missing=0.2, seed=0):
    """A matrix of few factors in columns of very different units: whole, and with entries missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.2 * rng.standard_normal((n, m))
    X = 100 + X * 10.0 ** np.arange(m)
    return X, np.where(rng.random(X.shape) < missing, np.nan, X)


def write_table(path, X, ids=None, names=None, missing=("", "NA", "NaN", " nan ")):
    ids = [f"r{i}" for i in range(len(X))] if ids is None else ids
    names = [f"c{j}" for j in range(X.shape[1])] if names is None else names
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", *names])
        for i, (name, row) in enumerate(zip(ids, X.tolist(), strict=True)):
            writer.writerow([name, *(missing[i % len(missing)] if x != x else repr(x) for x in row)])


def read_numbers(path):
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    return (
        lines[0],
        [line[0] for line in lines[1:]],
        np.array([line[1:] for line in lines[1:]], dtype=float),
    )


# ------------------------------------------------------------------------------------------ end to end


def test_a_coverage_adds_tables_of_lower_and_upper_ends(tmp_path):
    truth, X = gappy()
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--coverage", 0.8, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "80 % of completed values within ±" in result.stdout
    assert "o.low.csv" in result.stdout
    header, ids, done = read_numbers(tmp_path / "o.csv")
    ends = [read_numbers(tmp_path / f"o.{end}.csv") for end in ("low", "high")]
    assert all(end[:2] == (header, ids) for end in ends)
    (_, _, low), (_, _, high) = ends
    seen = ~np.isnan(X)
    for end in (low, high):
        np.testing.assert_array_equal(end[seen], X[seen])
    assert (low < done)[~seen].all()
    assert (done < high)[~seen].all()
    assert 0.65 < ((low <= truth) & (truth <= high))[~seen].mean() < 0.95
    again = ("complete", "t.csv", "-o", "o.csv", *PMA, "--coverage", 0.9)
    refused(run(*again, cwd=tmp_path), "o.csv: is there already, and absentia did not write it")
    assert run(*again, "--force", cwd=tmp_path).returncode == 0
    assert (read_numbers(tmp_path / "o.low.csv")[2] <= low).all()
    (tmp_path / "o.high.csv").write_text("mine")
    refused(
        run("complete", "t.csv", "-o", "o.csv", *PMA, "--coverage", 0.8, cwd=tmp_path), "is there already"
    )
    command = ("complete", "t.csv", "-o", "o.npz", *PMA, "--coverage", 0.8)
    assert run(*command, "--report", "r.html", cwd=tmp_path).returncode == 0
    written = np.load(tmp_path / "o.npz")
    np.testing.assert_allclose(written["low"], low, rtol=1e-9)
    np.testing.assert_allclose(written["high"], high, rtol=1e-9)
    assert "80 % of completed values within ±" in (tmp_path / "r.html").read_text()


def test_a_table_is_completed_better_than_by_column_means_and_keeps_what_was_observed(tmp_path):
    truth, X = gappy()
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "40 rows, 5 columns" in result.stdout
    assert "o.std.csv" in result.stdout
    header, ids, done = read_numbers(tmp_path / "o.csv")
    assert header == ["who", "c0", "c1", "c2", "c3", "c4"]
    assert ids[:2] == ["r0", "r1"]
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(done[seen], X[seen])
    unit = np.nanstd(X, axis=0)
    error = ((done - truth) / unit)[~seen]
    baseline = ((np.nanmean(X, axis=0) - truth) / unit)[~seen]
    assert (error**2).mean() < 0.5 * (baseline**2).mean()
    header, _, std = read_numbers(tmp_path / "o.std.csv")
    assert header[0] == "who"
    np.testing.assert_array_equal(std == 0, seen)
    assert np.mean(np.abs(error * unit[np.nonzero(~seen)[1]]) < 3 * std[~seen]) > 0.9
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.csv", "o.std.csv", "t.csv"]


def test_npz_in_npz_out_is_what_the_imputer_says(tmp_path):
    _, X = gappy(20, 4)
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((20, 20)), rng.standard_normal((4, 4))
    kernels = {"row_kernel": A @ A.T, "column_kernel": B @ B.T + np.eye(4)}
    np.savez(tmp_path / "m.npz", X=X, row_ids=np.arange(20), **kernels)
    result = run("complete", "m.npz", "-o", "o.npz", *PMA, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    imputer = PMAImputer(row_kernel=kernels["row_kernel"], col_kernel=kernels["column_kernel"]).fit(X)
    expected, std = imputer.predict(return_std=True)
    with np.load(tmp_path / "o.npz", allow_pickle=False) as file:
        np.testing.assert_allclose(file["X"], expected, rtol=1e-10)
        np.testing.assert_allclose(file["std"], std, rtol=1e-8)
        np.testing.assert_array_equal(file["observed"], ~np.isnan(X))
        np.testing.assert_array_equal(file["row_ids"], np.arange(20))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.2, 0.5])
def test_the_command_and_the_imputer_give_the_same_numbers(tmp_path, missing):
    _, X = gappy(60, 6, missing)
    np.savez(tmp_path / "m.npz", X=X)
    result = run("complete", "m.npz", "-o", "o.npz", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    imputer = PMAImputer()
    with np.load(tmp_path / "o.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["X"], imputer.fit_transform(X))
        np.testing.assert_array_equal(file["std"], imputer.predict(return_std=True)[1])
    assert f"row kernel {imputer.rows_}" in result.stdout
    assert "RMSE {:.3f}, of column means {:.3f}".format(*hold_out(imputer, X).errors()) in result.stdout
    assert f"{imputer.rows_}" in html.unescape((tmp_path / "r.html").read_text())


@pytest.mark.slow
def test_a_column_kernel_alone_is_used_in_the_units_of_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 2)) * 10
    truth = rng.standard_normal((40, 2)) @ A.T + 0.1 * rng.standard_normal((40, 5))
    X = np.where(rng.random(truth.shape) < 0.2, np.nan, truth)
    np.savez(tmp_path / "m.npz", X=X, column_kernel=A @ A.T + 0.01 * np.eye(5))
    result = run("complete", "m.npz", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    header, _, done = read_numbers(tmp_path / "o.csv")
    assert header == ["id", "0", "1", "2", "3", "4"]
    hidden = np.isnan(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    assert root_mean_squared_error(truth[hidden], done[hidden]) < 0.3 * root_mean_squared_error(
        truth[hidden], means[hidden]
    )
    assert "columns shrunk to the given kernel" in (tmp_path / "r.html").read_text()


def test_a_smooth_row_kernel_of_low_numerical_rank_keeps_its_part(tmp_path):
    rng = np.random.default_rng(0)
    t = np.arange(150) / 40
    K = np.exp(-((t[:, None] - t) ** 2) / 2)
    X = np.linalg.cholesky(K + 1e-9 * np.eye(150)) @ rng.standard_normal((150, 8))
    X = X + 0.5 * rng.standard_normal((150, 3)) @ rng.standard_normal((3, 8))
    X = X + 0.3 * rng.standard_normal(X.shape)
    gaps = np.where(rng.random(X.shape) < 0.04, np.nan, X)
    np.savez(tmp_path / "t.npz", X=gaps, row_kernel=K)
    assert run("complete", "t.npz", "-o", "o.npz", *PMA, cwd=tmp_path).returncode == 0
    done = io.read_arrays(tmp_path / "o.npz")["X"]
    assert root_mean_squared_error(X[np.isnan(gaps)], done[np.isnan(gaps)]) < 0.5
    imputer = PMAImputer(row_kernel=K).fit(gaps)
    assert imputer.model_.rows.diagonal().mean() > 0


def test_the_report_judges_on_hidden_entries(tmp_path):
    write_table(tmp_path / "t.csv", gappy(60)[1])
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    for words in ("t.csv, completed", "column mean", "row kernel", "sign test"):
        assert words in page
    own, mean = (
        float(w) for w in result.stdout.split("RMSE ")[-1].split(" (in")[0].split(", of column means ")
    )
    assert own < mean


def test_nothing_missing_is_copied_through(tmp_path):
    X, _ = gappy(12, 3)
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "nothing is missing" in result.stderr
    np.testing.assert_array_equal(read_numbers(tmp_path / "o.csv")[2], X)
    assert (read_numbers(tmp_path / "o.std.csv")[2] == 0).all()
    page = (tmp_path / "r.html").read_text()
    assert "Nothing was missing" in page
    assert 'id="check"' not in page


def test_a_row_with_nothing_observed_is_predicted_and_said_from_what(tmp_path):
    _, X = gappy(20, 4)
    X[3] = np.nan
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "1 row(s) have nothing observed, e.g. 'r3': predicted from the columns' means" in result.stderr
    done = read_numbers(tmp_path / "o.csv")[2]
    np.testing.assert_allclose(done[3], np.nanmean(X, axis=0), rtol=1e-2)
    t = np.arange(20.0)
    K = np.exp(-((t[:, None] - t) ** 2) / 20)
    Y = np.column_stack([np.sin(t / 4), np.cos(t / 4), np.sin(t / 4 + 1)])
    gaps = Y.copy()
    gaps[5] = np.nan
    np.savez(tmp_path / "m.npz", X=gaps, row_kernel=K)
    result = run("complete", "m.npz", "-o", "o.npz", *PMA, cwd=tmp_path)
    assert "e.g. 5: predicted from the row kernel" in result.stderr
    np.testing.assert_allclose(np.load(tmp_path / "o.npz")["X"][5], Y[5], atol=0.1)


def test_a_column_that_never_varies_is_warned_of(tmp_path):
    _, X = gappy(30, 4)
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 7.0)
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, cwd=tmp_path)
    assert "1 column(s) have the same value wherever observed, e.g. 'c2'" in result.stderr
    np.testing.assert_allclose(read_numbers(tmp_path / "o.csv")[2][:, 2], 7.0, atol=0.5)


def test_more_rows_than_a_kernel_can_be_estimated_for_are_taken_as_unrelated(tmp_path, monkeypatch):
    monkeypatch.setattr(_imputer, "MAX_DENSE_ROWS", 30)
    write_table(tmp_path / "t.csv", gappy()[1])
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "40 rows are too many" in result.stderr


def test_too_few_entries_for_a_check_are_said(tmp_path):
    _, X = gappy(6, 3)
    X[0, 0] = np.nan
    write_table(tmp_path / "t.csv", X)
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "too few to check" in result.stderr
    assert 'id="check"' not in (tmp_path / "r.html").read_text()


@pytest.mark.slow
def test_it_works_as_a_person_runs_it(tmp_path):
    write_table(tmp_path / "t.csv", gappy(20, 3)[1])
    result = run_process("complete", "t.csv", "-o", "o.csv", *PMA, "--threads", 1, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "completed matrix: o.csv" in result.stdout


def test_pma_is_listed_with_when_to_use_it():
    assert "\npma " in run("complete", "--list").stdout
    assert "pma" not in run("fit", "--list").stdout
    assert "pma" in run("complete", "--help").stdout


def test_not_converging_is_a_warning_not_a_failure(tmp_path):
    write_table(tmp_path / "t.csv", gappy()[1])
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--max-iter", 2, cwd=tmp_path)
    assert result.returncode == 0
    assert "reached max_iter" in result.stderr


def test_an_interrupt_writes_nothing(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_completing, "hold_out", interrupted)
    write_table(tmp_path / "t.csv", gappy()[1])
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path)
    assert result.returncode == 130
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_report_that_cannot_be_made_keeps_everything_from_being_written(tmp_path, monkeypatch):
    from absentia.app.report import completion

    def fail(_):
        raise ValueError("no ink")

    monkeypatch.setattr(completion, "render_matrix", fail)
    write_table(tmp_path / "t.csv", gappy()[1])
    refused(run("complete", "t.csv", "-o", "o.csv", *PMA, "--report", "r.html", cwd=tmp_path), "no ink")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_names_with_commas_quotes_and_byte_order_marks_survive(tmp_path):
    _, X = gappy(10, 2)
    ids = ['a "b", c', "ä"] + [f"r{i}" for i in range(8)]
    write_table(tmp_path / "t.csv", X, ids, ["x,y", "[bold]z[/]"])
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "t.csv").read_bytes())
    result = run("complete", "t.csv", "-o", "o.csv", *PMA, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    header, found, _ = read_numbers(tmp_path / "o.csv")
    assert header == ["who", "x,y", "[bold]z[/]"]
    assert found == ids


# ------------------------------------------------------------------------------------------- bad input


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrix")
    _, X = gappy(12, 3)
    write_table(folder / "t.csv", X)
    np.savez(folder / "m.npz", X=X)
    io.write(folder / "k.npz", random_problem(10, 2))
    np.savez(folder / "v.npz", view_a=np.ones((4, 2)))
    return folder


TABLE = ["complete", "t.csv", "-o", "o.csv", *PMA]
BAD = [
    (["complete", "t.csv", "-o", "o.csv"], ["one matrix", "cvkt", "--method pma"]),
    (["complete", "m.npz", "-o", "o.npz", "--method", "mean"], ["one matrix", "mean", "--method pma"]),
    (["complete", "k.npz", "-o", "o.npz", *PMA], ["k.npz: holds views", "another --method", "as X"]),
    (["complete", "v.npz", "-o", "o.npz", *PMA], ["v.npz: holds views", "another --method"]),
    (["complete", "k.npz", "-o", "o.npz", "--method", "magic"], ["no method 'magic'", "mkmc-pca"]),
    (["complete", "t.csv", *PMA], ["-o"]),
    (["complete", "gone.csv", "-o", "o.csv", *PMA], ["gone.csv: no such file"]),
    (["complete", "gone.npz", "-o", "o.npz", *PMA], ["gone.npz: no such file"]),
    (["complete", "gone.xlsx", "-o", "o.npz", *PMA], ["gone.xlsx: a matrix is a .csv or an .npz file"]),
    (["complete", "t.csv", "-o", "o.txt", *PMA], ["o.txt", ".csv or an .npz"]),
    (["complete", "t.csv", "-o", "t.csv", *PMA], ["different files"]),
    (["complete", "t.csv", "-o", "nowhere/o.csv", *PMA], ["nowhere", "does not exist"]),
    ([*TABLE, "--report", "o.std.csv"], ["different files"]),
    ([*TABLE, "--report", "."], ["is a folder"]),
    ([*TABLE, "--components", "3"], ["--components does not apply to method 'pma'"]),
    ([*TABLE, "--kernel", "rbf"], ["--kernel does not apply to method 'pma'"]),
    ([*TABLE, "--repair", "clip"], ["--repair does not apply to method 'pma'"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(a)[-40:] for a, _ in BAD])
def test_bad_usage_gets_one_sentence_and_exit_code_2(folder, arguments, words):
    before = sorted(folder.iterdir())
    refused(run(*arguments, cwd=folder), *words)
    assert sorted(folder.iterdir()) == before


TABLES = [
    ("", ["the file is empty"]),
    ("id:a:b\nr:1:2\n", ["one field", "commas"]),
    (
        "id,a,b\nr,1,2\ns,1,high\nt,1,2\n",
        ["column 'b' ('high' in line 3) holds texts where numbers are wanted"],
    ),
    (
        "id,a,b\nr,1,2\ns,1,1_0\nt,1,2\n",
        ["column 'b' ('1_0' in line 3) holds texts where numbers are wanted"],
    ),
    ("id,a,b\nr,1,2\ns,inf,2\nt,,2\n", ["row 's', column 'a'", "infinite"]),
    ("id,a,b\nr,1,2\ns,1,-1e999\nt,,2\n", ["row 's', column 'b'", "too large"]),
    ("id,a,b\nr,1,2\nr,1,\nt,1,2\n", ["1 row id(s) appear more than once, e.g. 'r'"]),
    ("id,a,a\nr,1,2\ns,1,\nt,1,2\n", ["1 column name(s) appear more than once, e.g. 'a'"]),
    ("id,a,b\nr,1,\ns,2,NA\nt,1,nan\n", ["1 column(s) have nothing observed, e.g. 'b'"]),
    ("id,a,b\nr,1,\ns,2,3\n", ["2 row(s) and 2 column(s)", "at least 3 rows"]),
    ("id,a\nr,1\ns,2\nt,\n", ["3 row(s) and 1 column(s)", "2 columns"]),
    ("id,a,b\n", ["0 row(s)"]),
    ("id,a\nr,1,2\ns,1,2\n", ["line 2 has 3 fields, line 1 has 2", "as many"]),
    ("id,a,b\nr,1,2\n\ns,1,2\nt,1\n", ["line 5 has 2 fields"]),
    ("id,a,b\nr,1,2\n,1,2\nt,1,3\n", ["line 3", "id, is empty"]),
    (b"\xff\xfe\x00a", ["one field"]),
    ('id,a,b\n"r,1,2\n', ["line 2 is not a line of a table"]),
]


@pytest.mark.parametrize(("content", "words"), TABLES, ids=[w[0][:30] for _, w in TABLES])
def test_bad_tables_get_one_sentence_and_exit_code_2(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    refused(run(*TABLE, cwd=tmp_path), "t.csv: ", *words)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


GOOD = gappy(6, 3, missing=0)[0]
INFINITE, EMPTY = GOOD.copy(), GOOD.copy()
INFINITE[2, 1] = -np.inf
EMPTY[:, 1] = np.nan
ARRAYS = [
    ({"Y": GOOD}, ["holds no matrix X", "Y"]),
    ({"X": GOOD[0]}, ["X has shape (3,)"]),
    ({"X": GOOD.astype(str)}, ["numbers are wanted"]),
    ({"X": GOOD + 1j}, ["numbers are wanted"]),
    ({"X": np.array([[print]], dtype=object)}, ["pickled Python objects"]),
    ({"X": INFINITE}, ["row 2, column 1", "infinite"]),
    ({"X": EMPTY, "column_names": ["a", "b", "c"]}, ["nothing observed, e.g. 'b'"]),
    ({"X": GOOD[:2]}, ["2 row(s)"]),
    ({"X": GOOD, "row_ids": list("aabcde")}, ["row id(s)", "'a'"]),
    ({"X": GOOD, "row_ids": list("ab")}, ["row_ids", "6 rows"]),
    ({"X": GOOD, "column_names": [1.0, 2.0, 3.0]}, ["column_names", "texts or whole numbers"]),
    ({"X": GOOD, "row_kernel": np.eye(3)}, ["row_kernel has shape (3, 3); (6, 6) is wanted"]),
    ({"X": GOOD, "column_kernel": np.eye(6)}, ["column_kernel has shape (6, 6); (3, 3) is wanted"]),
    ({"X": GOOD, "column_kernel": np.diag([1, 1, -1])}, ["column_kernel is not positive semidefinite"]),
    ({"X": GOOD, "column_kernel": np.zeros((3, 3))}, ["column_kernel is not positive semidefinite"]),
    ({"X": GOOD, "column_kernel": np.triu(np.ones((3, 3)))}, ["column_kernel is not symmetric"]),
    ({"X": GOOD, "column_kernel": np.full((3, 3), np.nan)}, ["column_kernel holds infinite or missing"]),
]


@pytest.mark.parametrize(("arrays", "words"), ARRAYS, ids=[w[0][:40] for _, w in ARRAYS])
def test_bad_arrays_get_one_sentence_and_exit_code_2(tmp_path, arrays, words):
    np.savez(tmp_path / "m.npz", **arrays)
    refused(run("complete", "m.npz", "-o", "o.npz", *PMA, cwd=tmp_path), "m.npz: ", *words)
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_damaged_archives_get_one_sentence_and_exit_code_2(tmp_path):
    np.savez_compressed(tmp_path / "m.npz", X=gappy(40, 5)[1])
    whole = (tmp_path / "m.npz").read_bytes()
    for content in (b"", b"no archive", whole[:200], whole[:100] + b"\0" * 50 + whole[150:]):
        (tmp_path / "m.npz").write_bytes(content)
        refused(run("complete", "m.npz", "-o", "o.npz", *PMA, cwd=tmp_path), "m.npz: ")
        assert not io.holds_matrix(tmp_path / "m.npz") or content.startswith(b"PK")
