"""A classifier and what it takes of samples, whatever it is wrapped in."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.methods.models import Model


def opened(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier itself, and the samples as it takes them, views in the order of training."""
    if isinstance(model, Model):
        model, X = model.classifier, model.rows(X)
    elif isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X) if len(model) > 1 else X
    if not hasattr(model, "classes_") or not hasattr(model, "names_in_"):
        raise ValueError(f"a fitted classifier of absentia is wanted, not {model!r}; call fit first")
    known = sorted(X.names) == sorted(model.names_in_)  # what is not, the classifier itself refuses
    return model, X.select(model.names_in_) if known else X


def said(model: Any, X: Any) -> Array:
    """Chances of the classes, rows x classes, or scores if the classifier learned no probabilities."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    scores = np.asarray(model.decision_function(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
