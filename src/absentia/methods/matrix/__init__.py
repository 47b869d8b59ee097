"""Matrices with missing entries, labels or targets.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011, and what it is
compared with.
"""

from absentia.methods.matrix._comparators import IBLR, MLKNN, PMF, PartialLabelSVM
from absentia.methods.matrix._holdout import HeldOut, hold_out
from absentia.methods.matrix._imputer import PMAImputer
from absentia.methods.matrix._targets import LabelGP, MatrixLMC, PMAClassifier, PMARegressor
