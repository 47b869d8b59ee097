"""Multi-incomplete-view factorisation: steps against slow twins, monotone, recovery, what comes in."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import Views, datasets, missingness
from absentia.papers.protocols import _cvkt as module
from absentia.papers.protocols._cvkt import fit_mic
from reference import mic as reference


def random_parts(rng, n=9, widths=(5, 4), r=3):
    """Views of non-negative features, states on the constraint, in both notations."""
    X = [rng.gamma(1.0, 1.0, (n, d)) for d in widths]
    w = [np.where(rng.random(n) < 0.7, 1.0, 0.7) for _ in widths]
    alpha, beta = [0.5, 0.1], [0.3, 0.02]
    parts = [module._ViewTerm(*x) for x in zip(X, [a**2 for a in w], alpha, beta, strict=True)]
    return (
        X,
        w,
        alpha,
        beta,
        parts,
        module._draw_start(parts, r, rng, np.arange(n)[:, None] + np.arange(len(X)) * n),
    )


def planted(rng, n=60, widths=(12, 9, 15), r=3, noise=0.02):
    """Views that are products of one sparse non-negative representation, and that representation."""
    U = rng.gamma(0.4, 1.0, (n, r))
    views = {
        f"v{i}": U @ rng.gamma(0.4, 1.0, (r, d)) + noise * rng.random((n, d)) for i, d in enumerate(widths)
    }
    return Views.from_dict(views), U


# ------------------------------------------------------------------------------------- slow twins


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_and_every_step_equal_their_slow_twins(seed):
    X, w, alpha, beta, parts, state = random_parts(np.random.default_rng(seed))
    np.testing.assert_allclose(
        module._objective(parts, state),
        reference.objective(X, w, state.U, state.V, state.star, alpha, beta),
        rtol=1e-10,
    )
    for v, part in enumerate(parts):
        U, V = state.U[v], state.V[v]
        np.testing.assert_allclose(
            module._update_u(part, U, V, state.star),
            reference.step_u(X[v], w[v], U, V, state.star, alpha[v], beta[v]),
            rtol=1e-10,
        )
        np.testing.assert_allclose(
            module._update_v(part, U, V), reference.step_v(X[v], w[v], U, V), rtol=1e-10, atol=1e-14
        )
    np.testing.assert_allclose(
        module._consensus(parts, state.U), reference.common(w, state.U, alpha), rtol=1e-10
    )


def test_the_constrained_step_gives_columns_that_add_up_to_one_and_meets_the_optimality_conditions(rng):
    g, N = rng.random((7, 4)), 5 * rng.standard_normal((7, 4))
    V = module._on_simplex(g, N)
    np.testing.assert_allclose(V.sum(axis=0), 1, rtol=1e-12)
    for v, h, n in zip(V.T, g.T, N.T, strict=True):
        slopes = v / h - n  # half the gradient of sum v^2 / g - 2 N v
        assert (v > 0).any()
        assert (v == 0).any()
        np.testing.assert_allclose(slopes[v > 0], slopes[v > 0][0], rtol=1e-9)
        assert (slopes[v == 0] >= slopes[v > 0][0] - 1e-9).all()


# ---------------------------------------------------------------------------------------- monotone


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.01), (1.0, 5.0), (10.0, 0.0)])
def test_the_objective_never_rises_and_nothing_is_negative(seed, alpha, beta):
    views, _ = planted(np.random.default_rng(seed))
    views = views.hide(missingness.mcar(views, 0.3, random_state=seed))
    fit = fit_mic(views, 3, alpha=alpha, beta=beta, tol=0, max_iter=200, random_state=seed)
    assert (np.diff(fit.trace) <= 1e-12 * fit.trace[:-1]).all()
    assert fit.trace[-1] < 0.7 * fit.trace[0]
    assert (fit.state.star >= 0).all()
    for V in fit.state.V:
        assert (V >= 0).all()
        np.testing.assert_allclose(V.sum(axis=0), 1, rtol=1e-9)


@pytest.mark.parametrize("part", ["U", "V", "star"])
def test_no_single_block_raises_the_objective(part, rng):
    *_, parts, state = random_parts(rng)
    for _ in range(30):
        before = module._objective(parts, state)
        after = module._update(parts, state)
        if part == "V":
            after = module._State(state.U, after.V, state.star)
        elif part == "star":
            after = module._State(state.U, state.V, module._consensus(parts, state.U))
        else:
            U = [
                module._update_u(p, u, v, state.star)
                for p, u, v in zip(parts, state.U, state.V, strict=True)
            ]
            after = module._State(tuple(U), state.V, state.star)
        assert module._objective(parts, after) <= before * (1 + 1e-13)
        state = module._update(parts, state)


def test_dividing_columns_afterwards_as_the_paper_does_can_raise_the_objective(rng):
    """Why V is kept on its constraint instead."""
    X, w, _, _, parts, state = random_parts(rng)
    rises = []
    for _ in range(100):
        folded = [reference.folded_v(*x) for x in zip(X, w, state.U, state.V, strict=True)]
        after = module._State(*(tuple(x) for x in zip(*folded, strict=True)), state.star)
        rises.append(module._objective(parts, after) - module._objective(parts, state))
        state = module._update(parts, state)
    assert max(rises) > 0


# ----------------------------------------------------------------------------------------- recovery


def test_a_common_representation_is_found_again_though_views_are_missing():
    views, truth = planted(np.random.default_rng(5))
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    found = fit_mic(views, 3, alpha=1.0, beta=1e-4, tol=1e-8, max_iter=5000).state.star
    some = views.observed.sum(axis=1) >= 2
    correlation = np.corrcoef(found[some].T, truth[some].T)[:3, 3:]
    assert (np.abs(correlation).max(axis=0) > 0.85).all()


def test_a_strong_penalty_on_rows_shrinks_them():
    views, _ = planted(np.random.default_rng(0))
    sizes = [fit_mic(views, 3, beta=beta).state.star.sum() for beta in (0.0, 10.0, 1000.0)]
    assert sizes[0] > 1.02 * sizes[1] > 1.5 * sizes[2]


# --------------------------------------------------------------------------------------- what comes in


def test_absent_rows_are_the_mean_and_weigh_the_share_of_samples_that_have_the_view(rng):
    views, _ = planted(rng, n=10)
    keep = np.ones((10, 3), bool)
    keep[[2, 5, 6], 1] = False
    hidden = views.hide(keep)
    terms = [module._view_term(hidden, name, 1.0, 1.0, None) for name in hidden.names]
    np.testing.assert_allclose(terms[1].X[[2, 5, 6]], np.tile(hidden.block("v1").mean(axis=0), (3, 1)))
    np.testing.assert_array_equal(terms[1].X[keep[:, 1]], hidden.block("v1"))
    np.testing.assert_allclose(terms[1].w2, np.where(keep[:, 1], 1.0, 0.7**2))
    np.testing.assert_array_equal(terms[0].w2, 1.0)


def test_negative_values_are_refused_and_min_max_makes_the_scale_of_features_irrelevant(rng):
    views, _ = planted(rng)
    scaled = Views.from_dict({n: 7.0 * views.block(n) - 3.0 for n in views.names})
    with pytest.raises(ValueError, match=r"view 'v0': -.* is negative; pass scale='minmax'"):
        fit_mic(scaled, 3)
    one, other = (fit_mic(v, 3, scale="minmax", tol=0, max_iter=20).state.star for v in (views, scaled))
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_an_early_end_is_warned_of(rng):
    with pytest.warns(ConvergenceWarning, match="MIC reached max_iter"):
        fit_mic(planted(rng)[0], 3, max_iter=1)


def test_the_order_of_samples_and_views_changes_no_number(rng):
    views, _ = datasets.load_digit_views(n_samples=60, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    order = rng.permutation(60)
    straight, permuted, reversed_ = (
        fit_mic(v, 4, scale="minmax", tol=1e-3).state.star
        for v in (views, views[order], views.select(views.names[::-1]))
    )
    largest = np.abs(straight).max()
    np.testing.assert_allclose(permuted, straight[order], atol=1e-6 * largest)
    np.testing.assert_allclose(reversed_, straight, atol=1e-6 * largest)
