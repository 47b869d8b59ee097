"""Matrices with missing entries, labels or targets."""

from absentia.methods.matrix._comparators import IBLR, MLKNN, PMF, LabelGP, MatrixLMC, PartialLabelSVM
from absentia.methods.matrix._model import RowKernel
from absentia.methods.matrix._pma import MANY, PMAClassifier, PMAImputer, PMARegressor
from absentia.methods.matrix._tensor import PMATensorImputer

__all__ = [
    "IBLR",
    "MANY",
    "MLKNN",
    "PMF",
    "LabelGP",
    "MatrixLMC",
    "PMAClassifier",
    "PMAImputer",
    "PMARegressor",
    "PMATensorImputer",
    "PartialLabelSVM",
    "RowKernel",
]
