"""What is learned: classes, numbers, survival, several labels, or nothing but whole kernels.

Five small objects, :data:`TASKS` by name.  Whoever fits, predicts, compares or draws pages asks them.
"""

from typing import Any

from sklearn.base import is_classifier, is_regressor

from absentia.tasks._base import (
    Interval,
    Metric,
    Plan,
    Predictions,
    PreparedTargets,
    Task,
    Tick,
    WeightedScore,
    adjust_samples,
    make_kernels,
    normal_interval,
    order_samples,
    space_samples,
    take_samples,
)
from absentia.tasks.classification import (
    Classification,
    Multilabel,
    balanced_accuracy,
    choose_decision,
    decision_words,
    is_unknown,
)
from absentia.tasks.completion import KernelCompletion, compute_row_errors, score_hidden_rows
from absentia.tasks.regression import Regression
from absentia.tasks.survival import SurvivalAnalysis, concordance, concordance_gain

CLASSIFICATION, REGRESSION, SURVIVAL = Classification(), Regression(), SurvivalAnalysis()
MULTILABEL, COMPLETION = Multilabel(), KernelCompletion()
TASKS: dict[str, Task] = {
    task.name: task for task in (CLASSIFICATION, REGRESSION, SURVIVAL, MULTILABEL, COMPLETION)
}


def find_task(fitted: Any) -> Task | None:
    """What a fitted estimator of views has learned; None: none of it."""
    if hasattr(fitted, "predict_survival_function"):
        return SURVIVAL
    if not hasattr(fitted, "unusable"):
        return None
    return CLASSIFICATION if is_classifier(fitted) else REGRESSION if is_regressor(fitted) else None
