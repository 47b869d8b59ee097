"""From features to kernels."""

from absentia.kernels._estimators import CombineKernels, ViewKernels
from absentia.kernels._fitting import KERNELS, FeatureKernel, Finish, Options, feature_order

__all__ = [
    "KERNELS",
    "CombineKernels",
    "FeatureKernel",
    "Finish",
    "Options",
    "ViewKernels",
    "feature_order",
]
