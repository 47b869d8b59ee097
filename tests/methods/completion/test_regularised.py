"""What fillers with a strength of regularisation share."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import (
    AbsenceWarning,
    EMFill,
    KernelViews,
    KNNFill,
    MeanFill,
    SVTFill,
    ViewKernels,
    datasets,
    metrics,
    missingness,
)
from conftest import random_kernels, random_problem


@pytest.mark.slow_params("0.3-<lambda>1", "0.01-<lambda>0", "0.01-<lambda>1")
@pytest.mark.parametrize(
    "make", [lambda r: SVTFill(r, tol=0, max_iter=60), lambda r: EMFill(ridge=r, tol=0, max_iter=60)]
)
@pytest.mark.parametrize("strength", [0.3, 0.01])
def test_the_objective_never_rises(make, strength):
    for seed in range(3):
        trace = make(strength).fit(random_problem(40, 4, 0.4, seed)).objective_
        assert (np.diff(trace) <= 1e-12 * np.abs(trace).max()).all()
        assert trace[0] - trace[-1] > 1e-6 * np.abs(trace).max()


@pytest.mark.parametrize("strong", [SVTFill(0.9999), EMFill(ridge=1e6)])
def test_all_regularisation_is_the_mean(strong):
    kv = random_problem()
    done, mean = strong.fit_transform(kv).to_dense(), MeanFill("blocks").fit_transform(kv).to_dense()
    np.testing.assert_allclose(done, mean, atol=2e-3)


def test_samples_that_share_no_view_with_those_who_have_it_become_the_mean(filler):
    K = random_kernels(12, 3)
    observed = np.zeros((12, 3), bool)
    observed[:6, :2] = observed[6:, 2] = True  # two groups that no view links
    observed[5, 1] = False
    kv = KernelViews.from_dense(K, observed=observed)
    with pytest.warns(AbsenceWarning, match=r"18 absent cell.* any sample that has this one"):
        done = filler.fit_transform(kv).to_dense()
    mean = MeanFill().fit_transform(kv).to_dense()
    np.testing.assert_allclose(done[2, :6, 6:], mean[2, :6, 6:], atol=1e-9)
    assert np.abs(done[1, 5] - mean[1, 5]).max() > 1e-3  # the one that is linked is not


@pytest.mark.parametrize("filler", [KNNFill(), SVTFill(), EMFill()])
def test_views_of_nobody_of_one_sample_and_of_samples_all_alike(filler):
    K = np.stack([random_kernels(8, 1)[0], np.ones((8, 8)), np.ones((8, 8)), np.ones((8, 8))])
    observed = np.ones((8, 4), bool)
    observed[:, 1] = False
    observed[1:, 2] = False
    observed[5:, 3] = False
    observed[2, 0] = False
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        kv = KernelViews.from_dense(K, observed=observed)
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        done = filler.fit_transform(kv).to_dense()
    assert (done[1] == 0).all()
    np.testing.assert_allclose(done[2], 1.0, atol=1e-9)
    np.testing.assert_allclose(done[3], 1.0, atol=1e-9)
    assert np.linalg.eigvalsh(done).min() > -1e-9


@pytest.mark.parametrize("filler", [KNNFill(), SVTFill(), EMFill()])
def test_nothing_to_hold_out_is_no_obstacle(filler):
    kv = random_problem(5, 2, 0.2)
    assert np.linalg.eigvalsh(filler.fit_transform(kv).to_dense()).min() > -1e-10
    one = KernelViews.from_dense(random_kernels(12, 1))
    np.testing.assert_array_equal(filler.fit_transform(one).to_dense(), random_kernels(12, 1))


def test_an_indefinite_kernel_is_refused(filler):
    K = random_kernels(10, 2)
    K[1] -= 0.5 * np.eye(10)
    with pytest.raises(ValueError, match="view 'view1': the kernel is not positive semidefinite"):
        filler.fit(KernelViews.from_dense(K))


def test_one_iteration_warns():
    kv = random_problem()
    for fill in (SVTFill(0.1, max_iter=1), EMFill(ridge=0.1, max_iter=1)):
        with pytest.warns(ConvergenceWarning, match="reached max_iter"):
            fill.fit(kv)
        assert not fill.converged_


BAD = [
    (KNNFill(0), "n_neighbors must be a whole number of 1 or more or 'heldout', not 0"),
    (KNNFill(2.5), "not 2.5"),
    (SVTFill(0), "threshold must be a number above 0 and below 1 or 'heldout', not 0"),
    (SVTFill("auto"), "not 'auto'"),
    (SVTFill(max_rank=0), "max_rank must be a whole number of 1 or more"),
    (SVTFill(tol=-1), "tol must be a number of 0 or more, not -1"),
    (EMFill("kaiser"), "n_components must be a whole number of 1 or more or 'gk', not 'kaiser'"),
    (EMFill(ridge=0), "ridge must be a number above 0 or 'heldout', not 0"),
    (EMFill(max_iter=0), "max_iter must be a whole number of 1 or more"),
]


@pytest.mark.parametrize(("fill", "sentence"), BAD)
def test_wrong_parameters_are_named(fill, sentence):
    with pytest.raises(ValueError, match=sentence):
        fill.fit(random_problem())


def linear_views(n, rng, rank=3, noise=0.0):
    """Linear kernels of Gaussian views that share `rank` factors."""
    Z = rng.normal(size=(n, rank))
    tables = [Z @ rng.normal(size=(rank, 8)) + noise * rng.normal(size=(n, 8)) for _ in range(3)]
    return np.stack([X @ X.T for X in tables]), tables


def test_low_rank_without_noise_is_recovered_by_em_and_in_part_by_thresholding(rng):
    K, _ = linear_views(80, rng)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((80, 3), 0.3, random_state=0))
    errors = {}
    for fill in (EMFill(3, ridge=1e-8, max_iter=3000), SVTFill(1e-3), MeanFill()):
        D = fill.fit_transform(kv).to_dense() - K
        blocks = [np.ix_(~o, o) for o in kv.observed.T]
        errors[type(fill)] = [
            np.linalg.norm(d[b]) / np.linalg.norm(k[b]) for d, k, b in zip(D, K, blocks, strict=True)
        ]
    assert max(errors[EMFill]) < 1e-5
    assert 0.05 < min(errors[SVTFill]) < max(errors[SVTFill]) < 0.5
    assert min(errors[MeanFill]) > 0.95


@pytest.mark.parametrize(
    ("fill", "share"),
    [(KNNFill(), 0.8), pytest.param(SVTFill(), 0.7, marks=pytest.mark.slow), (EMFill(), 0.65)],
)
def test_fillers_beat_the_mean_on_digits(fill, share):
    truth = ViewKernels().fit_transform(datasets.load_digit_views(n_samples=120).views)
    keep = missingness.fixed_per_view(truth, 0.3, random_state=0)
    incomplete = truth.hide(keep)
    mean = metrics.are(truth, MeanFill().fit_transform(incomplete), keep)
    assert metrics.are(truth, fill.fit_transform(incomplete), keep) < share * mean
