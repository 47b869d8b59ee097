"""Where the weights may be: a polytope ``{c >= 0, P c <= 1}``, or the unit ball of a p-norm.

Linear and quadratic programs over the polytope have few variables and many rows.  It stays the same while a
machine is trained and only objectives change.  So the simplex method keeps its tableau and starts where the
last program ended: mostly nothing or a few pivots are left to do.  The quadratic program is solved by the
dual active-set method of Goldfarb & Idnani (Math. Programming 27, 1983), which begins at the unconstrained
minimum and takes in the most violated row, one at a time: rows that never matter cost one product.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from absentia.core import Array

#: Worth of a weight, beside the largest, that pivots may pass over.
_IDLE = 1e-10


class NormBall:
    """``{eta >= 0, |eta|_p <= 1}`` for p > 1."""

    def __init__(self, m: int, p: float) -> None:
        self.m, self.p = m, p

    def middle(self) -> Array:
        return np.full(self.m, self.m ** (-1 / self.p))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        length = float(np.linalg.norm(c, self.p))
        return c / length if length > 0 else c

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
        return best / np.linalg.norm(best, self.p) if best.any() else eta


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
        return cls(_maximal_rows(observed))

    @property
    def m(self) -> int:
        return self.P.shape[1]

    def middle(self) -> Array:
        """All weights equal and as large as possible."""
        return np.full(self.m, 1.0 / float(self.P.sum(axis=1).max()))

    def inside(self, c: Array) -> Array:
        """`c` without what rounding put outside."""
        c = np.maximum(c, 0.0)
        return c / max(1.0, float((self.P @ c).max()))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        reach = float((self.P @ c).max())
        return c / reach if reach > 0 else c

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


Region = Polytope | NormBall


def _maximal_rows(observed: Array) -> Array:
    """Distinct rows of a boolean matrix that no other row contains, as floats."""
    rows = np.unique(observed, axis=0)
    rows = rows[np.argsort(-rows.sum(axis=1), kind="stable")]
    rest, maximal = np.packbits(~rows, axis=1), []  # largest first: nothing later contains the first
    index = np.arange(len(rows))
    while len(index):
        maximal.append(index[0])
        beyond = (rest[0] & ~rest).any(axis=1)  # has a view that the first lacks
        rest, index = rest[beyond], index[beyond]
    return rows[maximal].astype(np.float64)


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
    return theta * float((q[wanted] / reached[wanted]).max())


def _maximise(T: Array, rows: Array, columns: Array, q: Array, max_pivots: int) -> tuple[Array, Array]:
    """Simplex pivots on the condensed tableau `T`, which stays that of a feasible vertex.

    ``rows`` and ``columns`` say which variable each row (basic) and column (zero) stands for: below m
    a weight, from m on the slack of a row of P.  Returns the weights and the dual variables.
    """
    n, m = T.shape[0] - 1, T.shape[1] - 1
    worth = np.concatenate([q, np.zeros(n)])
    T[n, :m], T[n, m] = worth[columns], 0.0
    T[n] -= worth[rows] @ T[:n]
    for _ in range(max_pivots):
        j = int(np.argmax(T[n, :m]))
        if T[n, j] <= 1e-11:
            break
        bounding = np.flatnonzero(T[:n, j] > 1e-9)
        if not len(bounding):
            break
        i = bounding[np.argmin(T[bounding, m] / T[bounding, j])]
        _pivot(T, i, j)
        rows[i], columns[j] = columns[j], rows[i]
    values, prices = np.zeros((2, n + m))
    values[rows], prices[columns] = T[:n, m], np.maximum(-T[n, :m], 0.0)
    return values[:m], prices[m:]


def _pivot(T: Array, i: int, j: int) -> None:
    """Exchange row i and column j."""
    row, column = T[i] / T[i, j], T[:, j].copy()
    row[j], column[i] = 1.0 / T[i, j], 0.0
    T[:, j] = 0.0
    T[i] = row
    T -= np.outer(column, row)


def _project(W: Array, d: Array) -> tuple[Array, Array]:
    """Coefficients of the projection of `d` on the columns of `W`, and what is left of `d`."""
    if not W.shape[1]:
        return np.zeros(0), d
    Q, R = np.linalg.qr(W)
    r = d @ Q
    return scipy.linalg.solve_triangular(R, r), d - Q @ r


def _quadratic(H: Array, g: Array, P: Array, floor: Array) -> Array:
    """Goldfarb & Idnani: minimise over more and more constraints, multipliers never negative."""
    m = len(H)
    J = np.linalg.inv(np.linalg.cholesky(H))
    x = -(J.T @ (J @ g))
    # every constraint is normal . c >= limit
    normals, limits = np.vstack([-P, np.eye(m)]), np.concatenate([-np.ones(len(P)), floor])
    active: list[int] = []
    multipliers = np.zeros(0)
    for _ in range(20 * (m + 2)):
        residual = normals @ x - limits
        residual[active] = 0.0
        worst = int(np.argmin(residual))
        if residual[worst] >= -1e-10:
            break
        normal, multiplier = normals[worst], 0.0
        d = J @ normal
        while True:
            r, rest = _project(J @ normals[active].T, d)
            falling = np.flatnonzero(r > 0)
            ratios = multipliers[falling] / r[falling]
            partial = float(ratios.min(initial=np.inf))
            length, full = float(rest @ rest), np.inf
            if length > 1e-14 * float(d @ d):
                full = (limits[worst] - normal @ x) / length
            t = min(full, partial)
            if t == np.inf:
                return x
            if full < np.inf:
                x = x + t * (J.T @ rest)
            multipliers = multipliers - t * r
            multiplier += t
            if full <= partial:
                break
            drop = int(falling[np.argmin(ratios)])
            del active[drop]
            multipliers = np.delete(multipliers, drop)
        if len(active) == m:
            break
        active.append(worst)
        multipliers = np.append(multipliers, multiplier)
    return x
