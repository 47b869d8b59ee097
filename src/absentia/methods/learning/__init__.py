"""Learning from incomplete kernels and features."""

from absentia.methods.learning._average import AverageKernelSVC
from absentia.methods.learning._machines import IsotonicChances, KernelClassifier, SigmoidChances
from absentia.methods.learning._mkl import MKLClassifier, MKLRegressor
from absentia.methods.learning._mmaf import MMAFClassifier
from absentia.methods.learning._order import feature_profiles, folds, kernel_profiles, sample_order
from absentia.methods.learning.amkl import AbsentMKLClassifier

__all__ = [
    "AbsentMKLClassifier",
    "AverageKernelSVC",
    "IsotonicChances",
    "KernelClassifier",
    "MKLClassifier",
    "MKLRegressor",
    "MMAFClassifier",
    "SigmoidChances",
    "feature_profiles",
    "folds",
    "kernel_profiles",
    "sample_order",
]
