"""Learning from incomplete kernels and features."""

from absentia.methods.learning._average import AverageKernelSVC
from absentia.methods.learning._base import Classifier, Learner, mixed, warn_of_empty
from absentia.methods.learning._calibration import SigmoidCalibration, learn_scale, score_rows
from absentia.methods.learning._inputs import Either
from absentia.methods.learning._labels import as_targets, check_targets, one_against_rest
from absentia.methods.learning._machines import KernelClassifier, Training
from absentia.methods.learning._mkl import MKLClassifier, MKLRegressor, Norm
from absentia.methods.learning._mmaf import MMAFClassifier
from absentia.methods.learning.amkl import AbsentMKLClassifier
