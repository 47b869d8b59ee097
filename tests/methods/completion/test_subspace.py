"""Where absent samples lie: completed kernels, rows, diagonals and features, whatever the method."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import (
    CVKT,
    MKMC,
    AbsenceWarning,
    EMFill,
    KernelViews,
    KNNFill,
    MeanFill,
    SVTFill,
    ViewKernels,
    Views,
    ZeroFill,
    missingness,
)
from absentia.methods.completion import Basis
from absentia.methods.completion._base import _features_at
from conftest import random_problem
from helpers.fillers import FILLERS
from helpers.registry import COMPLETERS


def test_an_own_value_is_never_less_than_the_rest_of_the_row_demands(filler):
    kv = random_problem(40, 4, 0.5, 2)
    for K, o in zip(filler.fit_transform(kv).to_dense(), kv.observed.T, strict=True):
        explained = K[np.ix_(~o, o)] @ np.linalg.pinv(K[np.ix_(o, o)]) @ K[np.ix_(o, ~o)]
        assert (K.diagonal()[~o] - explained.diagonal()).min() > -1e-9


def test_samples_of_very_unequal_length_stay_positive_semidefinite(filler, rng):
    Z = rng.normal(size=(40, 3)) * np.geomspace(0.1, 10, 40)[:, None]  # linear kernels: own values differ
    K = np.stack([X @ X.T for X in (Z @ rng.normal(size=(3, 6)) for _ in range(3))])
    kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 3), 0.3, random_state=0))
    done = filler.fit_transform(kv).to_dense()
    assert np.linalg.eigvalsh(done).min() > -1e-10 * np.abs(K).max()


@pytest.mark.parametrize("kept", [KNNFill(), KNNFill(3), SVTFill(0.1), MeanFill("blocks")])
def test_a_constant_diagonal_stays_constant(kept):
    kv = random_problem()
    np.testing.assert_allclose(kept.fit_transform(kv).to_dense().diagonal(axis1=1, axis2=2), 1.0, atol=1e-9)


def test_mean_of_blocks_differs_from_the_mean_sample_on_the_diagonal_alone():
    kv = random_problem()
    blocks, features = (MeanFill(of).fit_transform(kv).to_dense() for of in ("blocks", "features"))
    for a, b, o in zip(blocks, features, kv.observed.T, strict=True):
        off = ~np.eye(40, dtype=bool)
        np.testing.assert_array_equal(a[off], b[off])
        np.testing.assert_allclose(a.diagonal()[~o], 1.0)
        assert (b.diagonal()[~o] < 0.9).all()
    new = (
        MeanFill("blocks")
        .fit(kv[np.ix_(range(30), range(30))])
        .transform(kv[np.ix_(range(30, 40), range(30))])
    )
    np.testing.assert_allclose(new.diagonal("view0"), 1.0)


def test_a_training_sample_that_comes_back_gets_its_completed_row(filler):
    kv = random_problem()
    trained = filler.fit_transform(kv).to_dense()
    back = np.array([3, 7, 11, 30])
    again = filler.transform(kv[np.ix_(back, np.arange(40))])
    off = back[:, None] != np.arange(40)  # what a sample has of its own is not shared with its double
    for k, name in enumerate(kv.names):
        np.testing.assert_allclose(again.block(name)[off], trained[k][back][off], atol=1e-9)
        np.testing.assert_allclose(again.diagonal(name), trained[k][back, back], atol=1e-9)


@pytest.mark.parametrize("name", FILLERS)
def test_new_rows_are_near_those_of_refitting(name):
    """Over the rows of absent views: when a sixteenth of the samples joins, training moves by about as much."""
    kv = random_problem(160, 4, 0.3, 5)
    train, new = np.arange(150), np.arange(150, 160)
    fill = FILLERS[name]
    rows = fill.fit(kv[np.ix_(train, train)]).transform(kv[np.ix_(new, train)]).to_dense()
    refitted = fill.fit_transform(kv).to_dense()[:, 150:, :150]
    absent = ~kv.observed[new].T
    difference = np.linalg.norm((rows - refitted)[absent]) / np.linalg.norm(refitted[absent])
    assert difference < 0.1
    mean = MeanFill().fit(kv[np.ix_(train, train)]).transform(kv[np.ix_(new, train)]).to_dense()
    assert np.linalg.norm((mean - refitted)[absent]) / np.linalg.norm(refitted[absent]) > 0.2


def test_new_rows_with_training_rows_are_positive_semidefinite(filler):
    kv = random_problem(60, 3, 0.4, 3)
    train, new = np.arange(50), np.arange(50, 60)
    trained = filler.fit_transform(kv[np.ix_(train, train)]).to_dense()
    rows = filler.transform(kv[np.ix_(new, train)])
    for k, name in enumerate(kv.names):
        for t in np.flatnonzero(~kv.observed[new, k]):
            row, own = rows.block(name)[t], rows.diagonal(name)[t]
            joined = np.block([[trained[k], row[:, None]], [row[None], np.array([[own]])]])
            assert np.linalg.eigvalsh(joined).min() > -1e-9


def test_a_new_sample_without_any_view_is_the_mean(filler):
    kv = random_problem(40, 3, 0.2)
    train = kv[np.ix_(np.arange(39), np.arange(39))]
    row = kv[np.ix_([39], np.arange(39))].hide(np.zeros((1, 3), bool))
    filler.fit(train)
    with pytest.warns(AbsenceWarning, match=r"3 absent cell\(s\), e.g. sample 39 in view 'view0'"):
        done = filler.transform(row)
    mean = MeanFill().fit(train).transform(row)
    slack = 0.1 if isinstance(filler, EMFill) else 1e-9  # EM estimates a mean of its own
    for k, name in enumerate(kv.names):
        has = train.observed[:, k]
        np.testing.assert_allclose(done.block(name)[:, has], mean.block(name)[:, has], atol=slack)


def test_kernels_given_as_factors_are_filled_alike(filler, rng):
    kept = {
        name: np.flatnonzero(o)
        for name, o in zip("abc", missingness.mcar((30, 3), 0.3, random_state=0).T, strict=True)
    }
    Z = rng.normal(size=(30, 4))
    factors = {name: (ids, (Z @ rng.normal(size=(4, 6)))[ids]) for name, ids in kept.items()}
    products = {name: (ids, Phi @ Phi.T) for name, (ids, Phi) in factors.items()}
    one = filler.fit_transform(KernelViews.from_factors(factors)).to_dense()
    other = filler.fit_transform(KernelViews.from_blocks(products)).to_dense()
    np.testing.assert_allclose(one, other, atol=1e-6)


QUICK = {
    name: completer
    for name, completer in COMPLETERS.items()
    if "full" not in name and name not in ("zero", "em", "mkmc, gk", "mkmc, kaiser", "mkmc, heldout")
}


@pytest.fixture
def views(rng):
    Z = rng.normal(size=(40, 3))
    tables = {
        f"v{p}": Z @ rng.normal(size=(3, 5 + p)) + 0.3 * rng.normal(size=(40, 5 + p)) + 2 for p in range(3)
    }
    views = Views.from_dict(tables, ids=[f"p{i}" for i in range(40)])
    return views.hide(missingness.mcar(views, 0.3, random_state=0))


@pytest.mark.slow_params(
    "mkmc fa-False", "mkmc fa-True", "mkmc fa, centred-False", "mkmc fa, centred-True", "auto-False"
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", QUICK)
def test_the_kernel_of_completed_features_is_the_completed_kernel(views, name, standardize):
    maker = ViewKernels("linear", standardize=standardize, clip=None, normalize=None)
    completer = QUICK[name]
    done = completer.fit_transform(maker.fit_transform(views))
    full = completer.complete_features(views)
    assert full.observed.all()
    rows = maker.transform(full)  # filled and standardised as in training
    for v, present in zip(views.names, views.observed.T, strict=True):
        np.testing.assert_array_equal(full.block(v)[present], views.block(v))
        K = done.block(v)
        found = rows.block(v)[~present]  # against those that have the view
        np.testing.assert_allclose(found, K[np.ix_(~present, present)], atol=1e-9 * np.abs(K).max())


def test_features_of_other_kernels_are_estimates_better_than_the_mean(rng):
    Z = rng.normal(size=(120, 2))
    truth = Views.from_dict({f"v{p}": 100 + np.tanh(Z @ rng.normal(size=(2, 4))) for p in range(3)})
    views = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    errors = {}
    for completer in (CVKT(), MKMC("pca", n_components=4, tol=1e-4), MeanFill()):
        full = completer.fit(ViewKernels().fit_transform(views)).complete_features(views)
        errors[type(completer)] = sum(np.square(full.block(v) - truth.block(v)).sum() for v in truth.names)
    assert errors[CVKT] < 0.5 * errors[MeanFill]
    assert (
        errors[MKMC] < 0.9 * errors[MeanFill]
    )  # weights that do not add up to one do not shrink 100 to 70


def test_missing_values_count_as_means_and_stay_missing(views, rng):
    tables = views.to_dict()
    tables["v0"][np.flatnonzero(views.observed[:, 0])[0], 1] = np.nan
    views = Views.from_dict(tables)
    full = MeanFill().fit(ViewKernels().fit_transform(views)).complete_features(views)
    assert np.isnan(full.block("v0")).sum() == 1
    absent = ~views.observed[:, 0]
    means = np.tile(np.nanmean(views.block("v0"), axis=0), (absent.sum(), 1))
    np.testing.assert_allclose(full.block("v0")[absent], means)


def test_sparse_views_stay_sparse(views):
    sparse = Views.from_dict({name: scipy.sparse.csr_array(x) for name, x in views.to_dict().items()})
    completer = KNNFill(3)
    maker = ViewKernels("linear", standardize=False, normalize=None)
    full = completer.fit(maker.fit_transform(sparse)).complete_features(sparse)
    dense = completer.fit(maker.fit_transform(views)).complete_features(views)
    assert scipy.sparse.issparse(full.block("v1"))
    np.testing.assert_allclose(full.block("v1").toarray(), dense.block("v1"), atol=1e-12)


def test_observed_samples_stay_even_where_their_kernel_values_do_not(views):
    kernels = ViewKernels("linear", standardize=False, normalize=None).fit_transform(views)
    moved = CVKT(keep_observed=False).fit(kernels).complete_features(views)
    kept = CVKT().fit(kernels).complete_features(views)
    for name in views.names:
        np.testing.assert_allclose(moved.block(name), kept.block(name), atol=1e-9)


def test_codes_get_the_level_of_largest_weight():
    # number, code of three levels, code of two (one missing)
    block = np.array([[1.0, 0, 1], [2.0, 2, 1], [3.0, 2, 0], [4.0, 1, np.nan]])
    W = np.array(
        [[0.4, 0.3, 0.3, 0.0], [0.0, 0.0, 0.2, 0.8], [0.45, 0.17, 0.28, 0.1]]
    )  # whose sum is not 0.45
    found = _features_at(block, {1: 3, 2: 2}, Basis(None, np.eye(4), np.eye(4)), W)
    np.testing.assert_allclose(found[:, 0], [1.9, 3.8, 2.03])
    assert found[:, 1].tolist() == [2, 1, 0]  # the last is a tie, and the first wins
    # missing is the mean, 1/3 and 2/3: 0.2 + 0.8 / 3 against 0.8 * 2 / 3
    assert found[:, 2].tolist() == [1, 1, 1]


def test_absent_categories_are_those_of_the_neighbours(rng):
    group = np.repeat([0, 1], 15)
    ids = [f"p{i}" for i in range(30)]
    expr = pd.DataFrame(rng.normal(size=(30, 3)) + 5 * group[:, None], index=ids)
    clinical = pd.DataFrame({"stage": np.array(["II", "IV"])[group], "age": 40.0 + 30 * group}, index=ids)
    views = Views.from_dict({"expr": expr, "clinical": clinical.drop(index=["p3", "p20"])})
    full = KNNFill(5).fit(ViewKernels().fit_transform(views)).complete_features(views)
    table = full["clinical"]
    assert table.loc[["p3", "p20"], "stage"].tolist() == ["II", "IV"]
    np.testing.assert_allclose(table.loc[["p3", "p20"], "age"], [40, 70])
    assert full.levels("clinical") == views.levels("clinical")


@pytest.mark.parametrize("completer", [MKMC("full", max_iter=5, tol=0), CVKT(solver="descent", n_iter=2)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_completers_without_combinations_say_so(views, completer):
    completer.fit(ViewKernels().fit_transform(views))
    with pytest.raises(ValueError, match="no features for absent ones; use CVKT"):
        completer.complete_features(views)


def test_zero_is_like_no_sample(views):
    zero = ZeroFill().fit(ViewKernels().fit_transform(views))
    with pytest.raises(ValueError, match="view 'v0': its absent samples are zero"):
        zero.complete_features(views)


def test_only_the_samples_of_training_are_taken(views):
    mean = MeanFill().fit(ViewKernels().fit_transform(views))
    turned = views.select(["v2", "v0", "v1"])
    np.testing.assert_array_equal(
        mean.complete_features(turned).block("v2"), mean.complete_features(views).block("v2")
    )
    with pytest.raises(ValueError, match="of 10 samples that differ"):
        mean.complete_features(views[:10])
    with pytest.raises(ValueError, match="40 samples that differ from them or come in another order"):
        mean.complete_features(views[::-1])
    with pytest.raises(ValueError, match=r"views \['v0', 'v1'\] came"):
        mean.complete_features(views.select(["v0", "v1"]))
    keep = np.ones((40, 3), bool)
    keep[np.flatnonzero(views.observed[:, 1])[2], 1] = False
    with pytest.raises(ValueError, match=r"view 'v1': 1 sample\(s\), e\.g\. 'p\d+', have it"):
        mean.complete_features(views.hide(keep))
    with pytest.raises(TypeError, match=r"Views \(features\) are wanted, not KernelViews"):
        mean.complete_features(KernelViews.from_dense(np.eye(3)[None]))
