"""What each view adds to a sample's decision.

Sums of kernels and late fusion have parts, which are exact.  Of everything else a view's contribution is
the difference that hiding it makes: probabilities with the view less probabilities without it.  Such
differences need not sum to anything; views that say the same stand in for one another, and each may seem to
add little.
"""

from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.methods.models import Model


def open_model(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier inside a Model or Pipeline, and the samples as it takes them, views as in training."""
    if isinstance(model, Model):
        model, X = model.classifier, model.rows(X)
    elif isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X) if len(model) > 1 else X
    if not hasattr(model, "classes_") or not hasattr(model, "names_in_"):
        raise ValueError(f"a fitted classifier of absentia is wanted, not {model!r}; call fit first")
    known = sorted(X.names) == sorted(model.names_in_)  # what is not, the classifier itself refuses
    return model, X.select(model.names_in_) if known else X


def _predict_proba_or_scores(model: Any, X: Any) -> Array:
    """Probabilities of the classes, rows x classes, or scores if no probabilities were learned."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    scores = np.asarray(model.decision_function(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def contributions(model: Any, X: Any, *, how: Literal["auto", "leaving out"] = "auto") -> Any:
    """What each view adds to each sample's decision: a pandas DataFrame (id, view, class, contribution).

    Parameters
    ----------
    model : fitted classifier, Model or Pipeline
        Of absentia.
    X : Views or KernelViews
        Samples as ``model.predict`` takes them.
    how : {"auto", "leaving out"}
        ``"auto"``: the exact parts where the classifier has them (its method ``contributions`` says of
        what), otherwise by leaving out: probabilities with the view less probabilities with the view
        hidden, zero where it is absent.  Scores take the place of probabilities that were not learned.

    Returns
    -------
    DataFrame
        Its ``attrs["how"]`` is ``"exact"`` or ``"leaving out"``.

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> parts = inspection.contributions(LateFusion().fit(views, y < 5), views[:4])
    >>> parts.columns.tolist(), len(parts)
    (['id', 'view', 'class', 'contribution'], 48)
    """
    if how not in ("auto", "leaving out"):
        raise ValueError(f"how must be 'auto' or 'leaving out', not {how!r}")
    import pandas as pd

    classifier, _ = open_model(model, X)
    parts, exact = parts_of(model, X, exact=how == "auto")
    n, V, k = parts.shape
    frame = pd.DataFrame(
        {
            "id": np.repeat(X.ids, V * k),
            "view": np.tile(np.repeat(np.array(classifier.names_in_, dtype=object), k), n),
            "class": np.tile(classifier.classes_, n * V),
            "contribution": parts.ravel(),
        }
    )
    frame.attrs["how"] = "exact" if exact else "leaving out"
    return frame


def parts_of(model: Any, X: Any, *, exact: bool = True) -> tuple[Array, bool]:
    """The same as an array, rows x views x classes in the classifier's order; whether it is exact.

    Parameters
    ----------
    model, X
        As in :func:`contributions`.
    exact : bool, default True
        Take the exact parts where the classifier has them.
    """
    classifier, rows = open_model(model, X)
    if exact and _has_parts(classifier):
        parts = np.asarray(classifier.contributions(rows))
        both = parts.shape[2] < len(classifier.classes_)
        return (np.concatenate([-parts, parts], axis=2) if both else parts), True
    return _parts_by_leaving_out(classifier, rows), False


def _has_parts(classifier: Any) -> bool:
    """Stacking has none under a second model of somebody else's."""
    return hasattr(classifier, "contributions") and getattr(classifier, "final", None) is None


def _parts_by_leaving_out(classifier: Any, X: Any) -> Array:
    """Probabilities with each view less probabilities without it, rows x views x classes."""
    whole = _predict_proba_or_scores(classifier, X)
    parts = np.zeros((len(X), X.n_views, whole.shape[1]))
    for v, has in enumerate(X.observed.T):
        if has.any():
            keep = np.ones_like(X.observed)
            keep[:, v] = False
            parts[has, v] = (whole - _predict_proba_or_scores(classifier, X.hide(keep)))[has]
    return parts
