"""Cox's partial likelihood, its penalised maximum, concordance and areas, one sample at a time."""

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


def survives(time, event, t, before=False):
    """Kaplan and Meier's share without event after t, or just before it, one sample after the other."""
    share = 1.0
    for s in sorted(set(time[event])):
        if s < t or (s == t and not before):
            share *= 1 - sum(event & (time == s)) / sum(time >= s)
    return share


def cumulative_dynamic_auc(time, event, risk, times):
    """Pair by pair; the mean over times by how many samples have the event between them."""
    areas, shares = [], []
    for k, t in enumerate(times):
        right = pairs = 0.0
        for i in range(len(time)):
            for j in range(len(time)):
                if time[i] <= t and event[i] and time[j] > t:
                    weight = 1 / survives(time, ~event, time[i], before=True)
                    pairs += weight
                    right += weight * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
        areas.append(right / pairs)
        earlier = survives(time, event, times[k - 1]) if k else 1.0
        shares.append(earlier - survives(time, event, t))
    return np.array(areas), np.average(areas, weights=shares)
