"""Multi-view kernel completion."""

from absentia.methods.completion.mkc._estimator import MKC
