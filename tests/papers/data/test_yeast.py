"""Kernels and labels of proteins are put together by name, and whatever is wrong is said."""

import gzip

import numpy as np
import pytest

from absentia.data import AbsenceWarning
from absentia.files import FileError
from absentia.papers import load_yeast_kernels

GENES = ["YAL001C", "YAL002W", "YBR003W", "YCL004C"]


@pytest.fixture
def kernel(rng):
    X = rng.standard_normal((4, 3))
    return X @ X.T


def text(names, K, columns=None, corner="kernel\t"):
    columns = names if columns is None else columns
    lines = ["\t".join([name, *map(repr, map(float, row))]) for name, row in zip(names, K, strict=True)]
    return "\n".join([corner + "\t".join(columns), *lines]) + "\n"


def labels(names, Y, head="gene\tmetabolism\tenergy"):
    lines = ["\t".join([name, *row]) for name, row in zip(names, Y, strict=True)]
    return "\n".join([head, *lines] if head else lines) + "\n"


ALL = labels(GENES, [("+1", "-1"), ("-1", "-1"), ("1", "1"), ("-1", "1")])


@pytest.fixture
def folder(tmp_path, kernel):
    """One kernel whole, one packed, of some proteins in another order, with columns in yet another."""
    some, columns = [3, 0, 2], [0, 2, 3]
    part = 2 * kernel[np.ix_(some, columns)]
    (tmp_path / "kernel_matrix_tap_n_3588.txt").write_text(text(GENES, kernel))
    written = text([GENES[k] for k in some], part, [GENES[k] for k in columns])
    (tmp_path / "kernel_matrix_sw_cn_3588.txt.gz").write_bytes(gzip.compress(written.encode()))
    (tmp_path / "labels.txt").write_text(ALL)
    return tmp_path


def test_everything_goes_by_name(folder, kernel):
    data = load_yeast_kernels(folder)
    assert data.kernels.names == ("sw", "tap")
    ids = data.kernels.ids.tolist()
    order = [GENES.index(x) for x in ids]
    assert sorted(ids) == GENES
    np.testing.assert_array_equal(data.kernels.observed[:, 0], [x != "YAL002W" for x in ids])
    assert data.kernels.observed[:, 1].all()
    dense = data.kernels.to_dense()
    np.testing.assert_array_equal(dense[1], kernel[np.ix_(order, order)])
    seen = [k for k, x in enumerate(ids) if x != "YAL002W"]
    own = [order[k] for k in seen]
    np.testing.assert_array_equal(dense[0][np.ix_(seen, seen)], 2 * kernel[np.ix_(own, own)])
    wanted = np.array([[1, -1], [-1, -1], [1, 1], [-1, 1]])
    np.testing.assert_array_equal(data.target, wanted[order])
    assert data.extra["label_names"].tolist() == ["metabolism", "energy"]
    assert "4 proteins of yeast, 2 kernels, 2 functions" in data.DESCR


def test_kernels_and_labels_may_be_named(folder):
    (folder / "notes.txt").write_text("not a kernel\n")
    (folder / "labels.txt").rename(folder / "mips.txt")
    data = load_yeast_kernels(folder, labels="mips.txt", kernels={"TAP": "kernel_matrix_tap_n_3588.txt"})
    assert data.kernels.names == ("TAP",)
    assert data.kernels.ids.tolist() == GENES


@pytest.mark.parametrize("corner", ["", "\t", "names \t"])
def test_the_corner_may_be_anything_or_missing(folder, kernel, corner):
    (folder / "kernel_matrix_tap_n_3588.txt").write_text(text(GENES, kernel, corner=corner))
    np.testing.assert_array_equal(
        load_yeast_kernels(folder, kernels={"tap": "kernel_matrix_tap_n_3588.txt"}).kernels.block("tap"),
        kernel,
    )


def test_spaces_and_tabs_at_the_end_will_do(folder, kernel):
    written = text(GENES, kernel)
    names = {"a": "a.txt", "b": "b.txt"}
    (folder / "a.txt").write_text(written.replace("\t", "  "))
    (folder / "b.txt").write_text(written.replace("\n", "\t\r\n"))
    data = load_yeast_kernels(folder, kernels=names)
    for name in names:
        np.testing.assert_array_equal(data.kernels.block(name), kernel)


def test_labels_may_be_zeros_unknown_or_without_a_head(folder):
    place = folder / "labels.txt"
    rows = [("1", "0"), ("0", "0"), ("1", "NA"), ("0", "")]
    place.write_text(labels(GENES, rows, head=None))
    data = load_yeast_kernels(folder, kernels={"tap": "kernel_matrix_tap_n_3588.txt"})
    np.testing.assert_array_equal(data.target, [[1, -1], [-1, -1], [1, np.nan], [-1, np.nan]])
    assert data.extra["label_names"].tolist() == ["class1", "class2"]
    place.write_text(labels(GENES, [("1", "0"), ("-1", "0"), ("1", "1"), ("0", "1")]))
    data = load_yeast_kernels(folder, kernels={"tap": "kernel_matrix_tap_n_3588.txt"})
    np.testing.assert_array_equal(data.target, [[1, np.nan], [-1, np.nan], [1, 1], [np.nan, 1]])


def test_proteins_without_labels_and_labels_without_proteins_are_counted(folder):
    (folder / "labels.txt").write_text(labels([*GENES[:2], "Q0010"], [("1", "1")] * 3))
    with pytest.warns(AbsenceWarning) as warned:
        data = load_yeast_kernels(folder, kernels={"tap": "kernel_matrix_tap_n_3588.txt"})
    said = " ".join(str(one.message) for one in warned)
    assert "2 of 4 proteins have no labels, e.g. 'YBR003W': they are NaN" in said
    assert "1 protein(s) with labels are in no kernel" in said
    np.testing.assert_array_equal(np.isnan(data.target), [[False] * 2] * 2 + [[True] * 2] * 2)


def test_labels_of_other_proteins_are_refused(folder):
    (folder / "labels.txt").write_text(labels(["Q1", "Q2"], [("1", "1")] * 2))
    with pytest.raises(
        FileError, match=r"labels\.txt: names none of the proteins of the kernels: it has 'Q1'"
    ):
        load_yeast_kernels(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[: t.rindex("YCL004C")], "is not square: 3 lines for 4 columns"),
        (lambda t: t + t.splitlines()[1] + "\n", "is not square: 5 lines for 4 columns"),
        (lambda t: t.replace("YAL002W", "YAL001C"), "'YAL001C' is the name of more than one line"),
        (lambda t: t.replace("\tYAL002W", "\tYAL001C", 1), "'YAL001C' is the name of more than one column"),
        (lambda t: t.replace("\tYAL002W", "\tYXX", 1), "the line 'YAL002W' has no column"),
        (lambda t: t.rstrip("\n").rpartition("\t")[0] + "\n", "the line 'YCL004C' has too few values"),
        (
            lambda t: t.rstrip("\n").rpartition("\t")[0] + "\tabc\n",
            "the line 'YCL004C' has .* something that is no number",
        ),
        (lambda t: t.splitlines()[0] + "\n", "holds no kernel"),
        (lambda t: "", "holds no kernel"),
    ],
)
def test_what_is_no_kernel_is_refused_with_its_file(folder, kernel, change, said):
    place = folder / "kernel_matrix_tap_n_3588.txt"
    place.write_text(change(text(GENES, kernel)))
    with pytest.raises(FileError, match=rf"kernel_matrix_tap_n_3588\.txt: {said}"):
        load_yeast_kernels(folder)


def test_an_asymmetric_kernel_is_refused_by_name(folder, kernel):
    kernel[1, 2] += 1
    (folder / "kernel_matrix_tap_n_3588.txt").write_text(text(GENES, kernel))
    with pytest.raises(
        FileError, match=r"view 'tap': kernel is not symmetric: k\('Y(AL002|BR003)W', 'Y(AL002|BR003)W'\)"
    ):
        load_yeast_kernels(folder)


def test_a_gap_in_a_kernel_is_refused(folder, kernel):
    kernel[1, 2] = kernel[2, 1] = np.nan
    (folder / "kernel_matrix_tap_n_3588.txt").write_text(text(GENES, kernel))
    with pytest.raises(
        FileError, match=r"tap_n_3588\.txt: the line 'YAL002W' has too few values, or something"
    ):
        load_yeast_kernels(folder)


def test_a_packed_file_that_was_cut_is_refused(folder):
    place = folder / "kernel_matrix_sw_cn_3588.txt.gz"
    place.write_bytes(place.read_bytes()[:-20])
    with pytest.raises(FileError, match=r"sw_cn_3588\.txt\.gz: damaged file"):
        load_yeast_kernels(folder)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (labels(GENES, [("1", "2")] * 4), "'YAL001C' has the label '2'; \\+1 or -1 is wanted"),
        (labels([*GENES[:3], GENES[0]], [("1", "1")] * 4), "'YAL001C' is the name of more than one line"),
        ("1\t-1\n-1\t1\n", "has no names of proteins in its first column"),
        (ALL.replace("-1\t1\n", "1\n"), "'YAL001C' has 2 labels for"),
        ("", "the file is empty"),
        ("gene\tenergy\n", "holds no labels"),
    ],
)
def test_what_is_no_table_of_labels_is_refused(folder, rows, said):
    (folder / "labels.txt").write_text(rows)
    with pytest.raises(FileError, match=rf"labels\.txt: {said}"):
        load_yeast_kernels(folder)


def test_missing_and_doubtful_files_are_named(folder, tmp_path):
    (folder / "more_labels.txt").write_text(ALL)
    with pytest.raises(FileError, match=r"holds 2 tables of labels \(labels\.txt, more_labels\.txt\)"):
        load_yeast_kernels(folder)
    for name in ("labels.txt", "more_labels.txt"):
        (folder / name).unlink()
    with pytest.raises(
        FileError, match=r"holds no table of labels; .* called labels\.txt or given as labels="
    ):
        load_yeast_kernels(folder)
    with pytest.raises(FileError, match=r"gone\.txt: no such file"):
        load_yeast_kernels(folder, labels="gone.txt", kernels={"a": "kernel_matrix_tap_n_3588.txt"})
    with pytest.raises(FileError, match="no such folder"):
        load_yeast_kernels(tmp_path / "nowhere")
    with pytest.raises(FileError, match="holds no kernels"):
        load_yeast_kernels(folder, labels="labels.txt", kernels={})
