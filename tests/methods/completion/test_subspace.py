"""Where absent samples lie: completed kernels, rows and diagonals, whatever the method."""

import numpy as np
import pytest

from absentia import AbsenceWarning, EMFill, KernelViews, KNNFill, MeanFill, SVTFill, missingness
from conftest import random_problem
from helpers.fillers import FILLERS


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
