"""Matrices with missing entries, labels or targets.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011, and what it is
compared with.
"""

from absentia.methods.matrix._classifier import PMAClassifier
from absentia.methods.matrix._completing import HeldOut, hold_out
from absentia.methods.matrix._imputer import PMAImputer
from absentia.methods.matrix._regressor import PMARegressor
from absentia.methods.matrix.comparators import IBLR, MLKNN, PMF, LabelGP, MatrixLMC, PartialLabelSVM
