import pickle

import numpy as np
import pandas as pd
import pytest

from absentia import MKMC, AbsenceWarning, CombineKernels, KernelViews, KNNFill, MeanFill
from absentia.core import Gram
from absentia.data import _kernelviews as kernelviews
from conftest import random_kernels, random_problem


def test_dense_kernels_lose_their_absent_rows():
    K = random_kernels(5, 2)
    K[1, 3] = K[1, :, 3] = np.nan
    kv = KernelViews.from_dense(K, names=["seq", "expr"])
    assert kv.shape == (5, 5)
    assert kv.square
    np.testing.assert_array_equal(kv.observed[:, 1], [True, True, True, False, True])
    seen = [0, 1, 2, 4]
    np.testing.assert_array_equal(kv.block("expr"), K[1][np.ix_(seen, seen)])
    np.testing.assert_array_equal(kv.to_dense(), K)


def test_what_the_mask_hides_is_never_read():
    K = random_kernels(4, 2)
    K[0, 2], K[0, :, 2] = np.inf, -5
    kv = KernelViews.from_dense(K, observed=np.array([[1, 1], [1, 1], [0, 1], [1, 1]]), ids=list("abcd"))
    assert kv.block("view0").shape == (3, 3)


def test_blocks_are_aligned_by_id():
    K = random_kernels(4, 1)[0]
    kv = KernelViews.from_blocks({"a": ([3, 1], K[:2, :2]), "b": ([1, 2, 3], K[:3, :3])})
    np.testing.assert_array_equal(kv.ids, [3, 1, 2])
    np.testing.assert_array_equal(kv.block("a"), K[:2, :2])
    np.testing.assert_array_equal(kv.block("b"), K[np.ix_([2, 0, 1], [2, 0, 1])])


def test_factors_are_kernels_that_are_never_formed():
    Phi = np.random.default_rng(0).normal(size=(6, 2))
    kv = KernelViews.from_factors({"a": (range(6), Phi), "b": ([5, 0], Phi[:2])})
    assert isinstance(kv.operator("a"), Gram)
    np.testing.assert_allclose(kv.block("b"), (Phi @ Phi.T)[np.ix_([1, 0], [1, 0])])
    part = kv[np.ix_([4, 5], [0, 1, 2])]
    assert isinstance(part.operator("a"), Gram)
    np.testing.assert_allclose(part.block("a"), Phi[4:] @ Phi[:3].T)
    np.testing.assert_allclose(part.diagonal("a"), (Phi[4:] ** 2).sum(1))


def test_factors_may_stay_where_they_are():
    Phi = np.ones((3, 2))
    kept = KernelViews.from_factors({"a": (range(3), Phi)}, copy=False).operator("a").left
    copied = KernelViews.from_factors({"a": (range(3), Phi)}).operator("a").left
    assert np.shares_memory(kept, Phi)
    assert not np.shares_memory(copied, Phi)


def test_rows_against_columns_keep_absences_and_self_similarities():
    kv = random_problem(20, 3)
    test, train = np.array([3, 17, 5]), np.arange(8, 20)
    part = kv[np.ix_(test, train)]
    assert part.shape == (3, 12)
    assert not part.square
    np.testing.assert_array_equal(part.to_dense(), kv.to_dense()[:, test][:, :, train])
    np.testing.assert_array_equal(part.column_observed, kv.observed[train])
    for v, name in enumerate(kv.names):
        diagonal = np.diagonal(kv.to_dense()[v])[test]
        np.testing.assert_array_equal(part.diagonal(name), diagonal[kv.observed[test, v]])


def test_the_same_rows_and_columns_stay_square():
    kv, index = random_problem(20, 3), np.array([4, 2, 9])
    part = kv[np.ix_(index, index)]
    assert part.square
    np.testing.assert_array_equal(part.to_dense(), kv.to_dense()[:, index][:, :, index])
    assert not kv[np.ix_(index, index[::-1])].square
    assert kv[index].shape == (3, 20)


def test_two_flat_index_arrays_are_refused():
    with pytest.raises(IndexError, match=r"np\.ix_"):
        random_problem()[[0, 1], [2, 3]]


def test_hide_removes_rows_and_columns():
    kv = KernelViews.from_dense(random_kernels(6, 2))
    keep = np.ones((6, 2), bool)
    keep[[1, 4], 0] = False
    hidden = kv.hide(keep)
    np.testing.assert_array_equal(hidden.column_observed, keep)
    np.testing.assert_array_equal(
        hidden.block("view0"), kv.block("view0")[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])]
    )
    assert np.isnan(hidden.to_dense()[0, 1]).all()


def test_pickles_are_equal_and_immutable():
    kv = random_problem()
    again = pickle.loads(pickle.dumps(kv))
    np.testing.assert_array_equal(again.to_dense(), kv.to_dense())
    for array in (again.observed, again.block("view0"), again.diagonal("view0")):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


def test_input_changes_do_not_show():
    K = random_kernels(4, 1)
    kv = KernelViews.from_dense(K)
    before = kv.block("view0").copy()
    K[:] = 0
    np.testing.assert_array_equal(kv.block("view0"), before)


def asymmetric():
    K = random_kernels(4, 2)
    K[1, 0, 2] += 0.1
    return K


def with_nan():
    K = random_kernels(4, 2)
    K[1, 0, 2] = K[1, 2, 0] = np.nan
    return K


def test_frames_are_aligned_by_their_labels():
    K = pd.DataFrame(random_kernels(4, 1)[0], index=list("abcd"), columns=list("abcd"))
    other = K.loc[["d", "b", "a"], ["a", "b", "d"]].rename_axis("s")
    other.loc["b"] = other["b"] = np.nan
    kv = KernelViews.from_dense({"x": K, "y": other})
    np.testing.assert_array_equal(kv.ids, list("abcd"))
    np.testing.assert_array_equal(kv.observed[:, 1], [True, False, False, True])
    np.testing.assert_allclose(kv.block("y"), K.loc[["a", "d"], ["a", "d"]])
    with pytest.raises(ValueError, match="view 'y': rows and columns"):
        KernelViews.from_dense({"x": K, "y": K[["a", "b"]]})


def with_stray_column():
    K = random_kernels(4, 1)
    K[0, 2] = np.nan
    return K


BAD = [
    (
        lambda: KernelViews.from_dense(with_stray_column(), ids=list("abcd")),
        "sample 'c' is NaN in its whole row",
    ),
    (lambda: KernelViews.from_dense([[["a"]]]), "view 'view0'.*not numbers"),
    (lambda: KernelViews.from_dense(np.zeros((1, 0, 0))), "view 'view0'|no sample"),
    (
        lambda: KernelViews.from_dense(asymmetric(), ids=list("abcd")),
        r"view 'view1'.*not symmetric.*'a'.*'c'",
    ),
    (lambda: KernelViews.from_dense(with_nan(), ids=list("abcd")), r"view 'view1'.*'a'.*'c'.* is nan"),
    (
        lambda: KernelViews.from_dense(-random_kernels(3, 1), ids=list("abc")),
        "view 'view0'.*cannot be negative",
    ),
    (lambda: KernelViews.from_dense(np.ones((2, 3, 4))), r"view 'view0'.*\(3, 4\)"),
    (lambda: KernelViews.from_dense([np.eye(3), np.eye(2)]), r"view 'view1'.*\(2, 2\), wanted \(3, 3\)"),
    (lambda: KernelViews.from_dense(np.eye(3)), r"K has shape \(3, 3\)"),
    (lambda: KernelViews.from_dense([]), "no kernel"),
    (lambda: KernelViews.from_dense(np.ones((1, 2, 2)), ids=["a", "a"]), "'a'"),
    (lambda: KernelViews.from_dense(np.ones((1, 2, 2)), names=["a", "b"]), "2 names for 1 kernels"),
    (
        lambda: KernelViews.from_dense(np.ones((1, 2, 2)), observed=np.ones((3, 1))),
        r"wanted \(samples, views\)",
    ),
    (lambda: KernelViews.from_blocks({"a": ([1, 2, 3], np.eye(2))}), r"view 'a'.*\(2, 2\) but 3 ids"),
    (lambda: KernelViews.from_blocks({"a": ([1, 1], np.eye(2))}), "view 'a'.*more than once"),
    (lambda: KernelViews.from_factors({"a": ([1, 2], np.ones((3, 2)))}), r"view 'a'.*\(3, 2\) but 2 ids"),
    (lambda: KernelViews.from_factors({"a": (["p", "q"], [[1.0], [np.nan]])}), "view 'a', sample .*'q'"),
]


@pytest.mark.parametrize(("bad", "sentence"), BAD, ids=[s[:30] for _, s in BAD])
def test_bad_input_is_named(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        bad()


def test_a_view_nobody_has_and_a_sample_with_nothing_are_warned_of():
    K = random_kernels(3, 2)
    with pytest.warns(AbsenceWarning, match="'view1' is observed for no sample"):
        KernelViews.from_dense(K, observed=[[1, 0], [1, 0], [1, 0]])
    with pytest.warns(AbsenceWarning, match="1 sample.*e.g. 2"):
        KernelViews.from_dense(K, observed=[[1, 1], [1, 1], [0, 0]])


def test_repair_mends_only_what_is_broken():
    K = random_kernels(6, 2)
    K[1] -= 0.3 * np.eye(6)
    kv = KernelViews.from_dense(K)
    for how in ("clip", "shift"):
        mended = kv.repair(how)
        assert np.linalg.eigvalsh(mended.block("view1"))[0] > -1e-12
        np.testing.assert_array_equal(mended.block("view0"), kv.block("view0"))
    with pytest.raises(ValueError, match="'clip' or 'shift'"):
        kv.repair("hope")


def test_repr_says_against_what():
    kv = random_problem(20, 3)
    assert "20 samples, 3 views" in repr(kv)
    assert "against 5 samples" in repr(kv[np.ix_([0, 1], range(5))])


def test_factors_are_not_made_arrays_of_gibibytes_without_a_word(monkeypatch):
    kv = KernelViews.from_factors({"a": (np.arange(9), np.eye(9)[:, :2] + 1)})
    kv.block("a")
    monkeypatch.setattr(kernelviews, "_DENSE_BYTES", 9 * 9 * 8 - 1)
    for make in (lambda: kv.block("a"), kv.to_dense, lambda: CombineKernels().fit_transform(kv)):
        with pytest.warns(kernelviews.DenseWarning, match=r"view 'a': the 9 x 9 kernel.* GiB.*MKMC"):
            make()
    MKMC(n_components=1, tol=1e-2).fit_transform(kv)
    MeanFill().fit_transform(kv)
    KNNFill().fit_transform(kv)
    dense = KernelViews.from_dense(np.stack([np.eye(9)]))
    dense.block("view0")
