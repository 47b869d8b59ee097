"""Low-rank models: same objective as the papers', reached without imputing."""

import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import MKMC, CombineKernels, KernelViews, ViewKernels, datasets, missingness
from absentia.core import Completed, Gram
from absentia.methods.completion.mkmc import _low_rank
from absentia.methods.completion.mkmc._low_rank import _Visibility
from conftest import random_problem
from helpers.mkmc_problems import MODELS, NOISE, low_rank_start, placed, problem_of, random_point
from reference import mkmc as slow
from reference import visibility as slow_visibility
from reference import visible_em

# where so many components are too many is a matter of tests of their own


@pytest.mark.parametrize("model", ["pca", "fa"])
@pytest.mark.parametrize("eps", [1e-3, 0.7])
def test_an_evaluation_is_the_slow_objective_and_its_preconditioned_gradient_the_em_step(model, eps):
    kv = random_problem(25, 3, 0.4, seed=1)
    point = random_point(25, 4, model)
    W, d = point[0], np.broadcast_to(np.exp(point[1]), 25)
    problem = problem_of(kv, eps)
    found = _low_rank.evaluate(problem, NOISE[model], placed(problem, point))
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
    gradient = _low_rank.evaluate(problem, NOISE[model], placed(problem, point)).gradient
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
    found = _low_rank.evaluate(problem, NOISE[model], (W.astype(np.float32), log_d))
    assert np.linalg.norm(found.point[0], axis=1).max() == pytest.approx(problem.ceiling, rel=1e-5)
    assert np.exp(found.point[1]).min() == pytest.approx(problem.floor)
    # neither may the next step lead further out
    assert np.vdot(found.gradient[0][3], found.point[0][3]) >= -1e-3
    assert found.gradient[1][0] <= 0


def test_the_gradient_vanishes_where_it_stops():
    """Certificate: finite differences of the objective at the solution, against those at the start."""
    kv = random_problem(30, 3, 0.3)
    problem = problem_of(kv)
    for model in ("pca", "fa"):
        mkmc = MKMC(model, n_components=2, tol=1e-13, max_iter=5000).fit(kv)
        d = mkmc.model_.d[:1] if model == "pca" else mkmc.model_.d
        solution = placed(problem, (np.array(mkmc.model_.W), np.log(d)))
        first = low_rank_start(problem, NOISE[model], 2, np.random.default_rng(0))
        slopes = [slope(problem, NOISE[model], point) for point in (solution, first)]
        assert slopes[0] < 2e-3 * slopes[1]


def slope(problem, noise, point, h=1e-5):
    """Largest directional derivative over some random directions."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        direction = [rng.normal(size=x.shape) for x in point]
        ahead, behind = (
            _low_rank.evaluate(
                problem, noise, tuple(x + s * h * u for x, u in zip(point, direction, strict=True))
            ).value
            for s in (1, -1)
        )
        found.append(abs(ahead - behind) / (2 * h))
    return max(found)


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


@pytest.mark.slow_params("full", "fa")
@pytest.mark.parametrize("model", MODELS)
def test_the_whole_pipeline_cross_validates_on_views(model):
    views, y = datasets.load_digit_views(n_samples=150, return_X_y=True)
    hidden = views.hide(missingness.mcar(views, 0.3, random_state=0))
    pipeline = make_pipeline(
        ViewKernels(), MKMC(model, n_components=10, tol=1e-4), CombineKernels(), SVC(kernel="precomputed")
    )
    assert cross_val_score(pipeline, hidden, y, cv=3, error_score="raise").mean() > 0.85


def test_single_precision_agrees_to_its_precision():
    kv = random_problem(60, 4, 0.3)
    for model in ("pca", "fa"):
        one, other = (
            MKMC(model, n_components=4, dtype=t, tol=1e-6).fit(kv) for t in ("float64", "float32")
        )
        assert other.objective_[-1] == pytest.approx(one.objective_[-1], rel=1e-5)


def test_factor_analysis_of_kernels_of_few_features_is_not_misled_by_cancellation():
    """A noise variance near zero cancels all digits of the objective: with a floor of 1e-8 it said -138 where
    it was -78, and the completed kernels were two hundred times too large."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((40, 4))
    features = [
        shared @ rng.standard_normal((4, r)) + 0.3 * rng.standard_normal((40, r)) for r in (4, 6, 8)
    ]
    keep = missingness.mcar((40, 3), 0.3, random_state=0)
    order = np.random.default_rng(9).permutation(40)
    kv = KernelViews.from_dense(np.stack([x @ x.T for x in features]), observed=keep)[np.ix_(order, order)]
    mkmc = MKMC("fa", n_components=6).fit(kv)
    K = np.nan_to_num(kv.to_dense()) / mkmc.view_scales_[:, None, None]
    wanted = slow.penalised_objective(K, kv.observed, mkmc.model_.to_dense(), 1e-3)
    assert mkmc.objective_[-1] == pytest.approx(wanted, rel=1e-7)


def visibility(n, n_views, seed=0):
    """Some patterns that many samples have, and some that few have."""
    rng = np.random.default_rng(seed)
    sees = rng.random((n, n_views)) < 0.7
    sees[rng.random(n) < 0.5] = True
    return sees


def matrices(n, n_views, q, seed=1):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_views, q, 2 * q))
    return roots @ roots.transpose(0, 2, 1), 0.1 * np.eye(q), rng.normal(size=(2, n, q))


# none rare, both kinds, none common
@pytest.mark.parametrize("n_views", [1, 3, 7])
@pytest.mark.parametrize("common", [1, 4, 1000])
@pytest.mark.parametrize("block", [1, 1 << 17])
def test_sums_are_those_of_one_sample_after_the_other(monkeypatch, n_views, common, block):
    monkeypatch.setattr(_low_rank, "_MIN_COMMON", common)
    monkeypatch.setattr(_low_rank, "_BLOCK", block)
    sees = visibility(90, n_views)
    E, extra, (W, F) = matrices(90, n_views, 4)
    visible = _Visibility.of(sees)
    assert sorted(visible.order) == list(range(90))
    sees = sees[visible.order]  # W and F are in the patterns' own order
    for found, wanted in zip(visible.grams(W, F), slow_visibility.grams(sees, W, F), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    parts = list(visible.products(E, extra, W))
    assert [i for rows, _ in parts for i in range(90)[rows]] == list(range(90))
    WA = np.concatenate([part for _, part in parts])
    np.testing.assert_allclose(WA, slow_visibility.products(sees, E, extra, W), rtol=1e-11, atol=1e-11)
    solved = visible.solver(E, extra)(F.copy())
    np.testing.assert_allclose(solved, slow_visibility.solutions(sees, E, extra, F), rtol=1e-9, atol=1e-11)


def test_common_patterns_come_first_and_rare_samples_keep_their_order():
    sees = visibility(90, 7)
    visible = _Visibility.of(sees)
    n_common = visible.rows[-1].stop
    assert 0 < n_common < 90
    for rows, pattern in zip(visible.rows, visible.common, strict=True):
        assert rows.stop - rows.start >= _low_rank._MIN_COMMON
        assert (sees[visible.order[rows]] == pattern).all()
    assert (np.diff(visible.order[n_common:]) > 0).all()
    np.testing.assert_array_equal(visible.rare, sees[visible.order[n_common:]])


def test_single_precision_stays_single_outside_the_sums():
    sees = visibility(90, 7)
    E, extra, (W, _) = matrices(90, 7, 4)
    visible = _Visibility.of(sees)
    single = W.astype(np.float32)
    assert {part.dtype for _, part in visible.products(E, extra, single)} == {np.dtype(np.float32)}
    solved = visible.solver(E, extra)(single.copy())
    assert solved.dtype == np.float32
    wanted = slow_visibility.solutions(sees[visible.order], E, extra, single.astype(np.float64))
    np.testing.assert_allclose(solved, wanted, rtol=1e-4, atol=1e-5)


def test_of_rare_patterns_no_more_than_a_block_of_matrices_is_kept():
    """Every sample has a pattern of its own: 4000 matrices of 20 x 20 would be 12.8 MB."""
    n, n_views, q = 4000, 30, 20
    sees = np.random.default_rng(0).random((n, n_views)) < 0.7
    E, extra, (W, F) = matrices(n, n_views, q)
    visible = _Visibility.of(sees)
    assert not visible.rows
    tracemalloc.start()
    visible.grams(W, F)
    for _ in visible.products(E, extra, W):
        pass
    visible.solver(E, extra)(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 8 * _low_rank._BLOCK + 3 * W.nbytes < 8 * n * q * q
