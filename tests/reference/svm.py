"""A support vector machine's dual by accelerated projected gradient: slow, plain, and sure for small n.

maximise t'z - eps |z|_1 - 1/2 z'Kz  subject to  sum z = 0, lo <= z <= hi.
"""

import numpy as np


def projected(v, shrink, lo, hi):
    """argmin 1/2 |z - v|^2 + shrink |z|_1 in the box with sum zero: bisection on the sum's multiplier."""

    def at(shift):
        moved = v - shift
        soft = np.sign(moved) * np.maximum(np.abs(moved) - shrink, 0)
        return np.clip(soft, lo, hi)

    low, high = (v - hi).min() - shrink - 1, (v - lo).max() + shrink + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() > 0 else (low, middle)
    return at((low + high) / 2)


def dual(K, t, lo, hi, eps=0.0, n_steps=5000):
    """The optimal z, by FISTA with restarts."""
    step = 1 / np.linalg.eigvalsh(K)[-1]
    z = y = np.zeros(len(t))
    momentum = 1.0
    for _ in range(n_steps):
        following = projected(y + step * (t - K @ y), step * eps, lo, hi)
        if (y - following) @ (following - z) > 0:
            momentum = 1.0  # restart
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        y = following + (momentum - 1) / grown * (following - z)
        if np.abs(following - z).max() < 1e-12 and momentum > 1:
            return following
        z, momentum = following, grown
    return z


def value(K, t, eps, z):
    return t @ z - eps * np.abs(z).sum() - z @ K @ z / 2
