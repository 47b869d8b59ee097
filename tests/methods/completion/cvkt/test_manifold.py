"""Cross-view kernel transfer's closed form against somebody else's optimiser on the manifold."""

import numpy as np
import pytest

from helpers.alignment import alignment, closed_form, random_features

pymanopt = pytest.importorskip("pymanopt")


def on_the_sphere(Psi, K, rank, seed):
    """The alignment that pymanopt's conjugate gradients reach from a random start, |U| = 1."""
    manifold = pymanopt.manifolds.Sphere(Psi.shape[1], rank)
    Psi = Psi - Psi.mean(axis=0)
    centre = np.eye(len(K)) - 1 / len(K)
    K = centre @ K @ centre
    K /= np.linalg.norm(K)

    def parts(U):
        Y = Psi @ U
        YY = Y.T @ Y
        norm = np.linalg.norm(YY)
        return Y, YY, norm, np.vdot(Y, K @ Y) / norm

    @pymanopt.function.numpy(manifold)
    def cost(U):
        return -parts(U)[3]

    @pymanopt.function.numpy(manifold)
    def euclidean_gradient(U):
        Y, YY, norm, value = parts(U)
        return -2 / norm * Psi.T @ (K @ Y - value / norm * Y @ YY)

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=euclidean_gradient)
    start = np.random.default_rng(seed).normal(size=(Psi.shape[1], rank))
    # its conjugacy is 0 / 0 at the optimum, where two gradients are alike
    optimizer = pymanopt.optimizers.ConjugateGradient(
        verbosity=0, max_iterations=2000, min_gradient_norm=1e-7
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return optimizer.run(problem, initial_point=start / np.linalg.norm(start)).point


@pytest.mark.parametrize("rank", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_no_run_on_the_manifold_is_better_aligned_and_the_best_is_as_good(seed, rank):
    Psi, K = random_features(np.random.default_rng(seed))
    _, best = closed_form(Psi, K, rank)
    reached = [alignment(K, on_the_sphere(Psi, K, rank, start), Psi) for start in range(3)]
    assert max(reached) <= best + 1e-10
    assert max(reached) >= best - 1e-4
