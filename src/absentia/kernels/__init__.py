"""From features to kernels."""

from absentia.kernels._estimators import CombineKernels, ViewKernels
from absentia.kernels._fitting import KERNELS
