"""Where the weights may be: a polytope ``{c >= 0, P c <= 1}``, or the unit ball of a p-norm.

Linear and quadratic programs over the polytope have few variables and many rows.  It stays the same while a
machine is trained and only objectives change.  So the simplex method keeps its tableau and starts where the
last program ended: mostly nothing or a few pivots are left to do.  The quadratic program is solved by the
dual active-set method of Goldfarb & Idnani (Math. Programming 27, 1983), which begins at the unconstrained
minimum and takes in the most violated row, one at a time: rows that never matter cost one product.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._compiled import compiled

#: Worth of a weight, beside the largest, that pivots may pass over.
_IDLE = 1e-10


class Region(Protocol):
    """Where the weights may be."""

    def middle(self) -> Array: ...
    def boundary(self, c: Array) -> Array: ...
    def highest(self, q: Array) -> tuple[float, Array, Array]: ...


class NormBall:
    """``{eta >= 0, |eta|_p <= 1}`` for p > 1."""

    def __init__(self, m: int, p: float) -> None:
        self.m, self.p = m, p

    def middle(self) -> Array:
        return np.full(self.m, self.m ** (-1 / self.p))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        length = float(np.linalg.norm(c, self.p))
        return np.asarray(c / length) if length > 0 else c

    def highest(self, q: Array) -> tuple[float, Array, Array]:
        """The dual norm of q, where it is attained, and no prices."""
        q = np.maximum(q, 0.0)
        scale = float(q.max())
        if scale == 0:
            return 0.0, self.middle(), q
        c = (q / scale) ** (1 / (self.p - 1))
        c /= np.linalg.norm(c, self.p)
        return float(c @ q), c, q

    def update(self, eta: Array, q: Array) -> Array:
        """The best weights for given ``|w_p| = eta_p sqrt(q_p)``, as ``|w_p|^(2 / (p + 1))``."""
        q = np.maximum(q, 0.0)
        best = (eta**2 * (q / max(float(q.max()), 1e-300))) ** (1 / (self.p + 1))
        return np.asarray(best / np.linalg.norm(best, self.p)) if best.any() else eta


class Polytope:
    """``{c >= 0, P c <= 1}`` with non-negative `P`, every column of which has a positive entry."""

    def __init__(self, P: Array) -> None:
        self.P = np.ascontiguousarray(P, dtype=np.float64)
        if not (self.P.max(axis=0, initial=0.0) > 0).all():
            raise ValueError("a weight that no row bounds makes the polytope unbounded")
        self._restart()

    @classmethod
    def simplex(cls, m: int) -> Polytope:
        """``sum c <= 1``."""
        return cls(np.ones((1, m)))

    @classmethod
    def of_rows(cls, observed: Array) -> Polytope:
        """``sum_p s_ip c_p <= 1`` for every sample i; rows that another row implies are left out."""
        return cls(maximal_rows(observed))

    @property
    def m(self) -> int:
        return self.P.shape[1]

    def middle(self) -> Array:
        """All weights equal and as large as possible."""
        return np.full(self.m, 1.0 / float(self.P.sum(axis=1).max()))

    def inside(self, c: Array) -> Array:
        """`c` without what rounding put outside."""
        c = np.maximum(c, 0.0)
        return np.asarray(c / max(1.0, float((self.P @ c).max())))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        reach = float((self.P @ c).max())
        return np.asarray(c / reach) if reach > 0 else c

    def highest(self, q: Array) -> tuple[float, Array, Array]:
        """An upper bound of ``max c.q``, which it equals but for rounding; where; and each weight's price.

        The price of a weight is what the rows it takes part in cost, ``P' theta``.  The bound is
        ``sum theta`` of a feasible point of the dual, ``P' theta >= q``, and so holds whatever the pivots'
        rounding did.
        """
        q = np.asarray(q, dtype=np.float64)
        scale = float(q.max(initial=0.0))
        if scale <= 0:
            return 0.0, np.zeros(self.m), np.zeros(self.m)
        for _ in range(2):
            c, theta = _maximise(self._tableau, self._rows, self._columns, q / scale, 200 * self.m)
            vertex = self.inside(c)
            theta = _raise_prices(self.P, theta, q / scale)
            bound = float(theta.sum())
            if bound - float(vertex @ q) / scale <= 1e-8 * bound:
                break
            self._restart()
        return bound * scale, vertex, scale * (theta @ self.P)

    def nearest(self, H: Array, g: Array, floor: Array) -> Array:
        """The minimum of ``1/2 c'Hc + g'c`` over the polytope, ``c >= floor``; `H` is positive definite."""
        return self.inside(_quadratic(H, g, self.P, floor))

    def _restart(self) -> None:
        n, m = self.P.shape
        self._tableau = np.zeros((n + 1, m + 1))
        self._tableau[:n, :m] = self.P
        # right-hand sides that differ slightly: rows of zeros and ones tie all the time, and ties can cycle
        self._tableau[:n, m] = 1 + 1e-10 * np.random.default_rng(0).random(n)
        self._rows, self._columns = np.arange(m, m + n), np.arange(m)


def maximal_rows(observed: Array) -> Array:
    """Distinct rows of a boolean matrix that no other row contains, as floats."""
    rows = np.unique(observed, axis=0)
    rows = rows[np.argsort(-rows.sum(axis=1), kind="stable")]
    packed = np.packbits(rows, axis=1)
    width = -(-packed.shape[1] // 8) * 8
    words = np.zeros((len(rows), width), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return rows[_maximal(words.view(np.uint64))].astype(np.float64)


@compiled
def _maximal(words):  # type: ignore[no-untyped-def]
    """Which rows of bits, largest first, lie in no earlier one that is kept."""
    n, width = words.shape
    kept, count = np.empty(n, np.int64), 0
    for i in range(n):
        contained = False
        for k in range(count):
            contained = True
            for w in range(width):
                if words[i, w] & ~words[kept[k], w]:
                    contained = False
                    break
            if contained:
                break
        if not contained:
            kept[count] = i
            count += 1
    return kept[:count]


def _raise_prices(P: Array, theta: Array, q: Array) -> Array:
    """`theta` made larger until ``P' theta >= q``: by a factor, and where that cannot do, by one row.

    What a weight is worth may be rounding beside the others (the pivots pass over less than 1e-11), so that
    no row it takes part in has a price: no factor helps there, and a large one would spoil the bound.
    """
    reached = theta @ P
    passed_over = (q > reached) & ((q <= _IDLE) | (reached <= 0))
    if passed_over.any():
        theta = theta.copy()
        for p in np.flatnonzero(passed_over):
            row = int(np.argmax(P[:, p]))
            theta[row] += (q[p] - reached[p]) / P[row, p]
        reached = theta @ P
    wanted = q > 0
    return np.asarray(theta * float((q[wanted] / reached[wanted]).max()))


@compiled
def _maximise(T, rows, columns, q, max_pivots):  # type: ignore[no-untyped-def]
    """Simplex pivots on the condensed tableau `T`, which stays that of a feasible vertex.

    ``rows`` and ``columns`` say which variable each row (basic) and column (zero) stands for: below m
    a weight, from m on the slack of a row of P.  Returns the weights and the dual variables.
    """
    n, m = T.shape[0] - 1, T.shape[1] - 1
    for j in range(m):
        T[n, j] = q[columns[j]] if columns[j] < m else 0.0
    T[n, m] = 0.0
    for i in range(n):
        if rows[i] < m and q[rows[i]] != 0.0:
            for j in range(m + 1):
                T[n, j] -= q[rows[i]] * T[i, j]
    for _ in range(max_pivots):
        j = int(np.argmax(T[n, :m]))
        if T[n, j] <= 1e-11:
            break
        i, least = -1, np.inf
        for k in range(n):
            if T[k, j] > 1e-9 and T[k, m] < least * T[k, j]:
                i, least = k, T[k, m] / T[k, j]
        if i < 0:
            break
        _pivot(T, i, j)
        rows[i], columns[j] = columns[j], rows[i]
    c, theta = np.zeros(m), np.zeros(n)
    for i in range(n):
        if rows[i] < m:
            c[rows[i]] = T[i, m]
    for j in range(m):
        if columns[j] >= m:
            theta[columns[j] - m] = max(-T[n, j], 0.0)
    return c, theta


@compiled
def _pivot(T, i, j):  # type: ignore[no-untyped-def]
    """Exchange row i and column j."""
    inverse = 1.0 / T[i, j]
    T[i, j] = 1.0
    for k in range(T.shape[1]):
        T[i, k] *= inverse
    row = T[i].copy()
    for r in range(T.shape[0]):
        factor = T[r, j]
        if r != i and factor != 0.0:
            T[r, j] = 0.0
            for k in range(T.shape[1]):
                T[r, k] -= factor * row[k]


@compiled
def _project(W, d):  # type: ignore[no-untyped-def]
    """Coefficients of the projection of `d` on the columns of `W`, and what is left of `d`."""
    k = W.shape[1]
    if k == 0:
        return np.zeros(0), d.copy()
    Q, R = np.linalg.qr(W)
    Q = np.ascontiguousarray(Q)
    r = d @ Q
    rest = d - Q @ r
    for i in range(k - 1, -1, -1):
        for j in range(i + 1, k):
            r[i] -= R[i, j] * r[j]
        r[i] /= R[i, i]
    return r, rest


@compiled
def _normal(P, which):  # type: ignore[no-untyped-def]
    """Normal of a constraint written ``normal . c >= limit``: a row of P, or from len(P) on a bound."""
    if which < len(P):
        return -P[which]
    normal = np.zeros(P.shape[1])
    normal[which - len(P)] = 1.0
    return normal


@compiled
def _quadratic(H, g, P, floor):  # type: ignore[no-untyped-def]
    """Goldfarb & Idnani: minimise over more and more constraints, multipliers never negative."""
    n, m = P.shape
    J = np.linalg.inv(np.linalg.cholesky(H))
    x = -(J.T @ (J @ g))
    active, multipliers, k = np.empty(m, np.int64), np.zeros(m + 1), 0
    W = np.empty((m, m))
    for _ in range(20 * (m + 2)):
        residual = np.concatenate((1.0 - P @ x, x - floor))
        for a in range(k):
            residual[active[a]] = 0.0
        worst = np.argmin(residual)
        if residual[worst] >= -1e-10:
            break
        normal = _normal(P, worst)
        limit = -1.0 if worst < n else floor[worst - n]
        d = J @ normal
        multiplier = 0.0
        while True:
            r, rest = _project(np.ascontiguousarray(W[:, :k]), d)
            drop, partial = -1, np.inf
            for a in range(k):
                if r[a] > 0 and multipliers[a] < partial * r[a]:
                    drop, partial = a, multipliers[a] / r[a]
            length, full = rest @ rest, np.inf
            if length > 1e-14 * (d @ d):
                full = (limit - normal @ x) / length
            t = min(full, partial)
            if t == np.inf:
                return x
            if full < np.inf:
                x += t * (J.T @ rest)
            multipliers[:k] -= t * r
            multiplier += t
            if full <= partial:
                break
            for a in range(drop, k - 1):
                active[a], multipliers[a] = active[a + 1], multipliers[a + 1]
                W[:, a] = W[:, a + 1]
            k -= 1
        if k == m:
            return x
        active[k], multipliers[k] = worst, multiplier
        W[:, k] = d
        k += 1
    return x
