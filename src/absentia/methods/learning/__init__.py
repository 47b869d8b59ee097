"""Learning from incomplete kernels and features."""

from absentia.methods.learning._amkl import AbsentMKLClassifier
from absentia.methods.learning._base import (
    Classifier,
    Learner,
    Regressor,
    SurvivalModel,
    align_costs,
    shrink_to_prior,
)
from absentia.methods.learning._held_out import log_loss, select_C, selection_samples
from absentia.methods.learning._inputs import ViewsOrKernels, scatter_rows, subset
from absentia.methods.learning._logistic import (
    Axes,
    FactorTable,
    KernelLogistic,
    NewtonPoint,
    fit_logistic,
    leave_out_scores,
    minimise_convex,
    select_strength,
    to_probabilities,
)
from absentia.methods.learning._machines import KernelClassifier
from absentia.methods.learning._mkl import AverageKernelSVC, MKLClassifier, MKLRegressor, Norm
from absentia.methods.learning._mmaf import MMAFClassifier
from absentia.methods.learning._sums import DesignMatrix, fit_ridge, leave_out, row_blocks
