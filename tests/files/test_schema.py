"""Which array of a file is what."""

import warnings

import numpy as np
import pytest
import scipy.sparse

from absentia import AbsenceWarning, KernelViews, Views
from absentia.files._schema import infer_schema

rng = np.random.default_rng(0)


def kernels(n=6, views=3):
    A = rng.normal(size=(views, n, 4))
    return A @ A.transpose(0, 2, 1)


def table(n, d):
    return rng.normal(size=(n, d))


K = kernels()


@pytest.mark.parametrize("name", ["K", "KH", "Kernels", "Km", "kernels", "anything"])
@pytest.mark.parametrize("stack", [K, np.moveaxis(K, 0, 2)], ids=["first", "last"])
def test_stacks_of_kernels_lie_either_way(name, stack):
    found = infer_schema({name: stack, "y": np.arange(6.0)[:, None]})
    assert isinstance(found, KernelViews)
    assert found.names == ("view0", "view1", "view2")
    np.testing.assert_array_equal(found.to_dense(), K)


def test_as_many_views_as_samples_are_told_apart_by_symmetry():
    cube = kernels(4, 4)
    for stack in (cube, np.moveaxis(cube, 0, 2)):
        np.testing.assert_array_equal(infer_schema({"K": stack}).to_dense(), cube)
    with pytest.raises(ValueError, match=r"'K' has shape \(4, 4, 4\).*both ways"):
        infer_schema({"K": np.ones((4, 4, 4))})
    with pytest.raises(ValueError, match="neither way"):
        infer_schema({"K": rng.normal(size=(4, 4, 4))})


def test_a_list_of_kernels_and_kernels_under_numbered_names():
    np.testing.assert_array_equal(infer_schema({"K": list(K)}).to_dense(), K)
    many = {f"K{v}": x for v, x in enumerate(kernels(5, 11))}
    found = infer_schema(dict(sorted(many.items())))
    assert found.names == tuple(f"K{v}" for v in range(11))  # K10 last


def test_square_features_are_no_kernels():
    found = infer_schema({"X": [table(5, 5), table(5, 3)], "gt": np.zeros(5)})
    assert isinstance(found, Views)
    assert [found.block(name).shape for name in found.names] == [(5, 5), (5, 3)]


def test_an_asymmetric_kernel_is_refused_and_a_distance_too():
    with pytest.raises(ValueError, match="not symmetric"):
        infer_schema({"K": rng.normal(size=(3, 5, 5))})
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    with pytest.raises(ValueError, match="as distances are"):
        infer_schema({"K1": D})
    with pytest.raises(ValueError, match=r"square and of one size.*\(5, 3\)"):
        infer_schema({"K": [np.eye(5), table(5, 3)]})


@pytest.mark.parametrize("turned", [False, True])
def test_features_lie_as_the_common_number_of_samples_says(turned):
    tables = [table(7, 3), table(7, 4), table(7, 2)]
    found = infer_schema({"X": [x.T for x in tables] if turned else tables})
    assert found.shape == (7, 3)
    for name, x in zip(found.names, tables, strict=True):
        np.testing.assert_array_equal(found.block(name), x)


def test_what_could_lie_both_ways_is_said_and_labels_settle_it():
    tables = [table(7, 3), table(7, 3)]
    with pytest.warns(UserWarning, match="samples could be rows or columns.*7 samples are taken, as rows"):
        assert infer_schema({"X": tables}).shape == (7, 2)
    for settle in ({"Y": np.zeros((1, 7))}, {"gnd": np.zeros(7)}, {"ids": np.arange(7)}):
        assert infer_schema({"X": tables, **settle}).shape == (7, 2)
    assert infer_schema({"X": tables, "Y": np.zeros((3, 1))}).shape == (3, 2)
    with pytest.raises(ValueError, match="rows or columns"):
        infer_schema({"X": [table(7, 3), table(3, 7)]})
    with pytest.raises(ValueError, match=r"share no number of samples.*\(7, 3\)"):
        infer_schema({"X": [table(7, 3), table(6, 2)]})


def test_views_that_lie_differently_are_turned_with_a_word():
    with pytest.warns(UserWarning, match=r"7 samples are taken, and \['view1'\] transposed"):
        assert infer_schema({"X": [table(7, 3), table(2, 7)]}).shape == (7, 2)


def test_nan_rows_are_absent():
    x = table(5, 2)
    x[1] = np.nan
    found = infer_schema({"a": x, "b": table(5, 3)})
    np.testing.assert_array_equal(found.observed[:, found.names.index("a")], [1, 0, 1, 1, 1])
    gap = K.copy()
    gap[0, 2], gap[0, :, 2] = np.nan, np.nan
    np.testing.assert_array_equal(infer_schema({"K": gap}).observed[2], [False, True, True])


# ------------------------------------------------------------------------------------------ absent or zero


def zeros():
    stack = K.copy()
    stack[1, [2, 4]], stack[1][:, [2, 4]] = 0, 0
    return stack


def test_zero_rows_are_asked_about_and_not_taken_as_absent():
    with pytest.warns(
        AbsenceWarning, match=r"view 'view1': 2 of 6 samples, the first at position 2.*'mask'"
    ):
        found = infer_schema({"K": zeros()})
    assert found.observed.all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("name", "flip"), [("mask", 0), ("Observed", 0), ("missing", 1), ("absent", 1)])
def test_a_mask_says_who_is_there(name, flip, turned):
    mask = np.ones((6, 3))
    mask[[2, 4], 1] = 0
    said = 1 - mask if flip else mask
    found = infer_schema({"K": zeros(), name: said.T if turned else said})
    np.testing.assert_array_equal(found.observed, mask.astype(bool))


def test_masks_that_say_nothing_clear():
    for strange in (np.array([[2.0], [5.0]]), np.array(["a"])):
        with pytest.warns(AbsenceWarning, match="'missing' is .* and it is left alone"):
            assert infer_schema({"K": K, "missing": strange}).observed.all()
    with pytest.raises(ValueError, match=r"'mask' is \(6, 2\).*views\) = \(6, 3\)"):
        infer_schema({"K": K, "mask": np.ones((6, 2))})
    with pytest.raises(ValueError, match="do not agree"):
        infer_schema({"K": K, "mask": np.ones((6, 3)), "missing": np.eye(6)[:, :3]})


def test_the_columns_of_a_mask_are_never_guessed():
    content = {"expr": table(5, 2), "clin": table(5, 3), "mask": np.ones((5, 2))}
    content["mask"][0, 0] = 0
    with pytest.raises(ValueError, match="which of its columns is which"):
        infer_schema(content)
    for names in (["expr", "clin"], ["clin", "expr"]):
        found = infer_schema({**content, "names": np.array(names)})
        assert found.names == tuple(names)
        np.testing.assert_array_equal(found.observed[0], [False, True])
        assert found.block(names[0]).shape[0] == 4
    numbered = {"X1": content["expr"], "X2": content["clin"], "mask": content["mask"]}
    np.testing.assert_array_equal(infer_schema(numbered).observed[0], [False, True])


def test_ids_and_names_beside_the_views():
    ids = [np.array(x) for x in ("p1", "p2", "p3", "p4", "p5", "p6")]
    found = infer_schema({"KH": K, "ids": ids, "names": np.array(["seq", "expr", "mri"])})
    assert found.names == ("seq", "expr", "mri")
    assert found.ids.tolist() == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert infer_schema({"K": K, "ids": np.arange(6.0)[None]}).ids.dtype.kind == "i"
    assert infer_schema({"K": K, "names": np.array(["class a", "class b"])}).names[0] == "view0"
    with pytest.raises(ValueError, match=r"'ids' is \(5,\) for 6 samples"):
        infer_schema({"K": K, "ids": np.arange(5)})
    with pytest.raises(ValueError, match="not distinct"):
        infer_schema({"K": K, "names": np.array(["a", "a", "b"])})


# ----------------------------------------------------------------------------------------- which are views


def test_labels_are_never_views():
    for name in ("Y", "y", "gt", "gnd", "truth", "truelabel", "labels"):
        found = infer_schema({"a": table(5, 2), "b": table(5, 3), name: np.eye(5)[:, :2]})
        assert found.names == ("a", "b")


def test_what_is_left_is_said():
    with pytest.warns(UserWarning, match=r"not taken as views: 'cluster' \(7, 1\)"):
        assert infer_schema({"a": table(7, 2), "b": table(7, 3), "cluster": np.zeros((7, 1))}).names == (
            "a",
            "b",
        )
    with pytest.warns(UserWarning, match=r"not taken as views: 'clinical' \(7, 5\)"):
        infer_schema({"X": [table(7, 2), table(7, 3)], "clinical": table(7, 5)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer_schema({"X": [table(7, 2), table(7, 3)], "lambda": np.ones((1, 1)), "title": np.array("t")})


def test_what_is_not_clear_shows_shapes_and_names_help():
    content = {"K": K, "X": [table(6, 2), table(6, 3)]}
    with pytest.raises(
        ValueError, match=r"both kernels and features: 'K' \(3, 6, 6\), 'X' 2 of \(6, 2\), .*views="
    ):
        infer_schema(content)
    assert isinstance(infer_schema(content, {"k": ["K"]}), KernelViews)
    found = infer_schema(content, {"expr": ["X/1"], "clin": ["X/0"]})
    assert (found.names, found.block("expr").shape) == (("expr", "clin"), (6, 3))
    found = infer_schema({**content, "A": np.ones((6, 2))}, {"all": ["X/0", "A"], "b": ["X/1"]})
    assert found.block("all").shape == (6, 4)
    with pytest.raises(ValueError, match=r"no array 'Z' but 'K' \(3, 6, 6\)"):
        infer_schema(content, {"a": ["Z"]})
    with pytest.raises(ValueError, match="several arrays that could be the views"):
        infer_schema({"A": list(K), "B": list(K)})
    with pytest.raises(ValueError, match="one table is wanted"):
        infer_schema(content, {"a": ["K"], "b": ["X"]})
    with pytest.raises(ValueError, match=r"no table that could be a view but 'y' \(6,\)"):
        infer_schema({"y": np.zeros(6)})


def test_groups_are_opened_where_they_hold_the_views():
    inner = {"rna": table(6, 2), "adt": table(6, 3), "labels": np.zeros(6)}
    for content in (
        {"views": inner},
        {"g": inner, "y": np.zeros(6)},
        {"data": inner, "g": {"z": table(4, 4)}},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = infer_schema(content)
        assert set(found.names) == {"rna", "adt"}
    assert infer_schema({"study": {"K": K, "ids": np.arange(6)}}).shape == (6, 6)
    with pytest.raises(ValueError, match="several that could be the views"):
        infer_schema({"a": inner, "b": inner})
    found = infer_schema({"a": {**inner, "ids": np.arange(6) + 10}, "b": inner}, {"r": ["a/rna"]})
    assert found.ids[0] == 10


def test_sparse_tables_stay_sparse_and_sparse_kernels_are_kernels(monkeypatch):
    x = scipy.sparse.random_array((9, 4), density=0.4, rng=0, format="csr")
    y = scipy.sparse.random_array((9, 3), density=0.4, rng=0, format="csr")
    found = infer_schema({"X": [x.T.tocsr(), y.T.tocsr()]})
    assert scipy.sparse.issparse(found.block("view0"))
    np.testing.assert_array_equal(found.block("view0").toarray(), x.toarray())
    eye = scipy.sparse.eye_array(50, format="csr")
    assert isinstance(infer_schema({"A": eye}), KernelViews)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "10k")
    with pytest.raises(ValueError, match="ABSENTIA_MAX_BYTES"):
        infer_schema({"A": eye})


def test_whole_numbers_are_numbers():
    found = infer_schema({"X": np.arange(12, dtype=np.uint8).reshape(4, 3), "y": np.arange(4)})
    assert found.block("X").dtype == np.float64


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(3.0),
        np.arange(3.0)[None],
        np.arange(3.0)[:, None],
        [np.array([[x]]) for x in (0.0, 1.0, 2.0)],
    ],
)
def test_a_vector_in_any_guise(ids):
    assert infer_schema({"X": table(3, 5), "ids": ids}).ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize("ids", [np.eye(3), np.array(1.0), [np.eye(2)], [], {"a": np.eye(2)}])
def test_what_is_no_vector(ids):
    with pytest.raises(ValueError, match="for 3 samples; one id for each is wanted"):
        infer_schema({"X": table(3, 5), "y": np.zeros(3), "ids": ids})


def test_texts_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    texts = [np.array("x" * 100_000), *(np.array("a") for _ in range(1000))]
    with pytest.raises(ValueError, match="ABSENTIA_MAX_BYTES"):
        infer_schema({"X": table(1001, 5), "ids": texts})


def test_the_number_of_samples_is_known_if_all_say_the_same():
    X = {"X1": table(5, 4), "X2": table(4, 5)}
    assert len(infer_schema({**X, "y": np.zeros((1, 5)), "ids": np.arange(5)})) == 5
    for beside in ({"y": np.zeros(5), "gt": np.zeros(4)}, {"z": np.zeros(5)}):
        with pytest.raises(ValueError, match="samples could be rows or columns"):
            infer_schema({**X, **beside})
