"""What is handed over certifies itself, where no machine does alone; bounds that contradict are an error."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.core import Status
from absentia.methods.learning.engine import Box, KernelStack, Polytope, Problem, solve
from absentia.methods.learning.engine import _problem as problems
from gapped import problem
from reference import amkl as slow
from stacks import HARD, hard


@pytest.mark.parametrize(("n", "m", "seed", "C", "region"), [*HARD, (100, 16, 47, 64.0, "simplex")])
def test_weights_and_coefficients_certify_together_where_no_machine_does_alone(n, m, seed, C, region):
    K, observed, problem = hard(n, m, seed, C, region)
    found = solve(problem, tol=1e-5)
    assert found.status is Status.CONVERGED
    point, box = found.state.point, problem.boxes[0]
    machine = point.machines[0]
    gap = slow.duality_gap(
        slow.masked(K, observed), point.eta, machine.z, machine.bias, *box, rows=problem.region.P
    )
    assert gap <= found.state.gap + 1e-10
    assert found.state.gap <= 1e-5


def test_bounds_that_contradict_each_other_are_an_error(monkeypatch):
    kernels, y = problem(0, 1.0)
    stack, box = KernelStack.of(kernels), Box.classification(np.where(y, 1.0, -1.0), np.ones(len(y)))
    plain = problems._point

    def flattered(*arguments):
        point = plain(*arguments)
        return replace(point, height=point.height * 1.1, lower=point.lower * 1.1)

    monkeypatch.setattr(problems, "_point", flattered)
    with pytest.raises(ArithmeticError, match=r"upper bound .* lies below the lower one"):
        solve(Problem(stack, (box,), Polytope.simplex(4)))
