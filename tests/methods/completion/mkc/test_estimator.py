"""Multi-view kernel completion: objective and closed forms against slow twins, certificates, recovery."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import (
    MKC,
    AbsenceWarning,
    CombineKernels,
    KernelViews,
    MeanFill,
    ViewKernels,
    datasets,
    metrics,
)
from absentia.data._presence import Presence
from absentia.methods.completion.mkc._combine import Approximate, Heterogeneous, agreed
from absentia.methods.completion.mkc._coordinates import Coordinates
from absentia.methods.completion.mkc._free import Free
from absentia.methods.completion.mkc._problem import Problem, agreement, best_weights, simplex_minimum
from absentia.methods.completion.mkc._rows import Rows, agreed_squares, free_rows, within_ball
from conftest import random_kernels, random_problem
from reference import mkc as reference

VARIANTS = ["ht", "app", "sdp"]
MODELS = {"ht": Heterogeneous, "app": Approximate, "sdp": Free}
OPTIONS = [{}, {"center": False}, {"between": "observed"}, {"center": False, "between": "observed"}]


def small_problem(n=14, n_views=3, seed=0, center=True, **options):
    kv = random_problem(n, n_views, seed=seed)
    frames = [Coordinates.of(kv.block(name), center) for name in kv.names]
    return Problem([f.C for f in frames], kv.observed, 1.3, 0.7, 0.01, **options)


def random_point(model, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(x + 0.1 * rng.standard_normal(x.shape) * (x != 0) for x in model.start())


# ----------------------------------------------------------------------------------- slow twins


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_objective_is_that_of_the_paper_term_by_term(variant, everywhere):
    problem = small_problem(everywhere=everywhere)
    model = MODELS[variant](problem)
    at = model.evaluate(random_point(model))
    if variant == "ht":
        wanted = reference.objective_ht(at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01)
    elif variant == "app":
        wanted = reference.objective_app(
            at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01, problem.compared
        )
    else:
        F = model.coordinates(at.point)
        wanted = reference.objective_sdp([f @ f.T for f in F], at.S, 0.7, problem.compared)
    np.testing.assert_allclose(at.value, wanted, rtol=1e-10)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gradient_is_that_of_the_objective_with_the_view_weights_at_their_best(variant, everywhere):
    model = MODELS[variant](small_problem(everywhere=everywhere))
    at = model.evaluate(random_point(model))
    rng = np.random.default_rng(1)
    along = tuple(rng.standard_normal(x.shape) * (x != 0) for x in at.point)
    h = 1e-6
    ahead, behind = (
        model.evaluate(tuple(x + s * h * d for x, d in zip(at.point, along, strict=True))).value
        for s in (1, -1)
    )
    slope = sum(np.vdot(g, d) for g, d in zip(at.gradient, along, strict=True))
    np.testing.assert_allclose((ahead - behind) / (2 * h), slope, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_of_views_are_a_minimum_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((5, 4 if seed % 2 else 9)) + 1.0  # singular for odd seeds
    H = D @ D.T
    s = simplex_minimum(H)
    assert (s >= 0).all()
    np.testing.assert_allclose(s.sum(), 1, rtol=1e-12)
    gradient = H @ s
    # at a minimum no vertex lies lower, and all that carry weight lie level
    assert gradient.min() >= s @ gradient - 1e-8 * np.trace(H)
    others = rng.dirichlet(np.ones(5), 200)
    assert (np.einsum("ij,jk,ik->i", others, H, others) >= s @ H @ s - 1e-10).all()


def test_the_best_weights_find_a_mixture_exactly(rng):
    X = rng.standard_normal((4, 6, 6))
    X[2] = 0.5 * X[0] + 0.2 * X[1] + 0.3 * X[3]
    np.testing.assert_allclose(best_weights(X)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)
    some = [np.arange(2, 6)] * 4
    X[2, :2] = 0
    np.testing.assert_allclose(best_weights(X, some)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)


def test_missing_rows_in_closed_form_equal_the_entries_solved_one_by_one():
    problem = small_problem(n_views=4)
    B = random_point(Heterogeneous(problem))[0]
    S = best_weights(B)
    np.testing.assert_allclose(
        agreed(problem, B, S), reference.agreed(B, problem.observed, S, 0.7, 0.01), atol=1e-10
    )


@pytest.mark.parametrize("variant", ["ht", "app"])
def test_coefficients_of_a_new_sample_equal_least_squares_on_all_residuals(variant, rng):
    problem = small_problem(n=12)
    model = MODELS[variant](problem)
    at = model.evaluate(random_point(model))
    present = np.array([True, False, True])
    a = [rng.standard_normal(len(seen)) * p for seen, p in zip(problem.seen, present, strict=True)]
    rows = Rows(present[None], [x[None] for x in a], [], np.zeros((1, 3)))
    y, square = model.fold(at.point, at.S, rows)
    b = reference.new_row(
        at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01, a, present, variant == "app"
    )
    for v in range(3):
        np.testing.assert_allclose(y[v][0], b[v] @ problem.C[v], atol=1e-7)
    np.testing.assert_allclose(square, [[(part**2).sum() for part in y]], rtol=1e-12)


def test_the_nearest_row_inside_a_ball_satisfies_its_optimality_conditions(rng):
    F = rng.standard_normal((9, 5))
    g = rng.standard_normal((4, 5)) * np.array([[0.1], [1.0], [10.0], [100.0]])
    most = np.full(4, 0.5)
    f = within_ball(np.linalg.eigh(F.T @ F), g, most)
    length = (f**2).sum(axis=1)
    assert (length <= most * (1 + 1e-9)).all()
    residual = g - f @ (F.T @ F)
    rho = np.einsum("ij,ij->i", residual, f) / length
    assert (rho > -1e-8).all()
    assert length[0] < 0.4  # short by itself
    assert rho[3] > 1
    np.testing.assert_allclose(residual, rho[:, None] * f, atol=1e-6 * np.abs(g).max())
    np.testing.assert_allclose(length[2:], most[2:], rtol=1e-9)


def test_own_values_of_a_new_sample_agree_where_it_lacks_views():
    S = np.array([[0, 0.7, 0.3], [0, 0, 1], [0, 1, 0]])  # only the first view is a mixture with the first
    known = np.array([[False, True, True], [True, True, True], [False, False, False]])
    square = np.array([[0, 2.0, 0.5], [3.0, 2.0, 1.0], [0, 0, 0]])
    found = agreed_squares(agreement(S), Rows(known, [], [], square))
    np.testing.assert_allclose(found, [[0.7 * 2 + 0.3 * 0.5, 2, 0.5], [3, 2, 1], [1, 1, 1]], atol=1e-5)


def test_free_rows_of_views_that_are_all_alike_are_alike(rng):
    F = rng.standard_normal((12, 4))
    c = rng.standard_normal((3, 4))
    S = (np.ones((3, 3)) - np.eye(3)) / 2
    known = np.array([[False, True, True], [True, False, False], [True, True, True]])
    C = [c * k[:, None] for k in known.T]
    rows = Rows(known, [], C, (c**2).sum(axis=1)[:, None] * known)
    f, square = free_rows(agreement(S), [F] * 3, rows)
    for view in f:
        np.testing.assert_allclose(view, c, atol=1e-4)
    np.testing.assert_allclose(square, np.repeat((c**2).sum(axis=1)[:, None], 3, axis=1), atol=1e-4)


def test_coordinates_give_back_the_kernel_and_find_its_samples():
    K = random_kernels(20, 1)[0]
    for center in (True, False):
        own = Coordinates.of(K, center)
        frame, place = own.frame(own.rank), own.place(own.C)
        np.testing.assert_allclose(place.W @ frame.G.T, K, atol=1e-9)
        np.testing.assert_allclose(place.W @ frame.E @ place.W.T + np.diag(place.s), K, atol=1e-9)
        np.testing.assert_allclose(K @ frame.C, frame.G, atol=1e-9)
        np.testing.assert_allclose(own.locate(K), own.C, atol=1e-7)
        np.testing.assert_allclose(own.square(K, K.diagonal()), (own.C**2).sum(1), atol=1e-9)
        np.testing.assert_allclose((own.C**2).sum(1).mean(), 1, rtol=1e-9)
        longer = own.place(own.C, (own.C**2).sum(1) + 1)
        np.testing.assert_allclose(longer.s, own.scale)


# ------------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("absent", [0.15, 0.5])
def test_the_objective_never_rises(variant, options, absent):
    mkc = MKC(variant, tol=0, max_iter=60, **options).fit(random_problem(absent=absent, seed=3))
    assert mkc.n_iter_ == 60
    assert (np.diff(mkc.objective_) <= 0).all()
    assert mkc.objective_[-1] < 0.9 * mkc.objective_[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_descent_ends_where_nothing_falls_any_more(variant):
    """A certificate of first order: the directional derivative is small along every random direction."""
    kv = random_problem(24, 3, seed=1)
    mkc = MKC(variant, tol=1e-9, max_iter=3000, c3=1e-2).fit(kv)
    model = mkc._model
    at, first = model.evaluate(mkc._point), model.evaluate(model.start())
    size = [np.sqrt(sum(np.vdot(g, g) for g in x.gradient)) for x in (at, first)]
    if variant != "sdp":
        alive = (at.point[0] != 0).any(axis=1, keepdims=True)
        size[0] = np.linalg.norm(at.gradient[0] * alive)
        dead = np.linalg.norm(at.gradient[0] * ~alive, axis=1)
        assert dead.max() <= 1.01 * mkc.c3 / 3  # a column at zero wants to stay there
    assert size[0] < 2e-2 * size[1]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_view_weights_lie_on_the_simplex_without_a_diagonal(variant, options):
    mkc = MKC(variant, tol=0, max_iter=10, **options).fit(random_problem())
    assert (mkc.weights_ >= 0).all()
    np.testing.assert_allclose(mkc.weights_.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(mkc.weights_.diagonal(), 0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", ["ht", "app"])
def test_the_completed_kernel_is_made_of_coefficients_whose_observed_rows_are_the_identity(variant, center):
    kv = random_problem()
    mkc = MKC(variant, center=center, tol=0, max_iter=10).fit(kv)
    done = mkc.transform(kv)
    for v, name in enumerate(kv.names):
        present = kv.observed[:, v]
        A = mkc._point[0][v][:, present].copy()
        if center:
            A += (1 - A.sum(axis=1))[:, None] / present.sum()
        A[present] = np.eye(present.sum())
        np.testing.assert_allclose(done.block(name), A @ kv.block(name) @ A.T, atol=1e-9)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_singular_kernels_stay_positive_semidefinite_and_keep_their_block(variant, options, rng):
    X = rng.standard_normal((3, 30, 4))
    K = X @ X.transpose(0, 2, 1)
    kv = KernelViews.from_dense(K, observed=random_problem(30, 3).observed)
    done = MKC(variant, tol=0, max_iter=10, **options).fit_transform(kv)
    for v, name in enumerate(kv.names):
        assert np.linalg.eigvalsh(done.block(name)).min() > -1e-10 * np.linalg.eigvalsh(K[v]).max()
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(done.block(name)[seen], K[v][seen])


@pytest.mark.parametrize("variant", ["ht", "app"])
def test_a_large_penalty_leaves_no_basis_and_the_mean(variant):
    kv = random_problem()
    mkc = MKC(variant, c3=10.0)
    done = mkc.fit_transform(kv)
    assert all(len(ids) == 0 for ids in mkc.basis_.values())
    np.testing.assert_allclose(done.to_dense(), MeanFill().fit_transform(kv).to_dense(), atol=1e-10)


def test_the_basis_names_the_samples_whose_columns_are_left():
    kv = random_problem()
    mkc = MKC("app", c3=0.01).fit(kv)
    for v, name in enumerate(kv.names):
        left = np.abs(mkc._point[0][v]).sum(axis=0) > 0
        np.testing.assert_array_equal(mkc.basis_[name], kv.ids[left])
        assert 0 < left.sum() < kv.observed[:, v].sum()
    everyone = MKC("sdp", tol=0, max_iter=1).fit(kv).basis_
    np.testing.assert_array_equal(everyone["view1"], kv.ids[kv.observed[:, 1]])


# ---------------------------------------------------------------------------------------- recovery


def mixture_problem(seed, n=60):
    """View 'mix' is a mixture of the other three and lacks a quarter of the samples; they lack none."""
    others = random_kernels(n, 3, seed)
    K = np.concatenate([np.tensordot([0.5, 0.3, 0.2], others, 1)[None], others])
    full = KernelViews.from_dense(K, names=["mix", "a", "b", "c"])
    keep = np.ones((n, 4), bool)
    keep[np.random.default_rng(seed).permutation(n)[: n // 4], 0] = False
    return full, full.hide(keep)


# error of the missing rows at most this share of the mean's; ht makes views agree in who resembles whom,
# not in kernels, so to it a mixture of kernels is only near one of them
RECOVERED = {
    "ht": (MKC("ht", c1=100, c2=1000, tol=1e-3), 0.55),
    "app": (MKC("app", c1=1000, c2=10, tol=1e-3), 0.25),
    "sdp": (MKC("sdp", tol=1e-3), 0.25),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_that_is_a_mixture_of_the_others_is_recovered(variant, seed):
    full, kv = mixture_problem(seed)
    mkc, share = RECOVERED[variant]
    error, of_mean = (metrics.are(full, fill.fit_transform(kv), kv.observed) for fill in (mkc, MeanFill()))
    assert error < share * of_mean
    if variant != "ht":
        np.testing.assert_allclose(mkc.weights_[0, 1:], [0.5, 0.3, 0.2], atol=0.1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_that_is_another_view_is_recovered(variant):
    full, kv = mixture_problem(0)
    K = full.to_dense()
    K[0] = 2 * K[1]
    full = KernelViews.from_dense(K)
    kv = full.hide(kv.observed)
    mkc, _ = RECOVERED[variant]
    error, of_mean = (metrics.are(full, fill.fit_transform(kv), kv.observed) for fill in (mkc, MeanFill()))
    assert error < 0.3 * of_mean  # 0.26 at the optimum
    # nearly all of it: the other views' kernels share structure, and explain some of what is completed
    assert mkc.weights_[0, 1] > 0.8


@pytest.mark.parametrize("variant", VARIANTS)
def test_digits_are_completed_better_than_by_the_mean(data_folder, variant):
    data = datasets.load_benchmark("cvkt_digits200_kernels", data_folder)
    keep = data.extra["masks"][2].astype(bool)
    done = MKC(variant, tol=1e-3).fit_transform(data.kernels.hide(keep))
    mean = MeanFill().fit_transform(data.kernels.hide(keep))
    assert metrics.are(data.kernels, done, keep) < 0.95 * metrics.are(data.kernels, mean, keep)


# ------------------------------------------------------------------------------------- new samples


def halves(kv, n_train=45):
    train, new = np.arange(n_train), np.arange(n_train, len(kv))
    return kv[np.ix_(train, train)], kv[np.ix_(new, train)]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", ["ht", "app"])
def test_a_training_sample_that_comes_as_a_new_one_gets_its_own_coefficients(variant, center):
    kv = random_problem(30, 3, seed=2)
    mkc = MKC(variant, center=center, tol=1e-7, max_iter=4000).fit(kv)
    y, _ = mkc._model.fold(mkc._point, mkc._S, mkc._rows_of(kv))
    for own, again in zip(mkc._model.coordinates(mkc._point), y, strict=True):
        # the new row leaves out one entry of thirty, its kernel value with itself
        assert np.linalg.norm(own - again) < 0.05 * np.linalg.norm(own)


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_samples_are_completed_much_as_if_they_had_been_there(variant):
    full = KernelViews.from_dense(random_kernels(60, 4))
    kv = full.hide(random_problem(60, 4).observed)
    train, new = halves(kv)
    mkc = MKC(variant, tol=1e-3)
    refitted = mkc.fit_transform(kv).to_dense()[:, 45:, :45]
    folded = mkc.fit(train).transform(new).to_dense()
    mean = MeanFill().fit(train).transform(new).to_dense()
    truth = full.to_dense()[:, 45:, :45]
    lacking = ~kv.observed[45:].T
    miss, gap, plain = (
        np.linalg.norm((a - b)[lacking]) for a, b in ((folded, truth), (folded, refitted), (mean, truth))
    )
    assert gap < 0.4 * plain
    assert miss < 0.95 * plain


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_kernel_with_a_new_sample_added_is_positive_semidefinite_and_keeps_what_was_observed(variant):
    train, new = halves(random_problem(60, 4, absent=0.4))
    mkc = MKC(variant, tol=1e-3)
    old, rows = mkc.fit_transform(train), mkc.transform(new)
    for v, name in enumerate(train.names):
        have = new.observed[:, v]
        np.testing.assert_array_equal(rows.block(name)[np.ix_(have, train.observed[:, v])], new.block(name))
        np.testing.assert_array_equal(rows.diagonal(name)[have], new.diagonal(name))
        for row, own in zip(rows.block(name), rows.diagonal(name), strict=True):
            K = np.block([[old.block(name), row[:, None]], [row[None], own]])
            assert np.linalg.eigvalsh(K).min() > -1e-9


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_new_sample_does_not_depend_on_its_companions(variant):
    train, new = halves(random_problem(60, 4, absent=0.4))
    mkc = MKC(variant, tol=1e-3).fit(train)
    together = mkc.transform(new)
    alone = [mkc.transform(new[[i]]) for i in range(len(new))]
    np.testing.assert_allclose(
        together.to_dense(), np.concatenate([a.to_dense() for a in alone], axis=1), atol=1e-8
    )


def test_rows_whose_own_values_are_unknown_are_completed_as_if_those_were_average():
    train, new = halves(random_problem(60, 4))
    mkc = MKC("sdp", tol=1e-3).fit(train)
    known = {name: new.block(name) for name in new.names}
    nothing = {name: np.full(len(block), np.nan) for name, block in known.items()}
    columns = Presence(new.column_ids, new.names, new.column_observed)
    rows = mkc.transform(KernelViews.between(new, columns, known, nothing))
    assert np.isfinite(rows.to_dense()).all()
    np.testing.assert_array_equal(np.isnan(rows.diagonal("view0")), new.observed[:, 0])
    # these kernels have a unit diagonal, so own values differ from the average only by centring
    np.testing.assert_allclose(rows.to_dense(), mkc.transform(new).to_dense(), atol=0.2)


@pytest.mark.parametrize("variant", ["app", "sdp"])
def test_new_samples_are_refused_where_kernels_are_compared_on_observed_samples_only(variant):
    train, new = halves(random_problem(60, 4))
    mkc = MKC(variant, between="observed", tol=0, max_iter=2).fit(train)
    with pytest.raises(NotImplementedError, match=r"use between='all', variant='ht', or fit_transform"):
        mkc.transform(new)


def test_in_the_middle_of_a_pipeline(digits):
    pipeline = make_pipeline(
        ViewKernels(), MKC("sdp", tol=1e-3), CombineKernels(), SVC(kernel="precomputed")
    )
    assert cross_val_score(pipeline, *digits, cv=3, error_score="raise").mean() > 0.8


# ----------------------------------------------------------------------------------------- absence


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sample_without_any_view_becomes_the_mean(variant, center):
    observed = random_problem().observed.copy()
    observed[7] = False
    with pytest.warns(AbsenceWarning, match=r"1 sample\(s\) have no view at all"):
        kv = KernelViews.from_dense(random_kernels(), observed=observed)
    mkc = MKC(variant, center=center, tol=0, max_iter=5)
    with pytest.warns(AbsenceWarning, match=r"no view at all, e.g. 7"):
        done = mkc.fit_transform(kv)
    mean = MeanFill().fit_transform(kv)
    for v, name in enumerate(kv.names):
        cells = np.append(np.flatnonzero(observed[:, v]), 7)
        np.testing.assert_allclose(done.block(name)[7, cells], mean.block(name)[7, cells], atol=1e-9)
    with pytest.warns(AbsenceWarning, match=r"sample 7 in view 'view0': the sample is linked by no chain"):
        row = mkc.transform(kv[[7]])
    np.testing.assert_allclose(row.to_dense()[:, 0], done.to_dense()[:, 7], atol=1e-9)
    np.testing.assert_allclose(row.diagonal("view0"), done.block("view0")[7, 7], atol=1e-9)


def test_samples_that_no_view_links_are_completed_by_the_mean():
    observed = np.zeros((20, 4), bool)
    observed[:10, :2], observed[10:, 2:] = True, True
    observed[0, 1] = observed[10, 2] = False
    kv = KernelViews.from_dense(random_kernels(20, 4), observed=observed)
    mkc = MKC("sdp", tol=0, max_iter=5)
    with pytest.warns(AbsenceWarning, match="absent cell.* linked by no chain of views"):
        done = mkc.fit_transform(kv)
    mean = MeanFill().fit_transform(kv)
    np.testing.assert_allclose(done.block("view0")[10:], mean.block("view0")[10:], atol=1e-9)
    assert np.abs(done.block("view1")[0] - mean.block("view1")[0]).max() > 0.01
    with pytest.warns(AbsenceWarning, match="absent cell.* linked by no chain of views"):
        new = mkc.transform(kv[np.ix_(np.arange(12, 15), np.arange(20))])
    np.testing.assert_allclose(new.block("view0"), mean.block("view0")[12:15], atol=1e-9)


def test_a_view_nobody_has_becomes_zero_and_gets_no_weight():
    observed = random_problem().observed.copy()
    observed[:, 2] = False
    observed[:, 0] = True
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        kv = KernelViews.from_dense(random_kernels(), observed=observed)
    mkc = MKC("ht", tol=0, max_iter=3)
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        done = mkc.fit_transform(kv)
    assert (done.block("view2") == 0).all()
    assert (mkc.weights_[2] == 0).all()
    assert (mkc.weights_[:, 2] == 0).all()
    assert (mkc.transform(kv[[0, 1]]).block("view2") == 0).all()


def test_a_constant_kernel_is_filled_with_its_constant():
    K = random_kernels(20, 3)
    K[1] = 4.0
    kv = KernelViews.from_dense(K, observed=random_problem(20, 3).observed)
    for variant in VARIANTS:
        mkc = MKC(variant, tol=0, max_iter=3)
        np.testing.assert_allclose(mkc.fit_transform(kv).block("view1"), 4.0)
        new = mkc.transform(kv[[0, 1, 2]])
        np.testing.assert_allclose(new.block("view1"), 4.0)
        np.testing.assert_allclose(new.diagonal("view1"), 4.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_large_constant_added_to_a_kernel_changes_nothing_but_the_constant(variant):
    kv = random_problem(20, 3)
    K = kv.to_dense()
    K[1] += 100.0
    one, other = (MKC(variant, tol=0, max_iter=5).fit_transform(x) for x in (kv, KernelViews.from_dense(K)))
    np.testing.assert_allclose(other.block("view1") - 100.0, one.block("view1"), atol=1e-6)
    np.testing.assert_allclose(other.block("view0"), one.block("view0"), atol=1e-6)


# ------------------------------------------------------------------------------------- what is refused


def test_wrong_parameters_and_kernels_are_named():
    kv = random_problem(20, 3)
    for parameters, message in (
        ({"variant": "embd"}, "'ht', 'app' or 'sdp', not 'embd'"),
        ({"between": "some"}, "'all' or 'observed'"),
        ({"c1": 0}, "c1 must be a number above 0 or 'heldout', not 0"),
        ({"c3": -1.0}, "c3 must be a number of 0 or more or 'heldout', not -1"),
        ({"max_iter": 0}, "max_iter must be a whole number of 1 or more, not 0"),
        ({"c2": np.nan}, "c2 must be a number above 0 or 'heldout', not nan"),
    ):
        with pytest.raises(ValueError, match=message):
            MKC(**parameters).fit(kv)
    with pytest.raises(ValueError, match=r"only view 'view0' is observed.*two are wanted"):
        MKC().fit(kv.select(["view0"])[np.ix_(*[np.flatnonzero(kv.observed[:, 0])] * 2)])
    K = random_kernels(20, 3)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        MKC().fit(KernelViews.from_dense(K - 0.5 * np.eye(20)))
    K[1] = 0
    with pytest.raises(ValueError, match="'view1': the kernel is zero"):
        MKC().fit(KernelViews.from_dense(K))


def test_stopping_early_is_said_and_a_callback_can_do_it():
    kv = random_problem()
    with pytest.warns(ConvergenceWarning, match="MKC"):
        MKC(max_iter=1).fit(kv)
    seen = []
    mkc = MKC(callback=lambda progress: seen.append(progress) or len(seen) == 3).fit(kv)
    assert mkc.n_iter_ == 3
    assert not mkc.converged_
    assert [p.objective for p in seen] == list(mkc.objective_)
