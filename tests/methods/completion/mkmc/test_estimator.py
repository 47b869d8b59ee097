"""..."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import (
    MKMC,
    AbsenceWarning,
    KernelViews,
    MeanFill,
    ViewKernels,
    Views,
    datasets,
    metrics,
    missingness,
)
from conftest import random_kernels, random_problem
from helpers.mkmc_problems import MODELS, fixed

# where so many components are too many is a matter of tests of their own


@pytest.mark.slow_params("0.001-pca", "0.001-fa", "0.1-pca", "0.1-fa", "10.0-pca", "10.0-fa")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [1e-3, 0.1, 10.0])
def test_the_penalised_objective_never_rises(model, prior):
    for seed in range(3):
        trace = fixed(model, 80, prior=prior).fit(random_problem(40, 4, 0.4, seed)).objective_
        assert (np.diff(trace) <= 1e-12 * np.abs(trace).max()).all()
        assert trace[0] - trace[-1] > 1e-3


@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_positive_definite(model):
    for seed in range(3):
        K = fixed(model).fit_transform(random_problem(40, 4, 0.5, seed)).to_dense()
        assert np.linalg.eigvalsh(K).min() > 1e-6


@pytest.mark.slow
def test_every_model_beats_the_baselines_on_data_that_share_structure():
    data = datasets.make_multiview(120, 5, n_shared=3, noise=0.1, private_scale=0.2, random_state=0)
    keep = missingness.mcar(data.kernels, 0.3, random_state=0)
    kv = data.kernels.hide(keep)
    baseline = metrics.are(data.kernels, MeanFill().fit_transform(kv), keep)
    for model in MODELS:
        done = MKMC(model, tol=1e-5, n_components=10).fit_transform(kv)
        assert metrics.are(data.kernels, done, keep) < 0.7 * baseline


def test_recovers_the_model_it_was_drawn_from():
    """Many views of one low-rank covariance: PCA-MKMC finds it, to what the number of views allows."""
    rng = np.random.default_rng(0)
    n, q, n_views, per_view = 30, 3, 8, 2000
    W = rng.normal(size=(n, q))
    truth = W @ W.T + 0.5 * np.eye(n)
    L = np.linalg.cholesky(truth)
    draws = [L @ rng.normal(size=(n, per_view)) for _ in range(n_views)]
    K = np.array([X @ X.T / per_view for X in draws])
    kv = KernelViews.from_dense(K, observed=missingness.mcar((n, n_views), 0.3, random_state=0))
    mkmc = MKMC("pca", n_components=q, tol=1e-9, max_iter=2000).fit(kv)
    scale = np.trace(truth) / n
    error = np.linalg.norm(mkmc.model_.to_dense() * scale - truth) / np.linalg.norm(truth)
    assert error < 3 * np.sqrt(n / (n_views * per_view))


def test_views_on_different_scales_are_brought_together():
    kv = random_problem(40, 4, 0.3)
    scale = np.array([1e-3, 1.0, 1e3, 5.0])
    scaled = KernelViews.from_dense(kv.to_dense() * scale[:, None, None], observed=kv.observed)
    mkmc = MKMC("pca", n_components=4)
    mkmc.fit(scaled)
    diagonals = [scaled.diagonal(name).mean() for name in scaled.names]
    np.testing.assert_allclose(mkmc.view_scales_, diagonals)


def test_kernels_of_unit_mean_diagonal_are_not_rescaled():
    mkmc = MKMC("pca", n_components=4).fit(random_problem(40, 4, 0.3))
    np.testing.assert_array_equal(mkmc.view_scales_, 1.0)


@pytest.mark.parametrize("model", MODELS)
def test_an_indefinite_kernel_is_named_with_its_lowest_eigenvalue_and_can_be_repaired(model):
    K = random_kernels(20, 3)
    K[1] -= 0.5 * np.eye(20)
    low = np.linalg.eigvalsh(K[1])[0]
    kv = KernelViews.from_dense(K, observed=missingness.mcar((20, 3), 0.2, random_state=0))
    with pytest.raises(
        ValueError, match=r"view 'view1': .*not positive semidefinite.*lowest eigenvalue is -0\.\d+.*clip"
    ):
        fixed(model, 5).fit(kv)
    assert low < -0.4
    for how in ("clip", "shift"):
        done = fixed(model, 5).fit_transform(kv.repair(how)).to_dense()
        assert np.linalg.eigvalsh(done).min() > -1e-10


@pytest.mark.parametrize("model", MODELS)
def test_singular_kernels_are_no_obstacle(model):
    """Rank-one views: no logdet of Q is ever taken, the prior keeps the model regular."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(3, 25, 1))
    K = factors @ factors.transpose(0, 2, 1)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((25, 3), 0.3, random_state=0))
    mkmc = fixed(model, 200)
    done = mkmc.fit_transform(kv).to_dense()
    assert np.isfinite(done).all()
    assert np.isfinite(mkmc.objective_).all()
    assert (np.diff(mkmc.objective_) <= 1e-9 * np.abs(mkmc.objective_).max()).all()
    assert np.linalg.eigvalsh(done).min() > -1e-8 * np.abs(done).max()


def test_without_a_prior_a_singular_model_is_explained():
    K = np.ones((2, 6, 6))
    kv = KernelViews.from_dense(K, observed=np.array([[1, 1]] * 4 + [[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="singular with prior=0; raise the prior"):
        MKMC("full", prior=0.0, algorithm="paper").fit(kv)


@pytest.mark.parametrize("model", MODELS)
def test_a_sample_hidden_everywhere_is_left_out_and_gets_the_prior(model):
    K = random_kernels(20, 3)
    keep = missingness.mcar((20, 3), 0.2, random_state=0)
    keep[7] = False
    with pytest.warns(AbsenceWarning, match=r"1 sample\(s\) have no view at all, e.g. 7"):
        kv = KernelViews.from_dense(3 * K, observed=keep)
    mkmc = fixed(model, 20)
    with pytest.warns(AbsenceWarning, match="no view at all"):
        done = mkmc.fit_transform(kv).to_dense()
    others = np.delete(np.arange(20), 7)
    without = fixed(model, 20).fit_transform(kv[np.ix_(others, others)]).to_dense()
    np.testing.assert_allclose(done[:, others][:, :, others], without, rtol=1e-10)
    np.testing.assert_allclose(done[:, 7, others], 0, atol=1e-14)
    np.testing.assert_allclose(done[:, 7, 7], 3.0)
    assert mkmc.groups_[7] == -1


@pytest.mark.parametrize("model", MODELS)
def test_groups_that_no_view_links_are_reported_and_zero_between(model):
    K = random_kernels(20, 4)
    keep = np.zeros((20, 4), bool)
    keep[:12, :2] = True
    keep[12:, 2:] = True
    keep[3, 0] = keep[15, 2] = False
    kv = KernelViews.from_dense(K, observed=keep)
    mkmc = fixed(model, 20)
    with pytest.warns(AbsenceWarning, match=r"fall into 2 groups \(of 12, 8\).*set to zero"):
        done = mkmc.fit_transform(kv).to_dense()
    assert (mkmc.model_.to_dense()[:12, 12:] == 0).all()
    np.testing.assert_allclose(done[:, :12, 12:], 0, atol=1e-14)
    assert np.linalg.eigvalsh(done).min() > 0
    np.testing.assert_array_equal(mkmc.groups_, [0] * 12 + [1] * 8)


def test_what_a_model_says_between_unlinked_groups_is_taken_away():
    """The start's random block couples the groups; what is left of that must not show."""
    K = random_kernels(20, 2)
    keep = np.zeros((20, 2), bool)
    keep[:12, 0] = keep[12:, 1] = True
    for model in ("pca", "fa"):
        mkmc = MKMC(model, n_components=2, max_iter=3, tol=0)
        with pytest.warns(AbsenceWarning, match="2 groups"):
            mkmc.fit(KernelViews.from_dense(K, observed=keep))
        assert (mkmc.model_.to_dense()[:12, 12:] == 0).all()


def test_a_view_nobody_has_is_left_out_and_completed_by_the_model():
    K = random_kernels(20, 3)
    keep = missingness.mcar((20, 3), 0.2, random_state=0)
    keep[:, 2] = False
    keep[:, 0] = True
    with pytest.warns(AbsenceWarning, match="view 'view2' is observed for no sample"):
        kv = KernelViews.from_dense(K, observed=keep)
    mkmc = fixed("pca", 20)
    with pytest.warns(AbsenceWarning, match="view 'view2'"):
        done = mkmc.fit_transform(kv)
    np.testing.assert_allclose(done.block("view2"), mkmc.model_.to_dense(), rtol=1e-10)
    alone = fixed("pca", 20).fit_transform(kv.select(["view0", "view1"]))
    np.testing.assert_allclose(done.block("view1"), alone.block("view1"), rtol=1e-10)


@pytest.mark.slow_params("pca", "fa")
@pytest.mark.parametrize("model", MODELS)
def test_single_precision_is_close_and_its_tolerance_honest(model):
    kv = random_problem(40, 4, 0.3)
    single = fixed(model, 30, dtype="float32").fit(kv)
    double = fixed(model, 30).fit(kv)
    np.testing.assert_allclose(single.objective_, double.objective_, rtol=1e-5)
    np.testing.assert_allclose(single.model_.to_dense(), double.model_.to_dense(), atol=1e-3)
    with pytest.warns(UserWarning, match="tol=1e-09 is finer than float32 can tell; 1e-6"):
        raised = MKMC(model, n_components=4, dtype="float32", tol=1e-9, max_iter=2000).fit(kv)
    assert (
        raised.n_iter_
        == MKMC(model, n_components=4, dtype="float32", tol=1e-6, max_iter=2000).fit(kv).n_iter_
    )


@pytest.mark.slow
def test_different_orders_of_samples_end_at_the_same_optimum():
    """Local optima differ by a few 1e-6; objectives are compared with that slack."""
    kv, order = random_problem(40, 4, 0.4), np.random.default_rng(0).permutation(40)
    for model in MODELS:
        one, other = (
            MKMC(model, n_components=4, tol=1e-9, max_iter=5000).fit(x)
            for x in (kv, kv[np.ix_(order, order)])
        )
        assert one.objective_[-1] == pytest.approx(other.objective_[-1], rel=1e-5)


@pytest.mark.parametrize("model", ["pca", "fa"])
@pytest.mark.parametrize("width", [2, 5])
def test_single_precision_takes_factors_of_low_rank(model, width):
    """Fewer directions than the start asks for; 600 samples, so that it is a random one."""
    rng, keep = np.random.default_rng(0), missingness.mcar((600, 4), 0.3, random_state=0)
    shared, factors = rng.normal(size=(600, 3)), {}
    for v in range(4):
        Phi = shared @ rng.normal(size=(3, width)) + 0.3 * rng.normal(size=(600, width))
        factors[f"view{v}"] = np.flatnonzero(keep[:, v]), Phi[keep[:, v]]
    kv = KernelViews.from_factors(factors)
    for q in (5, 12):
        mkmc = MKMC(model, n_components=q, dtype="float32", tol=0, max_iter=5).fit(kv)
        assert np.isfinite(mkmc.objective_).all()


def test_the_same_draws_come_again_without_a_seed():
    mkmc = MKMC("pca", n_components=3).fit(random_problem())
    one, other = (next(iter(mkmc.sample())).to_dense() for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_stopping_at_max_iter_warns_and_is_recorded():
    with pytest.warns(ConvergenceWarning, match=r"reached max_iter.*\(1 iterations\)"):
        mkmc = MKMC("pca", n_components=4, max_iter=1).fit(random_problem())
    assert not mkmc.converged_
    assert mkmc.n_iter_ == len(mkmc.objective_) == 1


def test_convergence_is_recorded():
    mkmc = MKMC("pca", n_components=4).fit(random_problem())
    assert mkmc.converged_
    assert mkmc.status_.startswith("converged")
    assert mkmc.n_iter_ == len(mkmc.objective_) < 500


def test_the_callback_sees_every_iteration_and_can_stop():
    seen = []
    mkmc = MKMC("pca", n_components=4, callback=lambda p: seen.append(p) or len(seen) == 3)
    mkmc.fit(random_problem())
    assert [p.iteration for p in seen] == [1, 2, 3]
    np.testing.assert_array_equal([p.objective for p in seen], mkmc.objective_)
    assert mkmc.status_.startswith("stopped")


BAD = [
    ({"covariance": "ppca"}, "covariance must be 'pca', 'fa' or 'full'"),
    ({"algorithm": "slow"}, "algorithm must be 'fast' or 'paper'"),
    ({"n_components": 0}, "n_components must be a whole number of 1 or more"),
    ({"n_components": 40}, "n_components=40 for 40 samples; wanted 1 to 39"),
    ({"n_components": "bic"}, "'kaiser' or 'heldout', not 'bic'"),
    ({"n_components": 2.5}, "'heldout', not 2.5"),
    ({"prior": -1.0}, "prior must be a number of 0 or more, not -1"),
    ({"prior": np.inf}, "prior must be a number of 0 or more, not inf"),
    ({"max_iter": None}, "max_iter must be a whole number of 1 or more"),
    ({"tol": -1.0}, "tol must be a number of 0 or more"),
    ({"max_iter": 0}, "max_iter must be a whole number of 1 or more"),
    ({"dtype": "float16"}, "dtype must be"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[s[:25] for _, s in BAD])
def test_bad_parameters_are_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        MKMC(**options).fit(random_problem())


def test_a_kernel_of_zeros_is_named():
    K = random_kernels(5, 2)
    K[1] = 0
    with pytest.raises(ValueError, match="view 'view1': the kernel is zero"):
        MKMC("pca", n_components=2).fit(KernelViews.from_dense(K))


@pytest.mark.slow
def test_quality_on_mfeat(mfeat):
    """Half of the cells hidden, 400 digits: far better than the mean, as the papers claim."""

    index = np.arange(0, 2000, 5)
    truth = ViewKernels().fit_transform(mfeat.views[index])
    keep = missingness.mcar(truth, 0.5, random_state=0)
    kv = truth.hide(keep)
    done = MKMC("pca", tol=1e-5).fit_transform(kv)
    assert metrics.ca_error(truth, done) < 0.5 * metrics.ca_error(truth, MeanFill().fit_transform(kv))


@pytest.mark.slow_params("full", "fa")
@pytest.mark.parametrize("model", MODELS)
def test_draws_average_to_the_completed_kernel_and_spread_as_the_variance_says(model):
    kv = random_problem(15, 3, 0.3)
    mkmc = MKMC(model, n_components=3, tol=1e-6)
    done = mkmc.fit_transform(kv).to_dense()
    draws = np.array([draw.to_dense() for draw in mkmc.sample(600, random_state=0)])
    error = np.abs(draws.mean(0) - done)
    assert (error <= 5 * draws.std(0) / np.sqrt(600) + 1e-9).all()
    assert np.linalg.eigvalsh(draws[:5]).min() > -1e-10
    for v, name in enumerate(kv.names):
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(draws[3][v][seen], kv.block(name))
    variance = mkmc.posterior_variance()
    np.testing.assert_array_equal(variance > 0, ~kv.observed)
    assert (variance[~kv.observed] <= np.einsum("vii->iv", done)[~kv.observed] + 1e-12).all()


def test_fewer_features_spread_the_draws_more():
    kv = random_problem(15, 3, 0.3)
    mkmc = MKMC("pca", n_components=3).fit(kv)
    tight, loose = (
        np.std([d.to_dense() for d in mkmc.sample(100, n_features=m, random_state=0)], axis=0).sum()
        for m in (400, None)
    )
    assert tight < 0.5 * loose


@pytest.mark.slow_params("fa", "full")
@pytest.mark.parametrize("covariance", ["pca", "fa", "full"])
def test_the_order_of_samples_and_views_chooses_no_optimum(covariance):
    """Of kernels of rank three the likelihood has several optima, and is flat around them."""
    rng = np.random.default_rng(1)
    state = rng.standard_normal((40, 3))
    views = Views.from_dict({f"view {v}": state @ rng.standard_normal((3, 3)) for v in range(4)})
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    kernels = ViewKernels("linear").fit_transform(views)
    completed = MKMC(covariance, n_components=5).fit_transform(kernels)
    turn, names = np.random.default_rng(1).permutation(40), kernels.names[::-1]
    turned = MKMC(covariance, n_components=5).fit_transform(kernels.select(names)[np.ix_(turn, turn)])
    for name in names:
        wanted = np.asarray(completed.block(name))[np.ix_(turn, turn)]
        np.testing.assert_allclose(turned.block(name), wanted, atol=1e-6 * np.abs(wanted).max())
