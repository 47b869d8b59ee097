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
    Views,
    datasets,
    metrics,
    missingness,
)
from absentia.core import Stop, accelerate, along_path
from absentia.data import _order as draws
from absentia.methods.completion import _combined as combined
from absentia.methods.completion import _em as emfill
from absentia.methods.completion import _knn as knn
from absentia.methods.completion import _svt as svt
from conftest import random_kernels, random_problem
from reference import gaussian_em, neighbours, soft_impute

FILLERS = {
    "knn": KNNFill(),
    "svt": SVTFill(0.1, tol=1e-10, max_iter=2000),
    "em": EMFill(4, ridge=0.1, tol=1e-10, max_iter=2000),
}


@pytest.fixture(params=FILLERS)
def filler(request):
    return FILLERS[request.param]


def dense(kv):
    return np.nan_to_num(kv.to_dense()), kv.observed


# ----------------------------------------------------------------------------- identity: nearest neighbours


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("spread", [True, False])
def test_neighbours_agree_with_pair_by_pair(weights, spread):
    for seed, absent in ((0, 0.3), (1, 0.5)):
        kv = random_problem(14, 3, absent, seed)
        wanted = neighbours.fill(*dense(kv), 3, weights, spread)
        done = KNNFill(3, weights=weights, spread=spread).fit_transform(kv).to_dense()
        np.testing.assert_allclose(done, wanted, rtol=1e-10, atol=1e-12)


def test_an_absent_sample_is_the_average_of_its_neighbours_features():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[6:] = X[:3] + 1e-3  # the last three are next to the first three
    views = Views.from_dict({"a": X, "b": X}, observed=np.array([[1, 1]] * 6 + [[1, 0]] * 3))
    kernels = ViewKernels("linear", standardize=False, normalize=None).fit_transform(views)
    filled = X.copy()
    filled[6:] = X[:3]
    done = KNNFill(1).fit_transform(kernels)
    np.testing.assert_allclose(done.block("b"), filled @ filled.T, atol=1e-12)


def test_all_samples_as_neighbours_are_the_mean():
    K, observed = random_kernels(), missingness.mcar((40, 4), 0.3, random_state=0)
    observed[:, 0] = True  # so that any two samples share a view
    kv = KernelViews.from_dense(K, observed=observed)
    for spread, of in ((True, "blocks"), (False, "features")):
        done = KNNFill(40, spread=spread).fit_transform(kv).to_dense()
        np.testing.assert_allclose(done, MeanFill(of).fit_transform(kv).to_dense(), atol=1e-12)


def test_neighbours_that_coincide_take_all_the_weight():
    K = random_kernels(8, 2)
    K = K[:, [0, 0, 1, 2, 3, 4, 5, 6]][:, :, [0, 0, 1, 2, 3, 4, 5, 6]]  # the first two are one
    observed = np.ones((8, 2), bool)
    observed[0, 1] = False
    done = KNNFill(3, weights="distance").fit_transform(KernelViews.from_dense(K, observed=observed))
    np.testing.assert_allclose(done.to_dense(), K, atol=1e-7)


def test_scale_of_distances_is_the_mean_over_pairs():
    X = np.random.default_rng(0).normal(size=(7, 2))
    pairs = ((X[:, None] - X[None]) ** 2).sum(-1)
    np.testing.assert_allclose(knn.mean_pair_distance(X @ X.T), pairs.sum() / (7 * 6))
    assert knn.mean_pair_distance(np.ones((4, 4))) == 0
    assert knn.mean_pair_distance(np.ones((1, 1))) == 0


# ---------------------------------------------------------------------- identity: singular value thresholding


def svt_parts(n=24, n_views=3, absent=0.4, seed=0, threshold=0.1):
    kv = random_problem(n, n_views, absent, seed)
    problem = svt.Problem.of(kv)
    X, views, sizes = soft_impute.stacked(*dense(kv))
    return kv, problem, X, views, sizes, threshold * problem.spectrum[0][0]


def test_the_threshold_is_relative_to_the_largest_singular_value():
    _, problem, X, *_ = svt_parts()
    np.testing.assert_allclose(problem.spectrum[0][0], np.linalg.norm(np.nan_to_num(X), 2), rtol=1e-10)


def test_one_step_is_two_least_squares_column_by_column_and_row_by_row(rng):
    _, problem, X, *_, lam = svt_parts()
    A = rng.normal(size=(24, 6))
    found = svt.evaluate(problem, lam, (A,))
    B = soft_impute.best_right(X, A, lam)
    np.testing.assert_allclose(found.value, soft_impute.factored_objective(X, A, B, lam), rtol=1e-10)
    np.testing.assert_allclose(found.following[0], soft_impute.best_left(X, B, lam), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("n_views", "absent", "threshold"), [(4, 0.2, 0.1), (5, 0.2, 0.2), (4, 0.2, 0.3)])
def test_thresholding_agrees_with_soft_impute(n_views, absent, threshold):
    kv, _, X, views, sizes, lam = svt_parts(24, n_views, absent, 0, threshold)
    L = soft_impute.soft_impute(X, lam, 2000)
    fill = SVTFill(threshold, tol=1e-14, max_iter=3000)
    done = fill.fit_transform(kv).to_dense()
    np.testing.assert_allclose(fill.objective_[-1], soft_impute.objective(X, L, lam), rtol=1e-10)
    np.testing.assert_allclose(done, soft_impute.filled(*dense(kv), L, views, sizes), atol=1e-7)
    assert fill.rank_ == np.linalg.matrix_rank(L, tol=1e-6)


def test_where_samples_have_one_view_only_what_was_observed_is_determined():
    """Another minimum than soft-impute's, of the same objective and with the same observed rows."""
    _, problem, X, *_, lam = svt_parts(24, 3, 0.4, 0, 0.1)
    L = soft_impute.soft_impute(X, lam, 3000)
    run = lambda point: svt.evaluate(problem, lam, point)
    (A,) = accelerate(
        run, problem.start(lam, 24), stop=Stop(1e-14, patience=3), max_iter=3000
    ).state.at.point
    mine, seen = A @ soft_impute.best_right(X, A, lam).T, ~np.isnan(X)
    # soft-impute comes near its minimum as one over the number of steps, and only from above
    gap = soft_impute.objective(X, L, lam) - soft_impute.objective(X, mine, lam)
    assert -1e-10 < gap < 1e-6
    # in observed values the objective bends like a half square
    assert np.linalg.norm((mine - L)[seen]) <= np.sqrt(2 * max(gap, 0)) + 1e-5
    assert np.abs(mine - L)[~seen].max() > 1e-2


def test_the_solution_carries_its_certificate():
    """Optimal L: the residual's singular values are at most lam, and lam on the directions of L."""
    _, problem, X, *_, lam = svt_parts(40, 4, 0.4, 1)
    run = lambda point: svt.evaluate(problem, lam, point)
    (A,) = accelerate(
        run, problem.start(lam, 40), stop=Stop(1e-14, patience=3), max_iter=3000
    ).state.at.point
    L = A @ soft_impute.best_right(X, A, lam).T
    residual = np.where(np.isnan(X), 0.0, X - L)
    U, s, Vt = np.linalg.svd(L, full_matrices=False)
    assert np.linalg.norm(residual, 2) <= lam * (1 + 1e-4)
    kept = s > 1e-3 * s[0]
    np.testing.assert_allclose(
        (U.T @ residual @ Vt.T)[np.ix_(kept, kept)], lam * np.eye(kept.sum()), atol=1e-3 * lam
    )


# ------------------------------------------------------------------------------------------- identity: EM


def test_one_em_step_agrees_with_sample_by_sample(rng):
    kv = random_problem(20, 3, 0.4)
    X, psi = gaussian_em.scores(*dense(kv), 3), np.repeat([0.1, 0.2, 0.3], 3)
    problem = emfill.Problem(np.nan_to_num(X), kv.observed, (3, 3, 3), psi)
    R = rng.normal(size=(9, 9))
    point = rng.normal(size=9), R @ R.T / 9 + 0.1 * np.eye(9)
    found = emfill.evaluate(problem, 0.3, point)
    np.testing.assert_allclose(found.value, gaussian_em.objective(X, *point, 0.3, psi), rtol=1e-10)
    for fast, slow in zip(found.following, gaussian_em.step(X, *point, 0.3, psi), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-12)


def test_em_scores_and_completed_kernels_agree_with_the_model():
    kv = random_problem(20, 3, 0.4)
    fill = EMFill(3, ridge=0.1, tol=1e-8)
    done = fill.fit_transform(kv).to_dense()
    X = gaussian_em.scores(*dense(kv), 3)
    mine = np.hstack(combined.coordinates(fill._axes, kv))
    np.testing.assert_allclose(np.abs(mine), np.abs(np.nan_to_num(X)), rtol=1e-9, atol=1e-12)
    signs = np.sign(np.nansum(mine * X, axis=0))  # of eigenvectors
    mu, Sigma = signs * fill.mean_, signs[:, None] * fill.covariance_ * signs
    np.testing.assert_allclose(done, gaussian_em.filled(*dense(kv), 3, mu, Sigma), rtol=1e-9, atol=1e-10)


def test_em_ends_where_one_more_step_changes_nothing():
    kv = random_problem(40, 4, 0.4)
    fill = EMFill(4, ridge=0.1, tol=1e-14, max_iter=3000).fit(kv)
    problem = fill._problem(kv)
    mu, Sigma = emfill.evaluate(problem, 0.1, (fill.mean_, fill.covariance_)).following
    np.testing.assert_allclose(mu, fill.mean_, atol=1e-5)
    np.testing.assert_allclose(Sigma, fill.covariance_, atol=1e-5 * np.abs(Sigma).max())


# -------------------------------------------------------------------------------------------------- laws


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


@pytest.mark.parametrize(
    "kept", [KNNFill(), KNNFill(3, weights="distance"), SVTFill(0.1), MeanFill("blocks")]
)
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


# ------------------------------------------------------------------------------------------- new samples


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


def test_new_rows_are_exactly_those_of_refitting_where_neighbours_cannot_change():
    """One new sample that lacks a view is nobody's neighbour in it; scales are held by a twin of the training set."""
    kv = random_problem(30, 3, 0.3, 1)
    t = int(np.flatnonzero(~kv.observed[:, 0] & kv.observed[:, 1:].all(axis=1))[0])
    rest = np.setdiff1d(np.arange(30), t)
    fill = KNNFill(3).fit(kv[np.ix_(rest, rest)])
    fill._scales = KNNFill(3).fit(kv)._scales
    row = fill.transform(kv[np.ix_([t], rest)])
    wanted = neighbours.fill(*dense(kv), 3, "uniform", True)[0]
    known = kv.observed[rest, 0]  # training samples without the view may have had the new one near
    np.testing.assert_allclose(row.block("view0")[0][known], wanted[t, rest][known], rtol=1e-9)
    np.testing.assert_allclose(row.diagonal("view0"), wanted[t, t], rtol=1e-9)


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


# ------------------------------------------------------------------------------------------- difficult data


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


def test_a_chain_of_views_leads_further_than_neighbours():
    """Nobody has the first and the last view together, but the middle one links them."""
    K = random_kernels(60, 3, seed=3)
    observed = np.ones((60, 3), bool)
    observed[:20, 1:] = observed[20:40, 2] = observed[40:, 0] = False
    kv = KernelViews.from_dense(K, observed=observed)
    mean = MeanFill().fit_transform(kv).to_dense()
    with pytest.warns(
        AbsenceWarning, match=r"20 absent cell.*sample 0 in view 'view2'.*shares no view with"
    ):
        done = KNNFill().fit_transform(kv).to_dense()
    np.testing.assert_allclose(done[2, :20, 40:], mean[2, :20, 40:], atol=1e-12)
    for fill in (SVTFill(0.1), EMFill(4, ridge=0.1)):
        done = fill.fit_transform(kv).to_dense()
        part = np.s_[2, :20, 40:]
        assert np.linalg.norm((done - K)[part]) < 0.95 * np.linalg.norm((mean - K)[part])


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
    (KNNFill(0), "n_neighbors >= 1 is wanted, a whole number; got 0"),
    (KNNFill(2.5), "got 2.5"),
    (KNNFill(weights="near"), "'uniform' or 'distance', not 'near'"),
    (SVTFill(0), "threshold must be between 0 and 1, or 'heldout'; got 0"),
    (SVTFill("auto"), "got 'auto'"),
    (SVTFill(max_rank=0), "max_rank >= 1"),
    (SVTFill(tol=-1), "tol >= 0 is wanted; got -1"),
    (EMFill("kaiser"), "n_components must be a whole number from 1 on, or 'gk'; got 'kaiser'"),
    (EMFill(ridge=0), "ridge must be a positive number, or 'heldout'; got 0"),
    (EMFill(max_iter=0), "max_iter >= 1"),
]


@pytest.mark.parametrize(("fill", "sentence"), BAD)
def test_wrong_parameters_are_named(fill, sentence):
    with pytest.raises(ValueError, match=sentence):
        fill.fit(random_problem())


# ------------------------------------------------------------------------------------ choosing by hiding


def hide_some(kv, seed=None):
    return draws.hide_some(kv, 0.1, seed, draws.ordering(kv))


def test_what_is_hidden_depends_on_the_data_not_on_order_ids_or_names(rng):
    kv = random_problem(40, 4, 0.3)
    keep = hide_some(kv)
    order = rng.permutation(40)
    again = hide_some(kv[np.ix_(order, order)].select(kv.names[::-1]))
    np.testing.assert_array_equal(again, keep[order][:, ::-1])
    renamed = KernelViews.from_dense(kv.to_dense()[::-1][:, order][:, :, order])
    np.testing.assert_array_equal(hide_some(renamed), keep[order][:, ::-1])


def test_where_samples_are_alike_ids_and_names_decide_what_is_hidden(rng):
    for ids in (np.arange(9), list("ihgfedcba"), [(1, 2), "a", 3.5, None, 7, "b", 8, (3,), "c"]):
        kv = KernelViews.from_dense(np.stack([np.eye(9)] * 3), ids=ids)
        order = rng.permutation(9)
        again = hide_some(kv[np.ix_(order, order)].select(kv.names[::-1]))
        np.testing.assert_array_equal(again, hide_some(kv)[order][:, ::-1])


def test_how_many_cells_are_hidden():
    kv = random_problem(40, 4, 0.3)
    keep = hide_some(kv)
    hidden = kv.observed & ~keep
    assert (hidden.sum(axis=0) >= 1).all()
    assert (hidden.sum(axis=0) <= 0.15 * kv.observed.sum(axis=0)).all()
    assert keep.any(axis=1).all()
    assert not np.array_equal(keep, hide_some(kv, 1))


@pytest.mark.parametrize(("fill", "path"), [(SVTFill(), svt.PATH), (EMFill(), emfill.PATH)])
def test_the_value_that_completes_hidden_samples_best_is_taken(fill, path):
    kv = random_problem(60, 4, 0.3)
    fill.fit(kv)
    chosen = fill.threshold_ if isinstance(fill, SVTFill) else fill.ridge_
    assert chosen == min(fill.heldout_curve_, key=fill.heldout_curve_.get)
    assert list(fill.heldout_curve_) == list(path[: len(fill.heldout_curve_)])
    assert len(fill.heldout_curve_) > 2


def test_the_error_that_chooses_is_that_of_the_hidden_rows():
    kv = random_problem(60, 3, 0.2)
    keep = hide_some(kv)
    fill = EMFill(5, ridge=0.3).fit(kv.hide(keep))
    done, truth = fill.transform(kv.hide(keep)).to_dense(), kv.to_dense()
    errors = []
    for k in range(3):
        rows = np.ix_(keep[:, k], kv.observed[:, k] & ~keep[:, k])
        errors.append(np.linalg.norm((done - truth)[k][rows]) / np.linalg.norm(truth[k][rows]))
    found = combined.hiding_error(kv, keep, fill._axes, fill._places)
    np.testing.assert_allclose(found, np.mean(errors), rtol=1e-10)


def test_a_path_is_left_when_it_no_longer_helps():
    errors = {4.0: 3.0, 3.0: 1.0, 2.0: 2.0, 1.0: 1.5, 0.5: 0.1}
    assert list(along_path(list(errors), errors.__getitem__)) == [4.0, 3.0, 2.0, 1.0]


# ---------------------------------------------------------------------------------------------- recovery


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


def test_em_predicts_almost_as_well_as_the_true_covariance_would(rng):
    n, noise = 600, 0.7
    Z = rng.normal(size=(n, 3))
    loadings = [rng.normal(size=(3, 4)) for _ in range(3)]
    X = np.hstack([Z @ W + noise * rng.normal(size=(n, 4)) for W in loadings])
    W = np.hstack(loadings)
    Sigma = W.T @ W + noise**2 * np.eye(12)
    observed = missingness.mcar((n, 3), 0.3, random_state=0)
    K = np.stack([X[:, 4 * k : 4 * k + 4] @ X[:, 4 * k : 4 * k + 4].T for k in range(3)])
    done = EMFill(4, ridge=1e-3).fit_transform(KernelViews.from_dense(K, observed=observed)).to_dense()
    oracle = X.copy()
    for t in range(n):
        o = np.repeat(observed[t], 4)
        oracle[t, ~o] = Sigma[np.ix_(~o, o)] @ np.linalg.solve(Sigma[np.ix_(o, o)], X[t, o])
    for k in range(3):
        h, seen = ~observed[:, k], observed[:, k]
        mine, block = slice(4 * k, 4 * k + 4), np.ix_(h, seen)
        best = np.linalg.norm(oracle[h, mine] @ X[seen, mine].T - K[k][block])
        assert np.linalg.norm((done - K)[k][block]) < 1.05 * best


@pytest.mark.parametrize(("fill", "share"), [(KNNFill(), 0.8), (SVTFill(), 0.7), (EMFill(), 0.65)])
def test_fillers_beat_the_mean_on_digits(fill, share):
    truth = ViewKernels().fit_transform(datasets.load_digit_views(n_samples=120).views)
    keep = missingness.fixed_per_view(truth, 0.3, random_state=0)
    incomplete = truth.hide(keep)
    mean = metrics.are(truth, MeanFill().fit_transform(incomplete), keep)
    assert metrics.are(truth, fill.fit_transform(incomplete), keep) < share * mean
