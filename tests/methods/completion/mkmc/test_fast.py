"""The fast algorithms: same objective as the papers', reached without imputing."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import (
    MKMC,
    CombineKernels,
    KernelViews,
    MeanFill,
    ViewKernels,
    Views,
    datasets,
    metrics,
    missingness,
)
from absentia.core._completed import Completed
from absentia.core._operators import Dense, Gram
from absentia.methods.completion.mkmc import _fast as mkmc_fast
from absentia.methods.completion.mkmc import _full as mkmc_full
from absentia.methods.completion.mkmc import _rank as rank
from absentia.methods.completion.mkmc._estimator import merged
from conftest import random_kernels, random_problem
from reference import mkmc as slow
from reference import visible_em

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")

MODELS = ["full", "pca", "fa"]
NOISE = {"pca": mkmc_fast.EqualNoise(), "fa": mkmc_fast.OwnNoise()}


def problem_of(kv, eps=1e-3, dtype="float64"):
    seen = [
        mkmc_fast.Seen(kv.operator(n).astype(dtype), np.flatnonzero(o))
        for n, o in zip(kv.names, kv.observed.T, strict=True)
    ]
    return mkmc_fast.Problem.of(seen, len(kv), eps, dtype)


def random_point(n, q, model, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, q)), rng.normal(size=1 if model == "pca" else n)


# ----------------------------------------------------------------------------------------- identity


def placed(problem, point):
    """A point given in the samples' own order, in the problem's."""
    return tuple(x if len(x) == 1 else x[problem.order] for x in point)


@pytest.mark.parametrize("model", ["pca", "fa"])
@pytest.mark.parametrize("eps", [1e-3, 0.7])
def test_an_evaluation_is_the_slow_objective_and_its_preconditioned_gradient_the_em_step(model, eps):
    kv = random_problem(25, 3, 0.4, seed=1)
    point = random_point(25, 4, model)
    W, d = point[0], np.broadcast_to(np.exp(point[1]), 25)
    problem = problem_of(kv, eps)
    found = mkmc_fast.evaluate(problem, NOISE[model], placed(problem, point))
    K = np.nan_to_num(kv.to_dense())
    wanted = slow.penalised_objective(K, kv.observed, W @ W.T + np.diag(d), eps)
    assert found.value == pytest.approx(wanted, rel=1e-11)
    W_new = visible_em.loadings(K, kv.observed, W, d, eps)
    step = found.precondition(found.gradient)[0]
    np.testing.assert_allclose(found.point[0] - step, W_new[problem.order], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("model", ["pca", "fa"])
def test_the_gradient_is_the_slope_of_the_slow_objective(model):
    kv = random_problem(25, 3, 0.4, seed=1)
    K, problem = np.nan_to_num(kv.to_dense()), problem_of(kv, 0.1)
    point = random_point(25, 4, model)
    gradient = mkmc_fast.evaluate(problem, NOISE[model], placed(problem, point)).gradient
    rng = np.random.default_rng(1)

    def objective(W, log_d):
        d = np.broadcast_to(np.exp(log_d), 25)
        return slow.penalised_objective(K, kv.observed, W @ W.T + np.diag(d), 0.1)

    for _ in range(5):
        along = [rng.normal(size=x.shape) for x in point]
        ahead, behind = (
            objective(*(x + s * 1e-5 * u for x, u in zip(point, along, strict=True))) for s in (1, -1)
        )
        slope = sum(np.vdot(g, u) for g, u in zip(gradient, placed(problem, along), strict=True))
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def em_step(found):
    """Where the preconditioned gradient leads: the EM step."""
    return tuple(x - y for x, y in zip(found.point, found.precondition(found.gradient), strict=True))


@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_an_evaluation_of_the_full_model_is_the_papers_step_and_objective(absent):
    kv = random_problem(25, 3, absent, seed=1)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(25, 25))
    M = A @ A.T / 25 + 0.3 * np.eye(25)
    problem = problem_of(kv)
    found = mkmc_full.evaluate(problem, (M[np.ix_(problem.order, problem.order)],))
    K = np.nan_to_num(kv.to_dense())
    assert found.value == pytest.approx(slow.penalised_objective(K, kv.observed, M, 1e-3), rel=1e-11)
    completed = [slow.impute(k, o, M) for k, o in zip(K, kv.observed.T, strict=True)]
    wanted = slow.stabilise(sum(completed) / 3, 3, 1e-3)
    np.testing.assert_allclose(
        mkmc_full.as_operator(problem, em_step(found)).to_dense(), wanted, rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("model", MODELS)
def test_views_that_see_the_same_samples_can_be_merged(model):
    K = random_kernels(30, 4)
    keep = np.ones((30, 4), bool)
    keep[:8, :2] = False
    keep[20:, 2] = False
    kv = KernelViews.from_dense(K, observed=keep)
    apart = [
        mkmc_fast.Seen(Dense(kv.block(n)), np.flatnonzero(o))
        for n, o in zip(kv.names, kv.observed.T, strict=True)
    ]
    together = merged(apart)
    assert sorted(view.weight for view in together) == [1, 1, 2]
    both = [mkmc_fast.Problem.of(views, 30, 1e-3, "float64") for views in (apart, together)]
    if model == "full":
        point = (np.eye(30) + 0.1,)
        found = [mkmc_full.evaluate(p, point) for p in both]
        ends = [mkmc_full.as_operator(p, em_step(f)).to_dense() for p, f in zip(both, found, strict=True)]
    else:
        point = random_point(30, 3, model)
        found = [mkmc_fast.evaluate(p, NOISE[model], placed(p, point)) for p in both]
        ends = [np.empty((30, 3)), np.empty((30, 3))]
        for end, p, f in zip(ends, both, found, strict=True):
            end[p.order] = f.gradient[0]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-12)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9, atol=1e-10)


@pytest.mark.filterwarnings("ignore:with 3 components")  # these views share nothing
@pytest.mark.parametrize("model", ["pca", "fa"])
def test_factors_give_what_their_kernels_give(model):
    rng = np.random.default_rng(0)
    Phi = {
        f"v{k}": (np.sort(rng.choice(40, 30, replace=False)), rng.normal(size=(30, 5))) for k in range(3)
    }
    factors = KernelViews.from_factors(Phi)
    dense = KernelViews.from_blocks({k: (ids, P @ P.T) for k, (ids, P) in Phi.items()})
    np.testing.assert_array_equal(factors.observed, dense.observed)
    one, other = (MKMC(model, n_components=3, tol=0, max_iter=20) for _ in range(2))
    a, b = one.fit_transform(factors), other.fit_transform(dense)
    assert isinstance(factors.operator("v0"), Gram)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-9)
    np.testing.assert_allclose(a.to_dense(), b.to_dense(), atol=1e-6)


@pytest.mark.parametrize("model", ["pca", "fa"])
def test_single_precision_keeps_loadings_and_noise_where_it_can_tell(model):
    kv = random_problem(25, 3, 0.4, seed=1)
    problem = problem_of(kv, dtype="float32")
    W, log_d = random_point(25, 4, model)
    W[3] *= 1e4
    log_d[:1] = -20.0
    found = mkmc_fast.evaluate(problem, NOISE[model], (W.astype(np.float32), log_d))
    assert np.linalg.norm(found.point[0], axis=1).max() == pytest.approx(problem.ceiling, rel=1e-5)
    assert np.exp(found.point[1]).min() == pytest.approx(problem.floor)
    # neither may the next step lead further out
    assert np.vdot(found.gradient[0][3], found.point[0][3]) >= -1e-3
    assert found.gradient[1][0] <= 0


# ---------------------------------------------------------------------------------- against the papers


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow if seed > 3 else ()) for seed in range(17)]
)
@pytest.mark.parametrize("model", MODELS)
def test_the_objective_is_not_above_the_papers_and_never_rises(model, seed):
    rng = np.random.default_rng(seed)
    n, n_views, absent = (
        int(rng.integers(20, 60)),
        int(rng.integers(2, 7)),
        float(rng.choice([0.1, 0.3, 0.5])),
    )
    absent = min(absent, (n_views - 1) / n_views - 0.05)
    kv = random_problem(n, n_views, absent, seed)
    options = {"n_components": int(rng.integers(1, 6))}
    fast = MKMC(model, tol=1e-8, max_iter=3000, **options).fit(kv)
    paper = MKMC(model, tol=0, max_iter=300, algorithm="paper", **options).fit(kv)
    best = paper.objective_[-1]
    assert fast.objective_[-1] <= best + 1e-5 * abs(best)
    slack = 1e-12 * np.abs(fast.objective_).max() if model == "full" else 0.0
    assert (np.diff(fast.objective_) <= slack).all()


def test_it_takes_far_fewer_evaluations():
    kv = random_problem(80, 5, 0.4, 3)
    fast = MKMC("fa", n_components=5, tol=1e-7, max_iter=2000).fit(kv)
    paper = MKMC("fa", n_components=5, tol=0, max_iter=4 * fast.n_evaluations_, algorithm="paper").fit(kv)
    assert fast.objective_[-1] < paper.objective_[-1]


def test_the_gradient_vanishes_where_it_stops():
    """Certificate: finite differences of the objective at the solution, against those at the start."""
    kv = random_problem(30, 3, 0.3)
    problem = problem_of(kv)
    for model in ("pca", "fa"):
        mkmc = MKMC(model, n_components=2, tol=1e-13, max_iter=5000).fit(kv)
        d = mkmc.model_.d[:1] if model == "pca" else mkmc.model_.d
        solution = placed(problem, (np.array(mkmc.model_.W), np.log(d)))
        first = mkmc_fast.start(problem, NOISE[model], 2, np.random.default_rng(0))
        slopes = [slope(problem, NOISE[model], point) for point in (solution, first)]
        assert slopes[0] < 2e-3 * slopes[1]


def slope(problem, noise, point, h=1e-5):
    """Largest directional derivative over some random directions."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        direction = [rng.normal(size=x.shape) for x in point]
        ahead, behind = (
            mkmc_fast.evaluate(
                problem, noise, tuple(x + s * h * u for x, u in zip(point, direction, strict=True))
            ).value
            for s in (1, -1)
        )
        found.append(abs(ahead - behind) / (2 * h))
    return max(found)


# --------------------------------------------------------------------------------- implicit operators


@pytest.mark.parametrize("model", ["pca", "fa"])
def test_completed_kernels_are_operators_that_match_the_papers_imputation(model):
    kv = random_problem(40, 4, 0.4)
    mkmc = MKMC(model, n_components=4)
    done = mkmc.fit_transform(kv)
    K = np.nan_to_num(kv.to_dense())
    wanted = [slow.impute(k, o, mkmc.model_.to_dense()) for k, o in zip(K, kv.observed.T, strict=True)]
    rng = np.random.default_rng(0)
    for name, dense in zip(kv.names, wanted, strict=True):
        op = done.operator(name)
        assert isinstance(op, Completed)
        X = rng.normal(size=(40, 2))
        np.testing.assert_allclose(op.to_dense(), dense, atol=1e-10)
        np.testing.assert_allclose(op @ X, dense @ X, atol=1e-9)
        np.testing.assert_allclose(op.diagonal(), dense.diagonal(), atol=1e-10)
        rows, cols = rng.permutation(40)[:13], rng.choice(40, 9)
        np.testing.assert_allclose(op.block(rows, cols), dense[np.ix_(rows, cols)], atol=1e-10)
        part = op.select(rows, cols)
        np.testing.assert_allclose(part @ X[:9], dense[np.ix_(rows, cols)] @ X[:9], atol=1e-9)
        np.testing.assert_allclose(
            part.select(np.arange(5), np.arange(4)).to_dense(),
            dense[np.ix_(rows[:5], cols[:4])],
            atol=1e-10,
        )
        np.testing.assert_allclose(op.select(rows, rows).diagonal(), dense.diagonal()[rows], atol=1e-10)


def test_fitting_and_completing_never_forms_a_square_matrix():
    """20,000 samples as factors: one square matrix would be 3.2 GB."""
    import tracemalloc

    rng = np.random.default_rng(0)
    n = 20_000
    keep = missingness.mcar((n, 3), 0.3, random_state=0)
    shared = rng.normal(size=(n, 5))
    factors = {
        f"v{k}": (
            np.flatnonzero(o),
            np.hstack([shared[o], rng.normal(size=(o.sum(), 5))]).astype(np.float32),
        )
        for k, o in enumerate(keep.T)
    }
    kv = KernelViews.from_factors(factors, copy=False)
    tracemalloc.start()
    done = MKMC("pca", n_components=5, dtype="float32", tol=1e-5).fit_transform(kv)
    image = done.operator("v0") @ np.ones((n, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(image).all()
    assert peak < 200e6


# ------------------------------------------------------------------------------------------ new samples


def split_digits(n=240, new=40, absent=0.3):
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    hidden = views.hide(missingness.mcar(views, absent, random_state=0))
    order = np.random.default_rng(0).permutation(n)
    return views, hidden, y, np.sort(order[new:]), np.sort(order[:new])


@pytest.mark.parametrize("model", ["pca", "fa", pytest.param("full", marks=pytest.mark.slow)])
def test_new_samples_are_completed_as_well_as_by_fitting_again(model):
    views, hidden, _, train, new = split_digits()
    kernels = ViewKernels().fit(hidden[train])
    options = {"n_components": 15, "tol": 1e-7, "max_iter": 1000}
    mkmc = MKMC(model, **options).fit(kernels.fit_transform(hidden[train]))
    rows = mkmc.transform(kernels.transform(hidden[new]))
    truth = kernels.transform(views[new])
    assert rows.observed.all()
    assert rows.shape == (len(new), len(train))
    # refit with the new samples among the training samples, on the same kernel values
    joint = stacked(kernels, hidden, train, new)
    refit = MKMC(model, **options).fit_transform(joint).to_dense()[:, len(train) :, : len(train)]
    absent = ~hidden[new].observed
    got, wanted = rows.to_dense(), truth.to_dense()
    errors = [relative_error(x, wanted, absent) for x in (got, refit)]
    mean = (
        MeanFill()
        .fit(kernels.fit_transform(hidden[train]))
        .transform(kernels.transform(hidden[new]))
        .to_dense()
    )
    assert errors[0] < errors[1] + 0.02
    assert errors[0] < 0.8 * relative_error(mean, wanted, absent)
    assert relative_error(got, refit, absent) < 0.12


def stacked(kernels, hidden, train, new):
    """KernelViews of training and new samples together, with the widths learned on training."""
    gammas = {name: {"gamma": gamma} for name, gamma in kernels.gamma_.items()}
    fixed = {}
    for name in hidden.names:
        X = hidden[train].block(name)
        fixed[name] = (X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0))
    both = hidden[np.concatenate([train, new])]
    tables = {name: (both.to_dict()[name] - m) / s for name, (m, s) in fixed.items()}
    return ViewKernels(standardize=False, per_view=gammas).fit_transform(Views.from_dict(tables))


def relative_error(got, wanted, absent):
    """Of the rows in views the samples lacked, where the truth is known."""
    error = size = 0.0
    for a, b, rows in zip(got, wanted, absent.T, strict=True):
        known = np.isfinite(b[rows])
        error += ((a[rows] - b[rows])[known] ** 2).sum()
        size += (b[rows][known] ** 2).sum()
    return np.sqrt(error / size)


@pytest.mark.parametrize("model", MODELS)
def test_what_a_new_sample_shows_is_kept_and_its_row_extends_a_positive_kernel(model):
    _, hidden, _, train, new = split_digits(120, 20)
    kernels = ViewKernels().fit(hidden[train])
    square = kernels.fit_transform(hidden[train])
    fresh = kernels.transform(hidden[new])
    mkmc = MKMC(model, n_components=8, tol=1e-6)
    completed = mkmc.fit_transform(square)
    rows = mkmc.transform(fresh)
    for v, name in enumerate(square.names):
        seen = np.ix_(fresh.observed[:, v], fresh.column_observed[:, v])
        np.testing.assert_array_equal(rows.block(name)[seen], fresh.block(name))
        np.testing.assert_array_equal(rows.diagonal(name)[fresh.observed[:, v]], fresh.diagonal(name))
        K, k, own = completed.block(name), rows.block(name), rows.diagonal(name)
        explained = np.einsum("ij,ji->i", k, np.linalg.solve(K + 1e-9 * np.eye(len(K)), k.T))
        absent = ~fresh.observed[:, v]
        assert (own[absent] >= explained[absent] - 1e-6).all()


@pytest.mark.parametrize("model", MODELS)
def test_new_samples_do_not_depend_on_their_company(model):
    _, hidden, _, train, new = split_digits(100, 20)
    kernels = ViewKernels().fit(hidden[train])
    mkmc = MKMC(model, n_components=6, tol=1e-5).fit(kernels.fit_transform(hidden[train]))
    together = mkmc.transform(kernels.transform(hidden[new])).to_dense()
    alone = mkmc.transform(kernels.transform(hidden[new[[7]]])).to_dense()
    np.testing.assert_allclose(alone[:, 0], together[:, 7], atol=1e-6)


def test_a_new_sample_without_any_view_gets_the_prior():
    _, hidden, _, train, new = split_digits(100, 20)
    kernels = ViewKernels().fit(hidden[train])
    empty = hidden[new[:1]].hide(np.zeros((1, 6), bool))
    for model in MODELS:
        mkmc = MKMC(model, n_components=6, tol=1e-5).fit(kernels.fit_transform(hidden[train]))
        rows = mkmc.transform(kernels.transform(empty))
        np.testing.assert_allclose(rows.to_dense(), 0, atol=1e-12)
        np.testing.assert_allclose([rows.diagonal(n)[0] for n in rows.names], 1.0, rtol=1e-6)


def test_factors_of_new_samples_are_completed_like_their_kernels():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(60, 4))
    keep = missingness.mcar((60, 3), 0.3, random_state=0)
    Phi = [np.hstack([shared, 0.3 * rng.normal(size=(60, 4))]) for _ in range(3)]
    factors = KernelViews.from_factors(
        {f"v{k}": (np.flatnonzero(o), P[o]) for k, (P, o) in enumerate(zip(Phi, keep.T, strict=True))}
    )
    dense = KernelViews.from_dense([P @ P.T for P in Phi], observed=keep, names=["v0", "v1", "v2"])
    a, b = np.arange(45), np.arange(45, 60)
    rows = []
    for kv in (factors, dense):
        mkmc = MKMC("pca", n_components=4, tol=1e-10, max_iter=2000).fit(kv[np.ix_(a, a)])
        rows.append(mkmc.transform(kv[np.ix_(b, a)]).to_dense())
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-3 * np.abs(rows[1]).max())


@pytest.mark.parametrize("model", MODELS)
def test_the_whole_pipeline_cross_validates_on_views(model):
    views, y = datasets.load_digit_views(n_samples=150, return_X_y=True)
    hidden = views.hide(missingness.mcar(views, 0.3, random_state=0))
    pipeline = make_pipeline(
        ViewKernels(), MKMC(model, n_components=10, tol=1e-4), CombineKernels(), SVC(kernel="precomputed")
    )
    assert cross_val_score(pipeline, hidden, y, cv=3, error_score="raise").mean() > 0.85


# ------------------------------------------------------------------------------ components, uncertainty


def test_counting_by_inertia_equals_counting_eigenvalues():
    rng = np.random.default_rng(0)
    for n in (5, 30, 61):
        A = rng.normal(size=(n, n))
        S = (A + A.T) / 2
        values = np.linalg.eigvalsh(S)
        for threshold in (-1.0, 0.0, 0.3, 2.0):
            assert rank.count_above(S, threshold) == (values > threshold).sum()


def test_heldout_finds_the_rank_of_data_that_have_one():
    rng = np.random.default_rng(0)
    n, q = 120, 5
    W = rng.normal(size=(n, q))
    K = []
    for _ in range(5):
        X = np.hstack([W @ rng.normal(size=(q, 60)), 0.3 * rng.normal(size=(n, 60))])
        K.append(X @ X.T / 60)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((n, 5), 0.2, random_state=0))
    mkmc = MKMC("pca", n_components="heldout").fit(kv)
    assert 4 <= mkmc.n_components_ <= 8
    assert mkmc.heldout_curve_[mkmc.n_components_] == min(mkmc.heldout_curve_.values())
    assert list(mkmc.heldout_curve_) == sorted(mkmc.heldout_curve_)


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


def test_single_precision_agrees_to_its_precision():
    kv = random_problem(60, 4, 0.3)
    for model in ("pca", "fa"):
        one, other = (
            MKMC(model, n_components=4, dtype=t, tol=1e-6).fit(kv) for t in ("float64", "float32")
        )
        assert other.objective_[-1] == pytest.approx(one.objective_[-1], rel=1e-5)


def test_quality_on_mfeat_is_that_of_the_papers_algorithm(mfeat):
    index = np.arange(0, 2000, 5)
    truth = ViewKernels().fit_transform(mfeat.views[index])
    keep = missingness.mcar(truth, 0.5, random_state=0)
    done = MKMC("pca", tol=1e-5).fit_transform(truth.hide(keep))
    assert metrics.ca_error(truth, done) <= 0.026


def test_a_rank_that_fits_what_views_do_not_share_is_warned_of():
    """Three shared factors among many of each view's own: twenty components are far too many."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(400, 3))
    keep = missingness.fixed_per_view((400, 5), 0.3, random_state=0)
    factors = {
        f"v{k}": (np.flatnonzero(o), np.hstack([shared[o], 1.5 * rng.normal(size=(o.sum(), 6))]))
        for k, o in enumerate(keep.T)
    }
    kv = KernelViews.from_factors(factors)
    with pytest.warns(UserWarning, match=r"20 components .* try n_components='heldout'"):
        MKMC("pca", n_components=20, tol=1e-4).fit(kv)
    assert MKMC("pca", n_components="heldout", tol=1e-4).fit(kv).n_components_ <= 5
