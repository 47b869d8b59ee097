"""Weights of several classifiers, from probabilities of held-out samples: few samples, so drawn to equal
ones.

With ``p_m(i)`` the chance that candidate m gave to the true class of held-out sample i,

    minimise over w in the simplex   - sum_i log sum_m w_m p_m(i)  +  penalty / 2 |log w - mean(log w)|^2 .

A `penalty` of zero is a super learner; a large one takes the plain mean, which on a hundred samples is hard
to beat.  What the weights are worth is itself judged on held-out samples: they are learned from four fifths
of them and scored on the rest.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from absentia.core import Array, serializable
from absentia.data import folds

PENALTY = 10.0
FOLDS = 5
CLEARLY = 2.0  # standard errors by which something must be better than the plain mean
FLOOR = 1e-6  # probabilities below count as this: one sample does not decide everything


def own_probabilities(probabilities: Array, y: Array) -> Array:
    """What each candidate gave to the true class of each sample; candidates x samples."""
    return np.maximum(probabilities[:, np.arange(len(y)), y], FLOOR)


def log_losses(probabilities: Array, y: Array) -> Array:
    """Minus the logarithms of these, candidates x samples."""
    return np.asarray(-np.log(own_probabilities(probabilities, y)))


def shrunk_weights(own: Array, weight: Array, penalty: float = PENALTY) -> Array:
    """Weights of the candidates that sum to one, drawn to equal ones."""
    m = len(own)
    if m == 1:
        return np.ones(1)

    def objective(t: Array) -> tuple[float, Array]:
        w = np.exp(t - t.max())
        w /= w.sum()
        mixed = w @ own
        shares = w[:, None] * own / mixed  # responsibilities
        slope = -(shares @ weight) + w * weight.sum()
        off = t - t.mean()
        return float(-np.log(mixed) @ weight + penalty / 2 * off @ off), slope + penalty * off

    found = minimize(
        objective, np.zeros(m), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0}
    )
    w = np.exp(found.x - found.x.max())
    return np.asarray(w / w.sum())


def loss(own: Array, w: Array) -> Array:
    """Log-loss of every sample with these weights."""
    return np.asarray(-np.log(w @ own))


@serializable
class Weighing(NamedTuple):
    """Weights by the way that its own held-out estimate prefers, and what each way is worth."""

    weights: Array
    way: str  # "mean", "weights" or "best"
    losses: dict[str, float]  # log-loss by way, on held-out samples
    as_good: bool  # whether nothing was clearly better than the plain mean


def weigh(own: Array, y: Array, weight: Array, penalty: float = PENALTY, free: bool = True) -> Weighing:
    """The plain mean unless learned weights, or the best candidate alone, are clearly better.

    It is the plain mean in any case if the choice is not `free`.
    """
    m = len(own)
    equal = np.full(m, 1 / m)
    held = {way: np.zeros(own.shape[1]) for way in ("mean", "weights", "best")}
    for a, b in folds(np.arange(len(y)), y, FOLDS):
        ways = _ways(own[:, a], weight[a], penalty)
        for way, w in ways.items():
            held[way][b] = loss(own[:, b], w)
    losses = {way: float(np.average(one, weights=weight)) for way, one in held.items()}
    found, as_good = "mean", True
    for way in ("weights", "best") if free else ():
        gain = held["mean"] - held[way]
        error = float(np.std(gain)) / np.sqrt(len(gain))
        if losses[way] < losses[found] and np.average(gain, weights=weight) > CLEARLY * error:
            found, as_good = way, False
    w = equal if found == "mean" else _ways(own, weight, penalty)[found]
    return Weighing(w, found, losses, as_good)


def _ways(own: Array, weight: Array, penalty: float) -> dict[str, Array]:
    m = len(own)
    best = np.zeros(m)
    best[int(np.argmin(-np.log(own) @ weight))] = 1.0
    return {"mean": np.full(m, 1 / m), "weights": shrunk_weights(own, weight, penalty), "best": best}
