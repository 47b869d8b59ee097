"""Leaving one sample out in closed form against fits without it: differences of probabilities.

    python benchmarks/leave_one_out.py [--problems 50]

Problems of 30 to 80 samples, 2 to 200 features, two or three classes, from noise to separable; C is the one
that leave-one-out selects.  Exact: the machine fitted anew without the sample, along the same axes.
"""

import argparse

import common  # before NumPy: one BLAS thread
import numpy as np

from absentia.methods.learning import Axes, fit_logistic, to_probabilities


def make_problem(seed):
    rng = np.random.default_rng(seed)
    n, d, n_classes = int(rng.integers(30, 81)), int(rng.choice([2, 5, 20, 200])), int(rng.integers(2, 4))
    X = rng.standard_normal((n, d))
    signal = rng.choice([0.0, 1.0, 5.0]) * X[:, 0] + rng.standard_normal(n)
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)), n_classes


def measure(seed):
    """Largest and mean difference, and how far probabilities of samples that were seen are off."""
    X, y, n_classes = make_problem(seed)
    axes, weight = Axes.of_table(X), np.ones(len(y))
    fit = fit_logistic(axes, y, weight, n_classes)
    exact = np.zeros_like(fit.loo_proba)
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        without = fit_logistic(axes._replace(Z=axes.Z[rest]), y[rest], weight[rest], n_classes, fit.C)
        exact[i] = to_probabilities(X[[i]] @ without.coef + without.intercept)[0]
    difference = np.abs(fit.loo_proba - exact)
    return (
        difference.max(),
        difference.mean(),
        np.abs(to_probabilities(X @ fit.coef + fit.intercept) - exact).mean(),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="five problems")
    given = parser.parse_args()
    rows = np.array([measure(seed) for seed in range(5 if given.quick else given.problems)])
    print(f"{len(rows)} problems: largest difference {rows[:, 0].max():.3f}, median of the largest "
          f"{np.median(rows[:, 0]):.4f}, mean {rows[:, 1].mean():.5f}; seen samples are off by "
          f"{rows[:, 2].mean():.3f} on average; source {common.SOURCE}")  # fmt: skip


if __name__ == "__main__":
    main()
