"""The problem of multiple kernel learning, and what the machines at given weights say about it.

A :class:`Point` is weights with their machines, and both bounds on the least V (see ``_solver``).  Its
coefficients alone are a :class:`Cut`: a bound on V, linear in the weights, that holds everywhere.

Weights below :data:`DUST` of the largest are zero.  Where the run ends at ``tol``, what is left of a weight
that the optimum has not is rounding: moving a share of DUST changes V by about DUST of itself, far below
any sensible `tol`, but a view with such a weight would count as one that has a say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._stack import Stack
from absentia.methods.learning.engine._sums import Sum
from absentia.methods.learning.engine._svm import Box, Machine, judged, rounding

GAP = "the relative duality gap"
DUST = 1e-6  # weights below this part of the largest are zero
Z_DUST = 1e-10  # the same for coefficients of samples
Starts = Sequence[Array] | None


class Region(Protocol):
    """Where the weights may be."""

    def middle(self) -> Array: ...
    def boundary(self, c: Array) -> Array: ...
    def highest(self, q: Array) -> tuple[float, Array, Array]: ...


@dataclass(frozen=True)
class Problem:
    """Kernels, where their weights may be, and the machines that share them: mostly one.

    With several boxes V is the sum over their machines, one for each class, say.
    """

    stack: Stack
    boxes: tuple[Box, ...]
    region: Region


class Cut(NamedTuple):
    """``V(eta) >= height - eta.q / 2`` everywhere: what the coefficients of one machine say.

    These are kept with it: at most N_CUTS for each sample, little beside a kernel.
    """

    height: float
    q: Array
    coefficients: list[Array]


@dataclass(frozen=True)
class Point:
    """Weights, the machines at them, and what they say about V there."""

    eta: Array
    machines: tuple[Machine, ...]
    kernel: Sum  # at these weights
    R: tuple[Array, ...]  # K_p z, one column per view
    q: Array
    kappa: float  # the most that c.q is in the region
    vertex: Array  # where that is: the linearised V is least there
    price: Array  # what each q_p would have to exceed to be worth more weight, if eta were optimal
    height: float  # linear(z)
    lower: float  # bound on the least V anywhere in the region
    rounding: float  # of the difference of primal and dual value

    @property
    def primal(self) -> float:
        return sum(machine.primal for machine in self.machines)

    @property
    def dual(self) -> float:
        return sum(machine.dual for machine in self.machines)

    @property
    def coefficients(self) -> list[Array]:
        return [machine.z for machine in self.machines]

    @property
    def blur(self) -> float:
        """V lies between the dual and the primal value: how far apart these are."""
        return self.primal - self.dual

    @property
    def gap(self) -> float:
        """Relative duality gap of these weights and coefficients alone, what rounding may hide included."""
        upper, lower = self.primal, self.height - self.kappa / 2
        return relative_gap(upper, lower) + (self.rounding / abs(upper) if upper else 0.0)

    @property
    def gradient(self) -> Array:
        return -self.q / 2

    @property
    def weighted(self) -> Array:
        """Which views have a weight to speak of."""
        return np.asarray(self.eta > DUST * self.eta.max())

    @property
    def cut(self) -> Cut:
        return Cut(self.height, self.q, self.coefficients)

    @property
    def wanting(self) -> Array:
        """Which views would lower V if weight were moved to them from the others."""
        return np.asarray(self.q * self.kappa > 2 * self.price * float(self.eta @ self.q))


def evaluate(problem: Problem, eta: Array, tol: float, starts: Starts = None) -> Point:
    """The machines at `eta` to a relative gap of `tol`, and the lower bound that they give."""
    kernel = problem.stack.weighted(eta)
    given = starts if starts is not None else [None] * len(problem.boxes)
    machines = [kernel.fit(b, tol=tol, start=z) for b, z in zip(problem.boxes, given, strict=True)]
    return _point(problem, eta, kernel, machines)


def _point(problem: Problem, eta: Array, kernel: Sum, machines: Sequence[Machine]) -> Point:
    """What `machines` at `eta` say, their ``K z`` computed from the kernels of the views."""
    products = [problem.stack.products(machine.z) for machine in machines]
    R = tuple(columns for columns, _ in products)
    pairs = list(zip(problem.boxes, machines, R, strict=True))
    machines = [judged(box, one.z, r @ eta, one.violation, one.n_steps) for box, one, r in pairs]
    q = np.sum([own for _, own in products], axis=0)
    kappa, vertex, price = problem.region.highest(q)
    linear = sum(box.linear(machine.z) for box, machine in zip(problem.boxes, machines, strict=True))
    # z scaled towards zero stays in the box, and may give the better bound
    scale = min(1.0, linear / kappa) if kappa > 0 and linear > 0 else 1.0
    lower = scale * linear - scale**2 * kappa / 2
    largest = float(problem.stack.largest() @ eta)
    slack = sum(rounding(box, one, largest) for box, one in zip(problem.boxes, machines, strict=True))
    return Point(eta, tuple(machines), kernel, R, q, kappa, vertex, price, linear, lower, slack)


def with_coefficients(problem: Problem, point: Point, z: Starts = None) -> Point:
    """The same weights with coefficients `z` (by default its own), dust left out."""
    given = point.coefficients if z is None else z
    clean = [box.feasible(without_dust(one, Z_DUST)) for box, one in zip(problem.boxes, given, strict=True)]
    if all(np.array_equal(a, b) for a, b in zip(clean, point.coefficients, strict=True)):
        return point
    machines = [one._replace(z=z) for one, z in zip(point.machines, clean, strict=True)]
    return _point(problem, point.eta, point.kernel, machines)


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / |upper|``, never clipped."""
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper else np.copysign(np.inf, upper - lower)


def without_dust(values: Array, share: float = DUST) -> Array:
    """`values` with exact zeros for those below `share` of the largest in size."""
    size = np.abs(values)
    return np.where(size > share * size.max(initial=0.0), values, 0.0)


def lifted(eta: Array) -> Array:
    """`eta` with weights that nearly count made large enough, instead of zero: the other way to round."""
    limit = DUST * float(eta.max())
    near = (eta > 0.1 * limit) & (eta <= limit)
    return np.where(near, 1.001 * limit, eta) if near.any() else eta
