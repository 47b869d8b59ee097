"""From features to kernels."""

from absentia.kernels._adjustment import AdjustViews
from absentia.kernels._estimators import CombineKernels, ViewKernels
from absentia.kernels._fitting import KERNELS
from absentia.kernels._structured import graph_kernel, spectrum_features
