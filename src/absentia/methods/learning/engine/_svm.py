"""A support vector machine's dual with any linear term and a box of its own for every sample.

Written in signed coefficients ``z`` (``z = y o beta`` for classification), for a kernel ``K``,

    maximise    sum_i (t_i z_i - eps |z_i|)  -  1/2 z' K z
    subject to  sum_i z_i = 0,   lo_i <= z_i <= hi_i        (lo_i <= 0 <= hi_i).

* Classification: ``t = y o tau``, ``eps = 0``, ``z_i`` between 0 and ``y_i B_i``: the dual of
  ``1/2 |w|^2 + sum_i B_i max(0, tau_i - y_i f_i)``.  An ordinary machine has ``tau = 1``.
* Regression: ``t = y``, ``lo = -C``, ``hi = C``: the dual of
  ``1/2 |w|^2 + C sum_i max(0, |y_i - f_i| - eps)``.  The usual form has 2n variables; here ``|z_i|`` has a
  kink at zero, where a step simply ends.

Both have the loss ``max(0, hi (t - f - eps), lo (t - f + eps))``, with ``f = K z + b``, in the primal.

Sequential minimal optimisation (Platt 1998): two coefficients at a time, the pair chosen by how much the
objective would rise (second-order selection: Fan, Chen & Lin, JMLR 6, 2005).  The primal value, with the
best bias for the given ``K z``, minus the dual one is the certificate.  ``K z`` is computed anew for it:
the one that is carried along from pair to pair drifts.  No constant here has a unit: a kernel s times as
large with bounds s times as small has the same machine, its coefficients s times as small.

Where no coefficient is near its bound (large kernels, large C: nearly a hard margin) the losses' weight
turns the slightest violation into a large primal value.  There ``z`` is stretched until nobody has a loss,
which costs the dual only the square of what it is stretched by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from absentia.core import Array

_CHUNK = 2**17  # numbers brought to double precision at a time
_FLAT = 1e-12  # curvature of a pair that the kernel does not tell apart, relative to its largest value
_EPS = float(np.finfo(np.float64).eps)


class Box(NamedTuple):
    """The linear term and the bounds: everything of the problem but the kernel."""

    t: Array
    lo: Array
    hi: Array
    eps: float = 0.0

    @classmethod
    def classification(cls, y: Array, bound: Array, tau: Array | float = 1.0) -> Box:
        """``y`` in {-1, 1}; ``0 <= beta_i <= bound_i`` with linear term ``tau``."""
        reach = y * bound
        return cls(y * tau, np.minimum(reach, 0.0), np.maximum(reach, 0.0))

    @classmethod
    def regression(cls, y: Array, bound: Array, eps: float) -> Box:
        """Any real ``y``; both coefficients of a sample between 0 and ``bound_i``."""
        return cls(np.array(y, dtype=np.float64), -bound, np.array(bound, dtype=np.float64), float(eps))

    def linear(self, z: Array) -> float:
        """``sum_i (t_i z_i - eps |z_i|)``."""
        return float(self.t @ z) - self.eps * float(np.abs(z).sum())

    def losses(self, f: Array) -> Array:
        """Each sample's loss at scores `f`."""
        rest = self.t - f
        return np.maximum(np.maximum(self.hi * (rest - self.eps), self.lo * (rest + self.eps)), 0.0)

    def free(self, z: Array) -> Array:
        """Positions of coefficients strictly inside their box (and, with `eps`, off zero).

        The box may be far wider than any coefficient, so what is near its edge is measured by both.
        """
        width = 1e-9 * np.minimum(self.hi - self.lo, np.abs(z).max(initial=0.0))
        inside = (z > self.lo + width) & (z < self.hi - width)
        if self.eps > 0:
            inside &= np.abs(z) > width
        return np.flatnonzero(inside)

    def best_bias(self, scores: Array) -> float:
        """The ``b`` with the least loss at ``scores + b``: where the slope of the sum crosses zero.

        Sample i pulls up with ``hi_i`` until b passes ``t_i - scores_i - eps`` and down with ``-lo_i``
        from ``t_i - scores_i + eps`` on.  Where a whole interval is best, its middle is taken.
        """
        rest = self.t - scores
        pulls = np.concatenate([self.hi, -self.lo])
        places = np.concatenate([rest - self.eps, rest + self.eps])[pulls > 0]
        pulls = pulls[pulls > 0]
        if not len(pulls):
            return 0.0
        order = np.argsort(places)
        slope = np.cumsum(pulls[order]) - self.hi.sum()
        slack = 1e-12 * pulls.sum()
        left = places[order[min(np.searchsorted(slope, -slack), len(order) - 1)]]
        right = places[order[min(np.searchsorted(slope, slack, side="right"), len(order) - 1)]]
        return float(left + right) / 2

    def stretch(self, z: Array, scores: Array, slack: float) -> float:
        """The least factor from 1 on with which ``z`` and ``scores`` leave no loss; 1 if there is none.

        No loss: the highest ``t - eps - c f`` of those who pull the bias up is at least `slack` below the
        lowest ``t + eps - c f`` of those who pull it down.  Their difference is convex in c, so Newton's
        method comes from the left and never passes the root.
        """
        up, down = self.hi > 0, self.lo < 0
        edge = np.where(z > 0, self.hi, self.lo)
        most = float((edge[z != 0] / z[z != 0]).min(initial=np.inf))
        if most <= 1 or not (up.any() and down.any()):
            return 1.0
        above, below = self.t[up] - self.eps, self.t[down] + self.eps
        f_above, f_below = scores[up], scores[down]
        c = 1.0
        for _ in range(50):
            i, j = np.argmax(above - c * f_above), np.argmin(below - c * f_below)
            excess = (above[i] - c * f_above[i]) - (below[j] - c * f_below[j])
            if excess <= -slack:
                return c
            fall = f_above[i] - f_below[j]
            if fall <= 0:
                return 1.0
            c += (excess + 2 * slack) / fall
            if c > min(most, 2.0):
                return 1.0
        return 1.0

    def make_feasible(self, z: Array) -> Array:
        """`z` clipped to the box, then the heavier sign scaled down until the sum is zero."""
        z = np.clip(z, self.lo, self.hi)
        up, down = float(z[z > 0].sum()), float(-z[z < 0].sum())
        if up == down:
            return z
        heavy = z > 0 if up > down else z < 0
        z[heavy] *= min(up, down) / max(up, down)
        return z


class Machine(NamedTuple):
    """A solved dual: coefficients, ``K z``, bias, both objectives, and how many steps that took."""

    z: Array
    scores: Array  # K z, without the bias
    bias: float
    primal: float
    dual: float
    n_steps: int

    @property
    def gap(self) -> float:
        return self.primal - self.dual


def fit_machine(
    K: Array, box: Box, *, tol: float, start: Array | None = None, max_steps: int | None = None
) -> Machine:
    """Solve the dual until primal and dual differ by at most `tol` times the primal.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric positive semidefinite, rows contiguous; single precision is read as it is.
    start : array of shape (n,), optional
        Coefficients to start from; they are made feasible first.
    max_steps : int, optional
        Pairs moved at most; by default 100 000 and 200 per sample.
    """
    z = box.make_feasible(start) if start is not None else np.zeros(len(K))
    diagonal = np.ascontiguousarray(np.diagonal(K), dtype=np.float64)
    largest = float(diagonal.max(initial=0.0))
    flat = _FLAT * largest if largest > 0 else 1.0
    most = 100_000 + 200 * len(K) if max_steps is None else max_steps
    machine = evaluate_machine(box, z, product(K, z))
    aim = _first_aim(box, machine, tol)
    while True:
        left = most - machine.n_steps
        z = z.copy()
        steps = _ascend_pairs(K, diagonal, flat, box, z, machine.scores, aim, left)
        # what rounding leaves of a gradient
        floor = 1e-15 * float(np.abs(box.t).max() + largest * np.abs(z).sum())
        machine = stretch_machine(box, z, product(K, z), floor, machine.n_steps + steps)
        z, wanted = machine.z, tol * abs(machine.primal)
        if machine.gap <= wanted or aim <= floor or machine.n_steps >= most:
            return machine
        # the gap is at most about violation * sum |z|; aim where it should fall below, by and by
        aim = max(min(0.5 * aim, max(0.7 * aim * wanted / machine.gap, 0.05 * aim)), floor)


def _first_aim(box: Box, machine: Machine, tol: float) -> float:
    """How much of a violation to leave at first."""
    weight = float(np.abs(machine.z).sum())
    largest = (float(np.abs(box.t).max()) + box.eps) / 10
    return min(2 * tol * abs(machine.primal) / weight, largest) if weight > 0 else largest


def stretch_machine(box: Box, z: Array, scores: Array, floor: float, steps: int = 0) -> Machine:
    """The machine at `z`, or at a multiple of it where that has the smaller gap."""
    machine = evaluate_machine(box, z, scores, steps)
    factor = box.stretch(z, scores, 8 * floor)
    if factor == 1:
        return machine
    longer = evaluate_machine(box, factor * z, factor * scores, steps)
    return min(machine, longer, key=lambda candidate: candidate.gap)


def evaluate_machine(box: Box, z: Array, scores: Array, steps: int = 0) -> Machine:
    """The machine with coefficients `z` and ``K z = scores``: its bias and both objectives."""
    bias = box.best_bias(scores)
    norm = float(z @ scores)
    primal = norm / 2 + float(box.losses(scores + bias).sum())
    return Machine(z, scores, bias, primal, box.linear(z) - norm / 2, steps)


def rounding_error(box: Box, machine: Machine, largest: float) -> float:
    """How much rounding may hide of the primal value; `largest` is the kernel's largest value.

    Scores have errors of a few units in the last place of their terms, and a loss that of its score times
    its weight: everybody's who has a loss, or might have one but for rounding.
    """
    error = 10 * _EPS * (np.abs(box.t) + largest * float(np.abs(machine.z).sum()) + abs(machine.bias))
    rest = box.t - machine.scores - machine.bias
    up, down = rest - box.eps > -error, rest + box.eps < error
    return float(np.where(up, box.hi, 0.0) @ error - np.where(down, box.lo, 0.0) @ error)


def product(A: Array, x: Array) -> Array:
    """``A x`` in double precision, which the whole of `A` is never brought to."""
    if A.dtype == np.float64:
        return np.asarray(A @ x)
    rows = max(1, _CHUNK // max(A.shape[1], 1))
    parts = [A[a : a + rows].astype(np.float64) @ x for a in range(0, len(A), rows)]
    return np.concatenate([*parts, np.zeros(0)])


def _ascend_pairs(
    K: Array, diagonal: Array, flat: float, box: Box, z: Array, scores: Array, tol: float, max_steps: int
) -> int:
    """Move pairs until none ascends by more than `tol`; how many moved.

    `z`, with ``K z = scores``, changes in place.  Curvatures below `flat` count as that.
    """
    eps, n_steps, half = box.eps, 0, diagonal / 2
    # the gradient; of the objective if a sample moves up, or down; infinite if it cannot
    slopes = np.tile(box.t - scores, (3, 1))
    gradient, rising, falling = slopes
    rising[:] = np.where(z >= box.hi, -np.inf, gradient - np.where(z >= 0, eps, -eps))
    falling[:] = np.where(z <= box.lo, np.inf, gradient - np.where(z > 0, eps, -eps))
    gain, curvature = np.empty((2, len(z)))  # the curvature by half
    largest, least = np.maximum.reduce, np.minimum.reduce
    lo, hi, own = box.lo.tolist(), box.hi.tolist(), half.tolist()  # quicker one by one than out of arrays
    while True:
        highest = float(largest(rising))
        if highest - float(least(falling)) <= tol or n_steps >= max_steps:
            return n_steps
        # of those that rounding alone sets apart, the first
        i = int((rising >= highest - 1e-14 * abs(highest)).argmax())
        highest = float(rising[i])  # so that nobody is paired with itself
        np.subtract(half, K[i], out=curvature, dtype=np.float64)
        curvature += own[i]
        np.maximum(curvature, flat / 2, out=curvature)
        np.subtract(highest, falling, out=gain)
        np.maximum(gain, 0.0, out=gain)
        gain *= gain
        gain /= curvature
        j = int((gain >= (1 - 1e-12) * largest(gain)).argmax())
        # a step ends at a bound, or at the kink of |z|
        z_i, z_j = float(z[i]), float(z[j])
        end_i = 0.0 if eps > 0 and z_i < 0 else hi[i]
        end_j = 0.0 if eps > 0 and z_j > 0 else lo[j]
        free = (highest - float(falling[j])) / (2 * float(curvature[j]))
        delta = min(free, end_i - z_i, z_j - end_j)
        z[i] = end_i if delta >= end_i - z_i else z_i + delta
        z[j] = end_j if delta >= z_j - end_j else z_j - delta
        change = np.subtract(K[i], K[j], out=curvature, dtype=np.float64)
        change *= delta
        slopes -= change
        for k in (i, j):
            z_k, slope = float(z[k]), float(gradient[k])
            rising[k] = -np.inf if z_k >= hi[k] else slope - (eps if z_k >= 0 else -eps)
            falling[k] = np.inf if z_k <= lo[k] else slope - (eps if z_k > 0 else -eps)
        n_steps += 1
