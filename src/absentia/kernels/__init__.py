"""From features to kernels."""

from absentia.kernels._estimators import CombineKernels, ViewKernels
from absentia.kernels._fitting import KERNELS
from absentia.kernels._graphs import graph_kernel
from absentia.kernels._strings import spectrum_features
