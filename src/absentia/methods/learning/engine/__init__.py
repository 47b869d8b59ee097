"""The machine behind multiple kernel learning."""

from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._solver import (
    DUST,
    GAP,
    NormBall,
    Problem,
    Region,
    State,
    lifted_cholesky,
    relative_gap,
    solve,
    without_dust,
)
from absentia.methods.learning.engine._stack import KernelStack
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, rounding

__all__ = [
    "DUST",
    "GAP",
    "Box",
    "KernelStack",
    "Machine",
    "NormBall",
    "Polytope",
    "Problem",
    "Region",
    "State",
    "fit_machine",
    "lifted_cholesky",
    "relative_gap",
    "rounding",
    "solve",
    "without_dust",
]
