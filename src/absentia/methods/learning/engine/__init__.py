"""The machine behind multiple kernel learning."""

from absentia.methods.learning.engine._linear import NUMBA_ADVICE, has_numba
from absentia.methods.learning.engine._problem import DUST, GAP, Problem, State, relative_gap, without_dust
from absentia.methods.learning.engine._regions import NormBall, Polytope, Region
from absentia.methods.learning.engine._solver import solve
from absentia.methods.learning.engine._stacks import FactorStack, KernelStack, Stack, cholesky_with_jitter
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, rounding_error
