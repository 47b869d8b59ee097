"""Files as archives give them, small and made up, become views or kernels and a target."""

import numpy as np
import pytest
import scipy.io

from absentia.files import FileError
from absentia.papers import CATALOGUE, _loaders
from helpers.zip_files import packed


@pytest.fixture
def load(tmp_path):
    """Write files and load them as the catalogue does."""

    def loaded(name, *contents, only=None):
        files = [file.name for file in CATALOGUE[name].files]
        paths = {}
        for file, content in zip(files, contents, strict=True):
            path = tmp_path / file
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            paths[file] = path
        return CATALOGUE[name].loader(paths)

    return loaded


def test_two_classes_are_signs_whatever_an_archive_calls_them(load):
    for name, text in {
        "uci_heart": "70.0 1.0 4.0 2\n67.0 0.0 3.0 1\n",
        "uci_ionosphere": "70,1,4.0,g\n67,0,3,b\n",
        "uci_sonar": "70,1,4,M\n67,0,3,R\n",
        "uci_wdbc": "8510426,M,70,1,4\n8510427,B,67,0,3\n",
        "uci_spambase": "70,1,4,1\n67,0,3,0\n",
        "uci_musk1": "MUSK-jf78,jf78_1,70,1,4,1.\nNON-MUSK-j,j_2,67,0,3,0.\n",
    }.items():
        data = load(name, text)
        np.testing.assert_array_equal(data.views.block("x"), [[70, 1, 4], [67, 0, 3]], err_msg=name)
        assert data.target.tolist() == [1, -1], name
        assert data.extra == {}


def test_another_class_or_a_page_instead_is_refused_with_the_file(load):
    with pytest.raises(FileError, match=r"heart\.dat: class '3' is none of \['1', '2'\]"):
        load("uci_heart", "1 2 3\n")
    with pytest.raises(FileError, match=r"sonar\.all-data: class '<html>moved</html>'"):
        load("uci_sonar", "<html>moved</html>\n")
    with pytest.raises(FileError, match=r"spambase\.data: 'x' is no number"):
        load("uci_spambase", "x,1\n")


def test_six_views_of_digits(load):
    tables = ["\n".join(f"  {v}.5 {k}" for k in range(20)) + "\n" for v in range(6)]
    data = load("mfeat", *tables)
    assert data.views.names == ("fou", "fac", "kar", "pix", "zer", "mor")
    np.testing.assert_array_equal(data.views.block("pix"), [[3.5, k] for k in range(20)])
    assert data.target.tolist() == np.repeat(range(10), 2).tolist()
    with pytest.raises(FileError, match=r"the views have \[10, 20\] lines"):
        load("mfeat", *tables[:5], "1 2\n" * 10)


def test_libsvm_with_two_classes(load):
    data = load("libsvm_fourclass", "+1 1:85 2:148\n-1 1:37 2:145\n")
    np.testing.assert_array_equal(data.views.block("x"), [[85, 148], [37, 145]])
    assert data.target.tolist() == [1, -1]
    with pytest.raises(FileError, match=r"fourclass: has the classes \[2\.0\]"):
        load("libsvm_fourclass", "2 1:1\n")


PIMA = """@relation diabetes
@attribute 'preg' real
@attribute 'plas' real
@attribute 'class' { tested_negative, tested_positive}
@data
6,148,tested_positive
1,85,tested_negative
"""


def test_openml_says_what_features_are_called(load):
    data = load("uci_pima", PIMA)
    assert data.target.tolist() == [1, -1]
    assert data.extra["feature_names"].tolist() == ["preg", "plas"]


def multilabel(rows, labels=6):
    names = [f"@attribute f{k} numeric" for k in range(2)] + [
        f"@attribute L{k} {{0,1}}" for k in range(labels)
    ]
    return "\n".join(["@relation r", *names, "@data", *rows]) + "\n"


def test_mulan_has_its_labels_last_and_may_be_in_parts(load):
    one, two = multilabel(["1,2,0,1,0,0,0,1"]), multilabel(["3,4,1,0,0,0,0,0", "5,6,0,0,0,0,0,1"])
    data = load("ml_scene", one, two)
    np.testing.assert_array_equal(data.views.block("x"), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(data.target, [[0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]])
    assert data.extra["part"].tolist() == [0, 1, 1]
    assert data.extra["label_names"].tolist() == [f"L{k}" for k in range(6)]
    assert "part" not in load("ml_emotions", two).extra
    with pytest.raises(FileError, match=r"scene-test\.arff: has other attributes than expected"):
        load("ml_scene", one, multilabel(["1,2,0,1,0,0,0"], labels=5))


def test_axes_come_from_zip_files_or_plain_ones(tmp_path):
    paths = {}
    for k, axis in enumerate("XYZ"):
        name = f"UWaveGestureLibrary{axis}"
        text = f"@problemName u\n@data\n{k},1,2:3\n{k},4,5:1\n"
        paths[f"{name}.zip"] = packed(
            tmp_path / f"{name}.zip", **{f"{name}_TRAIN.ts": text, f"{name}_TEST.ts": "x"}
        )
    plain = tmp_path / "UWaveGestureLibraryZ_TRAIN.tsv"
    plain.write_text("3\t2\t1\t2\n1\t2\t4\t5\n")
    for last in (paths["UWaveGestureLibraryZ.zip"], plain):
        data = CATALOGUE["uwave_train"].loader({**paths, "UWaveGestureLibraryZ.zip": last})
        assert data.views.names == ("X", "Y", "Z")
        np.testing.assert_array_equal(data.views.block("Z"), [[2, 1, 2], [2, 4, 5]])
        assert data.target.tolist() == [3, 1]
    plain.write_text("1\t2\t1\t2\n1\t2\t4\t5\n")
    with pytest.raises(FileError, match="the axes have other classes"):
        CATALOGUE["uwave_train"].loader({**paths, "UWaveGestureLibraryZ.zip": plain})


def test_distances_between_flowers_are_kernels_of_three_widths(tmp_path, rng):
    D = {}
    for key in ("D_hog", "D_hsv"):
        X = rng.standard_normal((34, 3))
        D[key] = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    names = [file.name for file in CATALOGUE["flower17"].files]
    paths = {name: tmp_path / name for name in names}
    for path, key in zip(paths.values(), D, strict=True):
        scipy.io.savemat(path, {key: D[key], "other": np.ones(3)})
    data = CATALOGUE["flower17"].loader(paths)
    assert data.kernels.names == ("hog-2", "hog+0", "hog+2", "hsv-2", "hsv+0", "hsv+2")
    mean = D["D_hog"][np.triu_indices(34, 1)].mean()
    np.testing.assert_allclose(
        data.kernels.block("hog+2"), np.exp(-(D["D_hog"] ** 2) / (2 * (4 * mean) ** 2))
    )
    assert data.target.tolist() == np.repeat(range(17), 2).tolist()
    scipy.io.savemat(path, {"D_hsv": D["D_hsv"][:30, :30]})
    with pytest.raises(FileError, match=r"distances of \[30, 34\] images"):
        CATALOGUE["flower17"].loader(paths)


def test_kernels_that_somebody_has_put_together(tmp_path, rng):
    X = rng.standard_normal((2, 5, 3))
    K = X @ X.transpose(0, 2, 1)
    path = tmp_path / "plant.mat"
    scipy.io.savemat(path, {"KH": np.moveaxis(K, 0, 2), "Y": np.array([[1], [2], [1], [3], [4]])})
    data = CATALOGUE["plant"].loader({"plant.mat": path})
    np.testing.assert_allclose(data.kernels.to_dense(), K)
    assert data.target.tolist() == [1, 2, 1, 3, 4]


def test_yeast_may_lie_in_several_folders(tmp_path):
    files = CATALOGUE["yeast"].files
    kernel = "k\ta\tb\na\t1\t.5\nb\t.5\t1\n"
    paths = {}
    for k, file in enumerate(files):
        (tmp_path / str(k)).mkdir()
        paths[file.name] = tmp_path / str(k) / file.name
        paths[file.name].write_text("g\te\na\t1\nb\t-1\n" if file.name.startswith("labels") else kernel)
    data = CATALOGUE["yeast"].loader(paths)
    assert data.kernels.names == ("Pfam", "Gen", "Phys", "TAP", "Exp", "SW")
    assert data.target.ravel().tolist() == [1, -1]


def test_the_public_files_at_hand_are_read_alike(load, data_folder):
    """A table written as UCI has it, from a copy of the same data, gives the same back."""
    from absentia import datasets

    copy = datasets.load_benchmark("uci_ionosphere", data_folder)
    X = np.asarray(copy.views.block("x"))
    lines = [
        ",".join([*map(str, row), "g" if y > 0 else "b"])
        for row, y in zip(X.tolist(), copy.target, strict=True)
    ]
    data = load("uci_ionosphere", "\n".join(lines))
    np.testing.assert_array_equal(data.views.block("x"), X)
    np.testing.assert_array_equal(data.target, copy.target)


# ---------------------------------------------------------------------------------------- tables and texts


def test_plain_tables(load):
    data = load("uci_ionosphere", "1, ?,g\n\n-.5e1,NA ,b\n")
    np.testing.assert_array_equal(data.views.block("x"), [[1, np.nan], [-5, np.nan]])
    data = load("uci_heart", "  1   2\r\n 3\t1 \r\n")
    np.testing.assert_array_equal(data.views.block("x"), [[1], [3]])
    for text, said in {
        "1,2,g\n\n3,g\n": "line 3 has 2 fields, the first 3",
        "\n\n": "the file is empty",
        "<html>,g\n": "'<html>' is no number",
        "1_0,g\n": "'1_0' is no number",
    }.items():
        with pytest.raises(FileError, match=rf"ionosphere\.data: {said}"):
            load("uci_ionosphere", text)


def test_libsvm_lines(load):
    data = load("libsvm_splice", "+1 1:0.5 3:-2\n-1 2:7 # a comment\n\n-1\n")
    np.testing.assert_array_equal(data.views.block("x"), [[0.5, 0, -2], [0, 7, 0], [0, 0, 0]])
    assert data.target.tolist() == [1, -1, -1]
    for bad in ("1 0:1", "1 2:1 1:1", "1 a:1", "<html>", "1 1:1\n-1 99999999:1"):
        with pytest.raises(FileError, match=r"splice: "):
            load("libsvm_splice", bad)


@pytest.mark.parametrize(
    "text",
    [
        "<html>\n",
        "@relation r\n@attribute a numeric\n",
        "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n1\n",
        "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n{0 1}\n",
        "@relation r\n@attribute a string\n@attribute b {0,1}\n@data\nx,1\n",
        "",
    ],
)
def test_arff_that_is_none_is_refused_with_the_file(load, text):
    with pytest.raises(FileError, match=r"dataset_37_diabetes\.arff: is no dense ARFF file"):
        load("uci_pima", text)


@pytest.mark.parametrize(
    "text",
    [
        "#c\n@problemName U\n@classLabel true 1 2\n@data\n0.5,1.5,-2:2\n1,2,3:1\n",
        "2\t0.5\t1.5\t-2\n1\t1\t2\t3\n",
        "  2.0000000e+00  5e-1  1.5 -2\n  1.0  1 2 3\n",
        "2,0.5,1.5,-2\n1,1,2,3\n",
    ],
)
def test_series_of_any_ending(text):
    X, y = _loaders._parse_series(text)
    np.testing.assert_array_equal(X, [[0.5, 1.5, -2], [1, 2, 3]])
    assert y.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@data\n", "the file is empty"),
        ("@data\n1,2:3:4\n", "'2:3' is no number"),
        ("1 2 3\n1 2\n", "line 2 has 2 fields, the first 3"),
        ("1.5 2 3\n", "no whole numbers"),
        ("<html> 1\n", "is no number"),
    ],
)
def test_series_that_are_none(text, said):
    with pytest.raises(ValueError, match=said):
        _loaders._parse_series(text)


def test_the_first_member_of_those_wanted_is_read_wherever_it_is(tmp_path):
    path = packed(tmp_path / "a.zip", **{"folder/b.ts": "B", "c.txt": "C", "__MACOSX/c.txt": "x"})
    assert _loaders._read_member(path, ["none", "b.ts", "c.txt"]) == b"B"
    assert _loaders._read_member(path, ["c.txt"]) == b"C"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]
    with pytest.raises(ValueError, match=r"holds none of d but b\.ts, c\.txt"):
        _loaders._read_member(path, ["d"])


def test_damaged_and_large_members_are_refused(tmp_path, monkeypatch):
    (tmp_path / "page.zip").write_text("<html>moved</html>")
    with pytest.raises(ValueError, match="is no zip file"):
        _loaders._read_member(tmp_path / "page.zip", ["a"])
    path = packed(tmp_path / "a.zip", a="x" * 1000)
    data = path.read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[:40] + b"!!!!" + data[44:])
    with pytest.raises(ValueError, match="is no zip file, or a damaged one"):
        _loaders._read_member(tmp_path / "cut.zip", ["a"])
    monkeypatch.setattr(_loaders, "_MAX_MEMBER", 500)
    with pytest.raises(ValueError, match="is larger than 500 bytes"):
        _loaders._read_member(path, ["a"])
