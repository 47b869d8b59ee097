import numpy as np
import pytest

from absentia import KernelViews, MeanFill, ViewKernels, Views, ZeroFill
from conftest import random_problem


def test_zero_fill_is_zero_where_nothing_was_known():
    kv = random_problem()
    wanted = np.nan_to_num(kv.to_dense())
    np.testing.assert_array_equal(ZeroFill().fit_transform(kv).to_dense(), wanted)


def test_mean_fill_is_the_mean_sample_in_feature_space():
    X = np.random.default_rng(0).normal(size=(8, 3))
    views = Views.from_dict({"a": X, "b": X}, observed=np.array([[1, 1]] * 5 + [[1, 0]] * 3))
    linear = ViewKernels("linear", standardize=False, normalize=None)
    filled = X.copy()
    filled[5:] = X[:5].mean(0)
    done = MeanFill().fit_transform(linear.fit_transform(views))
    np.testing.assert_allclose(done.block("b"), filled @ filled.T, atol=1e-12)


def test_mean_fill_of_new_rows_is_the_mean_sample_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    observed = np.ones((12, 2), bool)
    observed[[3, 4, 9, 10], 1] = False
    views = Views.from_dict({"a": X, "b": X}, observed=observed)
    linear = ViewKernels("linear", standardize=False, normalize=None)
    fill = MeanFill().fit(linear.fit_transform(views[:8]))
    new = fill.transform(linear.transform(views[8:]))
    filled = X.copy()
    filled[~observed[:, 1]] = X[:8][observed[:8, 1]].mean(0)
    np.testing.assert_allclose(new.block("b"), filled[8:] @ filled[:8].T, atol=1e-12)
    np.testing.assert_allclose(new.diagonal("b"), (filled[8:] ** 2).sum(1), atol=1e-12)


def test_zero_fill_of_new_rows():
    kv = random_problem()
    train, test = np.arange(30), np.arange(30, 40)
    new = ZeroFill().fit(kv[np.ix_(train, train)]).transform(kv[np.ix_(test, train)])
    np.testing.assert_array_equal(new.to_dense(), np.nan_to_num(kv.to_dense())[:, 30:, :30])
    np.testing.assert_array_equal(new.diagonal("view1") > 0, kv.observed[30:, 1])


def test_the_mean_of_entries_is_the_papers_and_not_positive_semidefinite():
    kv = random_problem()
    done = MeanFill("entries").fit_transform(kv).to_dense()
    unseen = ~kv.observed[:, 0]
    np.testing.assert_allclose(done[0][unseen], kv.block("view0").mean())
    assert np.linalg.eigvalsh(done).min() < -1e-3
    with pytest.raises(ValueError, match="'features', 'blocks' or 'entries'"):
        MeanFill("rows").fit(kv)


def test_a_view_nobody_has_becomes_zero():
    with pytest.warns(UserWarning, match="no sample"):
        kv = KernelViews.from_dense(np.ones((2, 3, 3)), observed=[[1, 0]] * 3)
    for fill in (ZeroFill(), MeanFill()):
        assert (fill.fit_transform(kv).block("view1") == 0).all()
