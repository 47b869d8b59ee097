"""Filling the missing rows and columns of kernels."""

from absentia.methods.completion._auto import AutoCompleter
from absentia.methods.completion._base import (
    Basis,
    Completer,
    Coordinates,
    Holdout,
    SubspaceCompleter,
    subsample_kernels,
)
from absentia.methods.completion._em import EMFill
from absentia.methods.completion._fill import KNNFill, MeanFill, ZeroFill
from absentia.methods.completion._svt import SVTFill
from absentia.methods.completion.cvkt import CVKT
from absentia.methods.completion.mkc import MKC
from absentia.methods.completion.mkmc import MKMC
