"""Learning from incomplete kernels and features."""

from absentia.methods.learning._average import AverageKernelSVC
from absentia.methods.learning._base import Classifier, Learner
from absentia.methods.learning._chances import Probability
from absentia.methods.learning._labels import as_targets, check_targets, one_against_rest
from absentia.methods.learning._machines import KernelClassifier
from absentia.methods.learning._mkl import MKLClassifier, MKLRegressor
from absentia.methods.learning._mmaf import MMAFClassifier
from absentia.methods.learning.amkl import AbsentMKLClassifier
