"""Methods of known merit on the folds of repeated cross-validation: what tests between methods are tried on.

Two classes of Gaussian samples.  Every method assigns a sample to the nearer mean of the training samples, by
features that all methods share and some that only it has.  All features tell equally much, so that no
method is better than another but by luck; `gain` makes the own features of method 1 tell more.  The methods
are fitted and tested in earnest: folds share training samples, and repeats share all samples, as they do.
"""

from typing import NamedTuple

import numpy as np

N_SAMPLES, N_METHODS, N_FOLDS, N_REPEATS = 300, 6, 5, 5
TEST_SHARE = 1 / (N_FOLDS - 1)


class Merits(NamedTuple):
    """How many features methods share and have to themselves, how much each tells, and method 1's more."""

    shared: int = 30
    own: int = 5
    shift: float = 0.15
    gain: float = 0.0


class Answers(NamedTuple):
    """Whether each method was right (repeats x samples x methods), and when a sample was held out."""

    right: np.ndarray
    fold: np.ndarray

    @property
    def scores(self):
        """Accuracies, one row for each fold of each repeat."""
        return np.array(
            [
                right[fold == k].mean(axis=0)
                for right, fold in zip(self.right, self.fold, strict=True)
                for k in range(N_FOLDS)
            ]
        )


def answers(rng, merits=Merits()):  # noqa: B008
    """A fresh data set, and what the methods say about it, out of fold."""
    side = np.repeat([-1.0, 1.0], N_SAMPLES // 2)
    used = np.hstack(
        [np.ones((N_METHODS, merits.shared)), np.repeat(np.eye(N_METHODS), merits.own, axis=1)]
    )
    tells = merits.shift + merits.gain * used[1] * (used.sum(axis=0) == 1)
    X = rng.standard_normal((N_SAMPLES, used.shape[1])) + side[:, None] * tells
    fold = np.array([_folds(rng) for _ in range(N_REPEATS)])
    return Answers(np.array([_right(X, side, used, of) for of in fold]), fold)


def _folds(rng):
    """A fold for each sample, classes spread evenly."""
    half = N_SAMPLES // 2
    return np.concatenate([rng.permutation(half) % N_FOLDS for _ in range(2)])


def _right(X, side, used, fold):
    found = np.empty((len(X), len(used)), dtype=bool)
    for k in range(N_FOLDS):
        test = fold == k
        one, two = (X[~test & (side == s)].mean(axis=0) for s in (1, -1))
        nearer = ((X[test] - (one + two) / 2) * (one - two)) @ used.T
        found[test] = (nearer > 0) == (side[test, None] > 0)
    return found
