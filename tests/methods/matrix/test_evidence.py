"""Kernels shrunk towards simple ones by evidence: dense algebra, certificates, and knowing more."""

import numpy as np
import pytest

from absentia import PMAImputer
from absentia.methods.matrix._estimation import EMState, FreeParts, initial_model, run_em
from absentia.methods.matrix._evidence import (
    EvidenceUpdate,
    RowKernelUpdate,
    _bound_evidence,
    _evidence_gradient,
    _InverseWishart,
    _log_evidence,
    _maximize_evidence,
    _polish_minimum,
    _PriorTarget,
    propose_updates,
)
from absentia.methods.matrix._imputer import _explain_choice
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel
from helpers.matrices import kronecker_sum, positive, rbf
from reference import pma as reference


def rows_of(n=30, m=4, seed=0):
    """Rows drawn with a column kernel, and that kernel."""
    rng = np.random.default_rng(seed)
    N = positive(m, rng)
    return rng.standard_normal((n, m)) @ np.linalg.cholesky(N).T, N


def whole(G):
    """The model of rows that are unrelated, and everything seen."""
    return KroneckerGaussian(RowKernel.zero(len(G)), np.eye(G.shape[1]), np.eye(G.shape[1])), np.ones(
        G.shape, bool
    )


def smooth(n=90, m=12, seed=0, shared=False):
    """A matrix drawn with a smooth row kernel: columns of the row part independent, or as the rest."""
    rng = np.random.default_rng(seed)
    K = rbf(np.linspace(0, 6, n)[:, None], gamma=0.5) + 1e-6 * np.eye(n)
    A = rng.standard_normal((m, 2))
    R = np.linalg.cholesky(0.5 * (A @ A.T / 2 + 0.1 * np.eye(m)))
    F, G = np.linalg.cholesky(K) @ rng.standard_normal((n, m)), rng.standard_normal((n, m))
    return ((2 * F + G) @ R.T if shared else F + G @ R.T), K


def interactions(seed=0, n=90, m=40, share=0.06):
    """Few ones among zeros, by factors of rows and columns; noisy kernels of both."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((6, 5))[rng.integers(6, size=m)] + 0.2 * rng.standard_normal((m, 5))
    A = B[rng.integers(m, size=10)][rng.integers(10, size=n)] + 0.2 * rng.standard_normal((n, 5))
    scores = A @ B.T + 0.5 * rng.standard_normal((n, m))
    near = [rbf(Z + 0.2 * rng.standard_normal(Z.shape), gamma=0.1) for Z in (A, B)]
    return (scores > np.quantile(scores, 1 - share)).astype(float), *near


def error(X, seed=0, **options):
    """RMSE of hidden entries, and the imputer."""
    hidden = np.random.default_rng(100 + seed).random(X.shape) < 0.3
    model = PMAImputer(**options).fit(np.where(hidden, np.nan, X))
    return np.sqrt(((model.completed_ - X)[hidden] ** 2).mean()), model


# ------------------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize("n", [1, 3, 30])
def test_the_evidence_is_that_of_the_rows_one_after_the_other(n):
    G, T = rows_of(n)
    half = np.linalg.inv(np.linalg.cholesky(T))
    values = np.linalg.eigvalsh(half @ G.T @ G @ half.T)
    for strength, size in ((3.5, 1.0), (12.0, 5.0), (300.0, 200.0)):
        found = _log_evidence(values, n, strength, size) - n / 2 * np.linalg.slogdet(T)[1]
        exact = reference.column_evidence(G, T, strength, size)
        np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_nothing_is_more_evident_than_the_strongest_prior():
    for n in (6, 40, 400):
        values = np.array([0.1, 1.0, 2.0, 9.0]) * n
        strength, size, best = _maximize_evidence(values, n)
        np.testing.assert_allclose(best, _log_evidence(values, n, strength, size), rtol=1e-12)
        for other in 3 + (strength - 3) * np.array([0.1, 0.9, 1.0, 1.1, 10.0]):
            for b in size * np.array([0.2, 0.7, 0.99, 1.0, 1.01, 1.5, 5.0]):
                assert _log_evidence(values, n, other, b) <= best + 1e-7
        slopes = _evidence_gradient(values, n, strength, size)
        assert abs(slopes[1]) * size < 1e-3


def test_rows_that_are_as_the_target_says_are_drawn_there_and_others_are_not():
    rng = np.random.default_rng(0)
    simple = rng.standard_normal((300, 6))
    mixed = simple @ np.linalg.cholesky(np.full((6, 6), 0.9) + 0.1 * np.eye(6)).T
    target = _PriorTarget.from_variances(np.ones(6))
    assert target.select_prior(simple.T @ simple, 300).strength > 100
    assert target.select_prior(mixed.T @ mixed, 300).strength < 30


def test_a_kernel_that_is_given_is_in_the_target_as_far_as_it_is_true():
    rng = np.random.default_rng(0)
    K = np.full((8, 8), 0.8) + 0.2 * np.eye(8)
    G = rng.standard_normal((60, 8)) @ np.linalg.cholesky(K).T
    found = _PriorTarget.from_variances(np.ones(8), 1000 * K).select_prior(
        G.T @ G, 60
    )  # its scale is nothing
    assert found.target[0, 1] > 0.6
    wrong = _PriorTarget.from_variances(np.ones(8), positive(8, rng)).select_prior(simple_scatter(rng), 60)
    assert np.abs(wrong.target - np.diag(np.diagonal(wrong.target))).max() < 0.15


def simple_scatter(rng):
    G = rng.standard_normal((60, 8))
    return G.T @ G


# ---------------------------------------------------------------------------------------------- bound


def test_where_nothing_is_missing_and_rows_are_unrelated_the_bound_is_the_evidence():
    G, T = rows_of()
    model, seen = whole(G)
    prior = _InverseWishart(T, 9.0, 4.0)
    N = prior.estimate_kernel(G.T @ G, len(G))
    exact = reference.column_evidence(G, T, 9.0, 4.0)
    at = lambda N: _bound_evidence(KroneckerGaussian(model.rows, model.C, N), prior, G, seen)
    np.testing.assert_allclose(at(N), exact, rtol=1e-10)
    for other in (1.1 * N, 0.9 * N, N + 0.1 * np.eye(4)):
        assert at(other) < exact - 1e-3


def test_with_entries_missing_the_bound_is_below_the_evidence_of_those_that_are_seen():
    G, _ = rows_of(25, 1)
    seen = np.random.default_rng(1).random(G.shape) > 0.3
    prior = _InverseWishart(np.eye(1), 5.0, 3.0)
    exact = reference.column_evidence(G[seen][:, None], np.eye(1), 5.0, 3.0)
    model, _ = whole(G)
    found = max(
        _bound_evidence(KroneckerGaussian(model.rows, model.C, v * np.eye(1)), prior, G * seen, seen)
        for v in np.linspace(0.1, 3, 60)
    )
    assert exact - 1.0 < found < exact


@pytest.mark.parametrize("shared", [False, True])
def test_em_raises_the_bound(shared):
    X, K = smooth(30, 4, shared=shared)
    X = X - X.mean(axis=0)
    seen = np.random.default_rng(0).random(X.shape) > 0.2
    start = initial_model(RowKernel.from_dense(K), X * seen, seen, FreeParts())
    start, update = propose_updates(start, X.var(axis=0), 1e-6, free=True)[0 if shared else 1]
    fit, values = EMState(start, X * seen, None), []
    for _ in range(8):
        fit = run_em(fit.model, X * seen, seen, update, max_iter=1, precision=1e-10).state
        values.append(update.bound_likelihood(fit, X * seen, seen, None))
    assert (np.diff(values) > -0.02).all()  # the prior is that of the E-step before
    assert values[-1] > values[0]


# --------------------------------------------------------------------------------------------- M-step


def test_the_amplitude_makes_the_matrix_most_likely():
    X, K = smooth(25, 3)
    for C in (np.eye(3), np.diag([1.0, 2.0, 3.0])):
        model = KroneckerGaussian(RowKernel.from_dense(K), C, 0.3 * np.eye(3))
        found = EvidenceUpdate(_PriorTarget.from_variances(np.ones(3)), 1e-6).update_amplitude(
            model, X, None
        )
        S = reference.covariance(K, found.C, found.N)
        slope = reference.log_marginal_gradient(S, np.kron(K, found.C), X, np.ones(X.shape, bool))
        assert abs(slope) < 1e-3
    given = EvidenceUpdate(_PriorTarget.from_variances(np.ones(3)), 1e-6, free=False)
    assert given.update_amplitude(model, X, None) is model


def test_the_scatter_beside_a_shared_row_kernel_is_that_of_whitened_rows():
    X, K = smooth(25, 3)
    N = positive(3, np.random.default_rng(0))
    D = np.random.default_rng(1).standard_normal((25, 2, 3))
    update = EvidenceUpdate(_PriorTarget.from_variances(np.ones(3)), 1e-6, shared=True)
    exact = sum(Z.T @ np.linalg.solve(0.7 * K + np.eye(25), Z) for Z in (X, D[:, 0], D[:, 1]))
    model = KroneckerGaussian(RowKernel.from_dense(K), 0.7 * N, N)
    np.testing.assert_allclose(update.expect_scatter(model, X, D), exact, rtol=1e-9)
    low = RowKernel.from_factor(K[:, :5])
    thin = np.linalg.solve(0.7 * low.to_dense() + np.eye(25), X)
    found = update.expect_scatter(KroneckerGaussian(low, 0.7 * N, N), X, None)
    np.testing.assert_allclose(found, X.T @ thin, rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------------------- knowing more is no harm


@pytest.mark.slow
def test_which_columns_go_together_in_the_row_part_is_found():
    for shared in (False, True):
        X, K = smooth(shared=shared)
        found, model = error(X, row_kernel=K)
        C, N = model.model_.C, model.model_.N
        off = np.abs(C - np.diag(np.diagonal(C))).max() > 0
        assert off == shared
        if shared:
            np.testing.assert_allclose(C * np.trace(N), N * np.trace(C), rtol=1e-8)
        assert found < 0.9 * error(X)[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_row_kernel_that_is_given_is_better_than_nothing_and_a_column_kernel_hardly_worse(seed):
    X, K1, K2 = interactions(seed)
    nothing, fixed = error(X, seed)[0], error(X, seed, shrinkage=2.0)[0]
    rows, columns = error(X, seed, row_kernel=K1)[0], error(X, seed, col_kernel=K2)[0]
    assert rows < nothing
    assert columns < 1.05 * nothing
    assert max(rows, columns) < 0.9 * fixed  # than what nothing gave when it was shrunk by a fixed number


@pytest.mark.slow
def test_a_row_kernel_that_says_nothing_gets_next_to_no_amplitude():
    X, K1, _ = interactions(3)
    B = np.random.default_rng(3).standard_normal((len(X), 5))
    found, model = error(X, row_kernel=1000 * B @ B.T)
    part = np.trace(model.model_.C) * model.model_.rows.diagonal().mean()
    assert part < 0.02 * np.trace(model.model_.N)
    assert found < 1.02 * error(X)[0]
    none = error(X, row_kernel=np.zeros((len(X), len(X))))[0]
    assert abs(found - none) < 0.03 * none
    assert error(X, row_kernel=K1)[0] < 1.01 * none


def test_the_scale_of_a_row_kernel_is_nothing():
    X, K = smooth(40, 5)
    # powers of two: nothing is rounded
    for factor in (2.0**10, 2.0**-10):
        assert abs(error(X, row_kernel=factor * K)[0] - error(X, row_kernel=K)[0]) < 1e-6


def test_an_amplitude_or_a_shrinkage_that_is_given_is_used():
    X, K = smooth(40, 5)
    _, model = error(X, row_kernel=K, amplitude=0.5)
    np.testing.assert_allclose(model.model_.C, 0.5 * np.eye(5), rtol=1e-9, atol=1e-12)
    _, fixed = error(X, row_kernel=K, shrinkage=2.0)
    assert np.count_nonzero(fixed.model_.C) == 5
    assert abs(fixed.model_.N - error(X, row_kernel=K)[1].model_.N).max() > 1e-4


def test_a_column_kernel_alone_may_be_drawn_upon():
    X, _, K2 = interactions(3, n=50, m=20)
    _, model = error(X, col_kernel=K2)
    assert set(model.heldout_curve_) == {"none", "estimate", "shrunk"}
    same = error(X, col_kernel=K2, row_kernel="none", amplitude="estimate")[1]
    if min(model.heldout_curve_, key=model.heldout_curve_.get) == "shrunk":
        np.testing.assert_array_equal(model.completed_, same.completed_)
    as_is = error(X, col_kernel=K2, row_kernel="none")[1]
    np.testing.assert_allclose(as_is.model_.N, K2, rtol=1e-8, atol=1e-9)
    twice = error(X, col_kernel=K2, row_kernel="none", amplitude=2.0)[1]
    np.testing.assert_allclose(twice.model_.N, 2 * K2, rtol=1e-8, atol=1e-9)


def test_a_minimum_found_by_values_is_made_exact():
    slopes = lambda x: (2 * (x - 0.3), 2.0)
    assert _polish_minimum(slopes, 0.3004, -1.0, 1.0) == pytest.approx(0.3, abs=1e-15)
    assert _polish_minimum(slopes, 0.5, -1.0, 1.0) == 0.5  # too far for Newton's method
    assert _polish_minimum(slopes, 1.0, -1.0, 1.0) == 1.0  # at a limit
    assert _polish_minimum(lambda x: (1e-9, -1.0), 0.3, -1.0, 1.0) == 0.3  # no minimum


def test_the_size_of_greatest_evidence_has_no_slope():
    values = np.array([3.0, 5.0, 40.0, 0.2])
    strength, size, _ = _maximize_evidence(values, 30)
    assert abs(_evidence_gradient(values, 30, strength, size)[1]) * size < 1e-10


def related(n=60, m=4, seed=0):
    """Rows drawn with columns that go together, some entries hidden."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.3 * rng.standard_normal((n, m))
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


def kernel(model):
    """Of the rows, where columns are independent."""
    return model.rows.to_dense() + model.N[0, 0] * np.eye(model.shape[0])


@pytest.mark.parametrize("steps", [1, 5])
def test_a_column_kernel_alone_is_that_of_a_slow_twin(steps):
    gaps = related()
    seen = ~np.isnan(gaps)
    options = {"standardize": False, "center": False, "max_iter": steps, "tol": 0}
    found = PMAImputer(row_kernel="none", nugget=1e-6, **options).fit(gaps)
    expected = reference.kernel_alone(gaps, seen, None, steps, 1e-9)
    np.testing.assert_allclose(found.model_.N, expected, rtol=1e-4, atol=1e-5)
    fixed = PMAImputer(row_kernel="none", nugget=1e-6, shrinkage=2.0, **options).fit(gaps)
    assert np.abs(fixed.model_.N - expected).max() > 0.01


@pytest.mark.parametrize("steps", [1, 5])
def test_a_row_kernel_alone_is_that_of_the_slow_twin_turned_over(steps):
    gaps = related()
    seen = ~np.isnan(gaps.T)
    X = np.where(seen, gaps.T, 0.0)
    level, nugget = float((X**2).sum() / seen.sum()), 1e-3
    update = RowKernelUpdate(level, nugget)
    found = run_em(update.start(4, 60), X, seen, update, tol=0, max_iter=steps)
    expected = reference.kernel_alone(gaps, seen.T, level * np.eye(4), steps, nugget)
    np.testing.assert_allclose(kernel(found.state.model), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(found.state.model.N, nugget * np.eye(60))
    assert np.array_equal(found.state.model.C, np.eye(60))


def test_a_strength_that_is_given_is_used():
    X = np.random.default_rng(0).standard_normal((3, 8))
    update = RowKernelUpdate(1.0, 1e-9, 5.0)
    found = kernel(update(update.start(3, 8), X, None))
    np.testing.assert_allclose(found, (X @ X.T + 5 * np.eye(3)) / 13, atol=1e-12)


def drawn(n, m, seed):
    """Rows and columns near one another in the plane; a fifth hidden."""
    rng = np.random.default_rng(seed)
    K1, K2 = rbf(rng.standard_normal((n, 2)), gamma=0.5), rbf(rng.standard_normal((m, 2)), gamma=0.5)
    X = kronecker_sum(K1, K2 + 0.1 * np.eye(m)).draw(rng, 1)[:, 0]
    hidden = rng.random(X.shape) < 0.2
    return np.where(hidden, np.nan, X), X, hidden


def heldout_error(problem, **parameters):
    gaps, X, hidden = problem
    return np.mean((PMAImputer(**parameters).fit_transform(gaps) - X)[hidden] ** 2)


def test_with_both_kernels_unknown_a_column_kernel_by_evidence_is_better_than_one_shrunk_by_a_fixed_number():
    problems = [drawn(40, 16, seed) for seed in range(4)]
    mean = lambda **parameters: np.mean([heldout_error(p, **parameters) for p in problems])
    assert mean(row_kernel="none") < 0.95 * mean(row_kernel="none", shrinkage=2.0)


@pytest.mark.slow
def test_with_fewer_rows_than_columns_the_kernel_of_the_rows_is_the_better_one_and_is_taken():
    problems = [drawn(14, 40, seed) for seed in range(4)]
    rows = [heldout_error(p, row_kernel="estimate", col_kernel="none") for p in problems]
    assert np.mean(rows) < 0.95 * np.mean([heldout_error(p, row_kernel="none") for p in problems])
    imputer = PMAImputer().fit(problems[0][0])
    assert set(imputer.heldout_curve_) == {"none", "estimate", "alone"}
    assert (imputer.row_kernel_, imputer.col_kernel_) == ("estimate", "none")
    assert "columns taken as unrelated" in imputer.rows_
    asked = PMAImputer(row_kernel="estimate", col_kernel="none").fit(problems[0][0])
    np.testing.assert_array_equal(asked.completed_, imputer.completed_)
    assert "alone" not in PMAImputer().fit(drawn(30, 12, 0)[0]).heldout_curve_


def test_new_rows_get_means_where_columns_are_unrelated():
    gaps, _, _ = drawn(14, 40, 0)
    imputer = PMAImputer(row_kernel="estimate", col_kernel="none").fit(gaps)
    new = np.where(np.arange(40) < 20, 3.0, np.nan)[None, :]
    np.testing.assert_allclose(imputer.transform(new)[0, 20:], imputer.mean_[20:], atol=1e-9)


def test_choices_are_said():
    curve = {"none": 0.5, "estimate": 0.4, "alone": 0.3}
    assert _explain_choice(7, curve)[0] == "alone"
    assert "RMSE 0.3, and 0.4 otherwise" in _explain_choice(7, curve)[1]
    assert _explain_choice(7, curve | {"alone": 0.6})[0] == "estimate"
    assert _explain_choice(7, {"none": 0.3, "estimate": 0.4, "shrunk": 0.2})[0] == "shrunk"
    assert _explain_choice(7, {})[0] == "none"


def test_unrelated_columns_want_a_row_kernel_that_is_estimated():
    gaps, _, _ = drawn(14, 20, 0)
    for rows in ("none", "heldout", np.eye(14)):
        with pytest.raises(ValueError, match=r"is for row_kernel='estimate'"):
            PMAImputer(row_kernel=rows, col_kernel="none").fit(gaps)
