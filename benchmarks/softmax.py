"""Softmax in place of one against the rest, in two members of the default, on tasks of several classes.

    python benchmarks/softmax.py            # some ten CPU minutes

The first task with three classes or more of each set of ``small_tasks.py``, ten paired folds.  Softmax has
weights for every class, all under one penalty; the sample that is left out is left out of all classes at
once, in closed form, and C is selected by the log-loss of that, as it is against the rest.  Everything else
is as ``absentia fit`` has it.
"""

import argparse
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks
from predict_regret import Results, by_set, run
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, softmax

from absentia.core.linalg import solve_left_out
from absentia.methods.learning import _logistic
from absentia.methods.prediction import _early_fusion, _trees

METHODS = ("linear", "zero-rbf")
SMALLEST = 1e-9  # penalty of offsets, of which one is too many
AGAINST_REST = _logistic.fit_logistic, _logistic.to_probabilities


class SoftmaxRows:
    """Rows with a constant before them, and their classes, for :func:`select_strength`."""

    def __init__(self, Z, y, weight, n_classes):
        self.A, self.y, self.weight = np.column_stack([np.ones(len(Z)), Z]), y, weight
        self.shape = n_classes, self.A.shape[1]
        self.truth = np.eye(n_classes)[y]

    def scores(self, w):
        return self.A @ w.reshape(self.shape).T

    def slopes(self, w, penalty):
        """Gradient and Hessian, of classes x columns."""
        p, (K, d) = softmax(self.scores(w), axis=1), self.shape
        H = np.empty((K, d, K, d))
        for k in range(K):
            for j in range(k + 1):
                curvature = self.weight * p[:, k] * ((k == j) - p[:, j])
                H[k, :, j] = (self.A * curvature[:, None]).T @ self.A
                H[j, :, k] = H[k, :, j].T
        gradient = (self.weight[:, None] * (p - self.truth)).T @ self.A
        H = H.reshape(K * d, K * d)
        H[np.diag_indices_from(H)] += penalty
        return gradient.ravel() + penalty * w, H

    def solve(self, C, start):
        penalty = np.full(self.shape, 1 / C)
        penalty[:, 0] = SMALLEST
        penalty = penalty.ravel()

        def value(w):
            logs = log_softmax(self.scores(w), axis=1)[np.arange(len(self.y)), self.y]
            return float(penalty @ w**2 / 2 - self.weight @ logs)

        tol = 1e-10 * self.weight.sum()
        slopes = lambda w: self.slopes(w, penalty)  # noqa: E731
        return [_logistic.minimise_convex(value, slopes, start[0], tol=tol)]

    def leave_one_out(self, solutions):
        """Probabilities of every row without it, and their log-loss."""
        w, (K, d), n = solutions[0].state.w, self.shape, len(self.y)
        eta = self.scores(w)
        p, root = softmax(eta, axis=1), np.sqrt(self.weight)
        whole = np.zeros((K, d, K, n))
        whole[np.arange(K), :, np.arange(K)] = self.A.T
        V = solve_triangular(solutions[0].state.factor, whole.reshape(K * d, K * n), lower=True)
        V = np.moveaxis(V.reshape(K * d, K, n), 2, 0)  # rows x weights x classes
        # times its transpose diag(p) - pp', the curvature
        square = np.sqrt(p)[:, :, None] * np.eye(K) - p[:, :, None] * np.sqrt(p)[:, None, :]
        pull = np.einsum("npk,nk->np", V, self.weight[:, None] * (p - self.truth))
        pull = solve_left_out(V @ (root[:, None, None] * square), pull, 0.01)
        proba = softmax(eta + np.einsum("npk,np->nk", V, pull), axis=1)
        own = np.maximum(proba[np.arange(n), self.y], 1e-4)
        return proba, float(-np.average(np.log(own), weights=self.weight))


def fit_softmax(axes, y, weight, n_classes, C=None, groups=None):
    """As ``fit_logistic``, but for more than two classes."""
    if n_classes == 2:
        return AGAINST_REST[0](axes, y, weight, n_classes, C, groups)
    rows = SoftmaxRows(axes.Z, y, weight, n_classes)
    start, curve = [np.zeros(n_classes * rows.shape[1])], {}
    if C is None:
        C, start, curve = _logistic.select_strength(rows, start)
    solutions = rows.solve(C, start)
    left_out, curve[C] = rows.leave_one_out(solutions)
    b = solutions[0].state.w.reshape(rows.shape)
    coef = axes.back @ b[:, 1:].T
    intercept = b[:, 0] - axes.center @ coef
    dual = axes.Z @ (b[:, 1:] / (axes.size * np.maximum((axes.Z**2).sum(axis=0), 1e-300))).T
    return _logistic.LogisticFit(coef, intercept, C, left_out, curve, dual, solutions[0])


def to_softmax(scores):
    return softmax(scores, axis=1) if scores.shape[1] > 1 else AGAINST_REST[1](scores)


@contextmanager
def softmax_everywhere():
    """Where logistic regression is learned, and where its scores become probabilities."""
    with (
        mock.patch.object(_logistic, "fit_logistic", fit_softmax),
        mock.patch.object(_early_fusion, "fit_logistic", fit_softmax),
        mock.patch.object(_logistic, "to_probabilities", to_softmax),
        mock.patch.dict(_trees.LINKS, {"one against the rest": to_softmax}),
    ):
        yield


def several_classes(sets):
    """The first task of each set that has three classes or more."""
    seen = set()
    for task in small_tasks.tasks(sets):
        if task.set not in seen and task.make()[1].max() > 1:
            seen.add(task.set)
            yield task


def compare(method, task):
    """Balanced accuracy in percent, log-loss and CPU seconds a fit: against the rest, and softmax."""
    proba, _, seconds = run(method, task.views, task.y, task.folds)
    with softmax_everywhere():
        other, _, longer = run(method, task.views, task.y, task.folds)
    return [*task.scores(proba), seconds], [*task.scores(other), longer]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one small set")
    given = parser.parse_args()
    tasks = [Results(task, Path()) for task in several_classes(["wine"] if given.quick else None)]
    print(
        "| task | classes | method | balanced accuracy | softmax | log-loss | softmax | CPU s | softmax |"
    )
    pairs = {method: [] for method in METHODS}
    for task in tasks:
        for method in METHODS:
            pair = compare(method, task)
            pairs[method].append(pair)
            both = zip(*pair, (".1f", ".3f", ".2f"), strict=True)
            cells = [f"{x:{form}}" for *values, form in both for x in values]
            print(f"| {task.name} | {task.y.max() + 1} | {method} | {' | '.join(cells)} |", flush=True)
    for method, rows in pairs.items():
        gain = np.subtract(*np.swapaxes(rows, 0, 1)[::-1])
        ratio = np.divide(*np.sum(rows, axis=0)[::-1, 2])
        if len(tasks) > 1:
            print(f"{method}: softmax is {by_set(tasks, gain[:, 0])} points of balanced accuracy and "
                  f"{by_set(tasks, gain[:, 1], 3)} of log-loss from one against the rest, at {ratio:.0f} "
                  "times the CPU seconds")  # fmt: skip
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
