"""Weights of candidates, learned from probabilities of held-out samples."""

import numpy as np
import pytest

from absentia.methods.prediction._weighing import log_losses, own_probabilities, shrunk_weights, weigh


def two(n=200, seed=0, noise=(0.5, 3.0)):
    """Labels, and what two candidates of different worth gave to the true class; candidates x samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    scores = [2.0 * (2 * y - 1) + spread * rng.normal(size=n) for spread in noise]
    probabilities = np.array([1 / (1 + np.exp(-s)) for s in scores])
    return y, np.stack([1 - probabilities, probabilities], axis=2)


def test_the_slopes_lead_to_the_optimum():
    y, probabilities = two(60)
    own, weight = own_probabilities(probabilities, y), np.ones(60)
    found = shrunk_weights(own, weight, penalty=1.0)

    def objective(w):
        off = np.log(w) - np.log(w).mean()
        return -np.log(w @ own).sum() + 0.5 * off @ off

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmin([objective(np.array([w, 1 - w])) for w in grid])]
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(best, abs=2e-3)


def test_a_strong_penalty_gives_equal_weights_and_none_the_better_candidate():
    y, probabilities = two()
    own, weight = own_probabilities(probabilities, y), np.ones(len(y))
    np.testing.assert_allclose(shrunk_weights(own, weight, 1e6), 0.5, atol=1e-3)
    assert shrunk_weights(own, weight, 0.01)[0] > 0.9
    np.testing.assert_array_equal(shrunk_weights(own[:1], weight), 1.0)


def test_the_mean_is_used_unless_something_is_clearly_better():
    y, probabilities = two(noise=(1.0, 1.0))
    alike = weigh(own_probabilities(probabilities, y), y, np.ones(len(y)))
    assert alike.way == "mean"
    assert alike.as_good
    np.testing.assert_array_equal(alike.weights, 0.5)
    y, probabilities = two(noise=(0.3, 6.0))
    found = weigh(own_probabilities(probabilities, y), y, np.ones(len(y)))
    assert found.way != "mean"
    assert not found.as_good
    assert found.weights[0] > 0.7
    assert found.losses[found.way] < found.losses["mean"]


def test_losses_are_bounded():
    probabilities = np.array([[[1.0, 0.0], [0.5, 0.5]]])
    np.testing.assert_allclose(log_losses(probabilities, np.array([1, 0])), [[np.log(1e6), np.log(2)]])
