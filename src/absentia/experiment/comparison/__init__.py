"""Which method works best on some data: cells hidden and completed, labels cross-validated, and what the
numbers support.
"""

from absentia.experiment.comparison._data import TaskData, make_covariates, make_task_data
from absentia.experiment.comparison._design import Design, choose_methods
from absentia.experiment.comparison._study import (
    MAX_COMPARED,
    Study,
    draw_compared,
    fit_to_all,
    learn_all,
    open_study,
    predict_samples,
)
