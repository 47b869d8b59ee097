"""Mutual kernel matrix completion."""

from absentia.methods.completion.mkmc._estimator import MKMC
