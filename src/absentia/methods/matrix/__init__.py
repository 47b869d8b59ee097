"""Matrices with missing entries, labels or targets.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011, and what it is
compared with.
"""

from absentia.methods.matrix._holdout import HeldOut, hold_out
from absentia.methods.matrix._imputer import PMAImputer
from absentia.methods.matrix._label_comparators import IBLR, MLKNN, LabelGP, MatrixLMC, PartialLabelSVM
from absentia.methods.matrix._pmf import PMF
from absentia.methods.matrix._targets import PMAClassifier, PMARegressor
