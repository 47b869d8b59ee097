"""Learning from incomplete kernels and features."""

from absentia.methods.learning._average import AverageKernelSVC
from absentia.methods.learning._base import Classifier, Learner, warn_of_empty
from absentia.methods.learning._chances import Probability
from absentia.methods.learning._inputs import Either
from absentia.methods.learning._machines import KernelClassifier
from absentia.methods.learning._mkl import MKLClassifier, MKLRegressor
from absentia.methods.learning._mmaf import MMAFClassifier
from absentia.methods.learning.amkl import AbsentMKLClassifier
