"""Cross-view kernel transfer."""

from absentia.methods.completion.cvkt._estimator import CVKT
