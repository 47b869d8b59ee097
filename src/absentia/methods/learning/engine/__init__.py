"""The machine behind multiple kernel learning."""

from absentia.methods.learning.engine._factors import FactorStack
from absentia.methods.learning.engine._norms import NormBall
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import DUST, GAP, Problem, Region, relative_gap, without_dust
from absentia.methods.learning.engine._solver import solve
from absentia.methods.learning.engine._stack import KernelStack, Stack
from absentia.methods.learning.engine._state import State
from absentia.methods.learning.engine._sums import lifted_cholesky
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, rounding
