"""The simulated series follows the law that it says, and its views overlap."""

import numpy as np
import pytest

from absentia import papers


def test_every_sample_follows_from_the_one_before():
    data = papers.make_var_views(400, noise=0.3, period=25, random_state=1)
    X, r = data.series, data.regime
    moved = np.einsum("tij,tj->ti", data.transitions[r[1:]], X[:-1])
    fresh = (X[1:] - data.intercepts[r[1:]] - moved) / 0.3
    n = fresh.size
    assert abs(fresh.mean()) < 4 / np.sqrt(n)
    assert abs(fresh.var() - 1) < 4 * np.sqrt(2 / n)
    correlation = np.mean(fresh[1:] * fresh[:-1])
    assert abs(correlation) < 4 / np.sqrt(n)


def test_without_noise_nothing_but_the_law_is_left():
    data = papers.make_var_views(60, noise=0.0, period=10, n_regimes=2, random_state=2)
    X, r = data.series, data.regime
    for t in range(1, 60):
        np.testing.assert_allclose(
            X[t], data.intercepts[r[t]] + data.transitions[r[t]] @ X[t - 1], rtol=1e-10
        )
    # the first regime begins where it would stay
    np.testing.assert_allclose(X[:10], np.tile(X[0], (10, 1)), rtol=1e-8)


def test_parameters_change_periodically():
    data = papers.make_var_views(100, period=15, n_regimes=3)
    assert data.regime.tolist() == [t // 15 % 3 for t in range(100)]
    assert not np.allclose(data.transitions[0], data.transitions[1])


def test_no_sequence_of_regimes_grows_and_the_spread_is_what_it_says():
    data = papers.make_var_views(20, n_features=6, width=6, n_views=1, memory=0.9)
    for A in data.transitions:
        np.testing.assert_allclose(np.linalg.svd(A, compute_uv=False), 0.9, rtol=1e-12)
    # same parameters, other noise: deviations from the mean path at the end, after several changes
    rng = np.random.default_rng(0)
    from absentia.papers.data._autoregression import _series

    regime = np.arange(12) // 4 % 3
    ends = np.array([_series(rng, data.transitions, data.intercepts, regime, 0.5)[-1] for _ in range(2000)])
    spread = ends.var(axis=0).mean()
    assert spread == pytest.approx(0.25 / (1 - 0.81), rel=4 * np.sqrt(2 / ends.size))


def test_views_are_overlapping_columns_with_rbf_kernels():
    data = papers.make_var_views(30, n_views=4, n_features=11, width=5)
    assert data.views.names == ("view0", "view1", "view2", "view3")
    for name, own in zip(data.views.names, data.columns, strict=True):
        np.testing.assert_array_equal(data.views.block(name), data.series[:, own])
    assert data.columns[0][0] == 0
    assert data.columns[-1][-1] == 10
    assert all(np.intersect1d(a, b).size for a, b in zip(data.columns, data.columns[1:], strict=False))
    K = data.kernels.block("view0")
    np.testing.assert_allclose(K.diagonal(), 1)
    assert (K > 0).all()


def test_the_same_seed_gives_the_same_and_one_regime_is_allowed():
    one, two = (papers.make_var_views(10, n_regimes=1, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.series, two.series)
    assert one.transitions.shape == (1, 32, 32)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"memory": 1.0}, "grows without bounds"),
        ({"width": 40}, "from 1 to 32"),
        ({"n_views": 2, "width": 3}, "do not overlap"),
        ({"n_samples": 0}, "a sample"),
    ],
)
def test_what_cannot_be_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        papers.make_var_views(**given)
