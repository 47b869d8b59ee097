"""Cox regression from sums over blocks: that of the kernel, and what leaving samples out says."""

import numpy as np
import pytest

from absentia import FactorCox, ViewKernels, Views
from absentia.data.survival import Survival
from absentia.methods.prediction._cox import PartialLikelihood, fit_coefficients, fit_cox
from absentia.methods.prediction._factors import fit_factor_cox
from reference import cox

N = 120


def problem(n=N, seed=0):
    """Two views, some samples with one of them, and times that hang on the first."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    tables = [common @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(n, 6)) for _ in range(2)]
    observed = np.ones((n, 2), bool)
    observed[: n // 4, 0] = observed[n // 4 : n // 2, 1] = False
    time = rng.exponential(np.exp(-common[:, 0]))
    end = rng.exponential(2.0, n)
    y = Survival(np.ceil(8 * np.minimum(time, end)), time <= end)
    return Views.from_list(tables, observed=observed), y


def average_kernel(views, kernels):
    """Factors of both views side by side, absent ones zero, every sample as long as others."""
    K = kernels.fit_transform(views)
    total = np.zeros((len(views), len(views)))
    for v, name in enumerate(views.names):
        rows = np.flatnonzero(K.observed[:, v])
        total[np.ix_(rows, rows)] += K.block(name)
    many = np.sqrt(views.observed.sum(axis=1))
    return total / many[:, None] / many


def test_it_is_the_cox_regression_of_the_kernel_that_the_factors_make(monkeypatch):
    views, y = problem()
    kernels = ViewKernels(approx="nystrom", n_landmarks=8)
    K = average_kernel(views, kernels)
    size = np.trace(K - K.mean(axis=0)) / N  # penalties are of rows of unit mean square
    wanted = fit_cox(K, y, 0.3 * size).risk(K)
    for rows in (8192, 17):
        monkeypatch.setattr("absentia.methods.learning._sums.BLOCK_ROWS", rows)
        monkeypatch.setattr("absentia.methods.learning._logistic.BLOCK_ROWS", rows)
        model = FactorCox(kernels, alpha=0.3, per_view=False).fit(views, y)
        risk = model.predict(views)
        slope = risk @ wanted / (wanted @ wanted)  # made a log-hazard of samples left out
        assert 0.5 < slope < 1
        np.testing.assert_allclose(risk, slope * wanted, atol=1e-6)


def test_it_is_what_a_slow_search_of_the_textbook_s_likelihood_finds():
    y = problem(25)[1]
    Z = np.random.default_rng(0).normal(size=(25, 3))
    Z -= Z.mean(axis=0)
    wanted = cox.fit(Z @ Z.T, y.time, y.event, 0.5)
    np.testing.assert_allclose(Z @ fit_factor_cox(Z, y, 0.5).coef, wanted, atol=1e-4)


@pytest.mark.parametrize("alpha", [30.0, 1.0])
def test_samples_left_out_get_what_models_without_them_say(alpha):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N, 10)) / 10**0.5
    Z -= Z.mean(axis=0)
    y = problem()[1]
    fit, exact = fit_factor_cox(Z, y, alpha), np.empty(N)
    for i in range(N):
        rest = np.arange(N) != i
        exact[i] = (
            Z[i]
            @ fit_coefficients(
                Z[rest], PartialLikelihood.of(Survival(y.time[rest], y.event[rest])), alpha
            ).state.w
        )
    change = exact - Z @ fit.coef
    assert np.abs(fit.loo - exact).max() < 0.2 * np.abs(change).max()  # of second order
    assert np.corrcoef(fit.loo - Z @ fit.coef, change)[0, 1] > 0.98


def test_groups_are_left_out_as_a_whole():
    Z = np.random.default_rng(0).normal(size=(N, 4)) / 2
    Z -= Z.mean(axis=0)
    y, groups = problem()[1], np.arange(N) // 3
    fit = fit_factor_cox(Z, y, 3.0, groups)
    exact = np.empty(N)
    for g in range(N // 3):
        rest = groups != g
        w = fit_coefficients(
            Z[rest], PartialLikelihood.of(Survival(y.time[rest], y.event[rest])), 3.0
        ).state.w
        exact[~rest] = Z[~rest] @ w
    change = exact - Z @ fit.coef
    assert np.corrcoef(fit.loo - Z @ fit.coef, change)[0, 1] > 0.98


def test_the_penalty_is_strong_where_features_say_nothing():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 20)) / 20**0.5
    none = Survival(rng.exponential(size=300), rng.random(300) < 0.7)
    told = Survival(none.time * np.exp(-6 * Z[:, 0]), none.event)
    assert (
        fit_factor_cox(Z - Z.mean(axis=0), none).alpha > 10 * fit_factor_cox(Z - Z.mean(axis=0), told).alpha
    )


def test_a_view_that_says_nothing_takes_no_part_in_the_average_of_views():
    views, y = problem(400)
    told = views.block(views.names[1])
    has = views.observed[:, 1]
    noise = np.random.default_rng(1).normal(size=(400, 5))
    table = np.full((400, 6), np.nan)
    table[has] = told
    both = Views.from_list([noise, table])
    risk = FactorCox().fit(both, y).predict(both)
    assert risk[~has].std() < 0.2 * risk[has].std()


def test_one_event_is_enough_and_views_without_any_are_not_learned_from_alone():
    views, y = problem()
    one = Survival(y.time, np.arange(N) == N // 3)  # in samples that lack the second view
    model = FactorCox().fit(views, one)
    assert np.isfinite(model.predict(views)).all()
    assert model.event_times_.tolist() == [y.time[N // 3]]
