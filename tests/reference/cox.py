"""Cox's partial likelihood, its penalised maximum and the concordance index, one sample at a time."""

import numpy as np
from scipy.optimize import minimize


def loss(f, time, event, ties):
    """The negative log partial likelihood, event time by event time."""
    total = 0.0
    for t in sorted(set(time[event])):
        dead = [i for i in range(len(f)) if event[i] and time[i] == t]
        at_risk = [i for i in range(len(f)) if time[i] >= t]
        for order, i in enumerate(dead):
            share = order / len(dead) if ties == "efron" else 0.0
            total -= f[i]
            total += np.log(sum(np.exp(f[j]) for j in at_risk) - share * sum(np.exp(f[j]) for j in dead))
    return total


def fit(K, time, event, alpha, ties="breslow"):
    """Log-risks of least ``loss(K a) + alpha / 2 a' K a``, with mean zero; slopes by differences."""
    found = minimize(lambda a: loss(K @ a, time, event, ties) + alpha / 2 * a @ K @ a, np.zeros(len(K)))
    f = K @ found.x
    return f - f.mean()


def cumulative_hazard(f, time, event):
    """Breslow's estimate at the times with events."""
    times = sorted(set(time[event]))
    jumps = [sum(event & (time == t)) / sum(np.exp(f[time >= t])) for t in times]
    return np.array(times), np.cumsum(jumps)


def concordance(time, event, risk):
    """Pair by pair."""
    right = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                pairs += 1
                right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    return right / pairs
