"""What each view adds to a sample's decision.

Sums of kernels and late fusion have parts, which are exact.  Of everything else a view's contribution is
the difference that hiding it makes: probabilities with the view less probabilities without it.  Such
differences need not sum to anything; views that say the same stand in for one another, and each may seem to
add little.
"""

from typing import Any, Literal

import numpy as np

from absentia.core import Array
from absentia.methods.inspection._opened import opened, said

How = Literal["auto", "leaving out"]


def contributions(model: Any, X: Any, *, how: How = "auto") -> Any:
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
    >>> found = inspection.contributions(LateFusion().fit(views, y < 5), views[:4])
    >>> found.columns.tolist(), len(found)
    (['id', 'view', 'class', 'contribution'], 48)
    """
    if how not in ("auto", "leaving out"):
        raise ValueError(f"how must be 'auto' or 'leaving out', not {how!r}")
    import pandas as pd

    classifier, _ = opened(model, X)
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
    classifier, rows = opened(model, X)
    if exact and _has_parts(classifier):
        parts = np.asarray(classifier.contributions(rows))
        both = parts.shape[2] < len(classifier.classes_)
        return (np.concatenate([-parts, parts], axis=2) if both else parts), True
    return left_out(classifier, rows), False


def _has_parts(classifier: Any) -> bool:
    """Stacking has none under a second model of somebody else's."""
    return hasattr(classifier, "contributions") and getattr(classifier, "final", None) is None


def left_out(classifier: Any, X: Any) -> Array:
    """What is said with each view less what is said without it, rows x views x classes."""
    whole = said(classifier, X)
    parts = np.zeros((len(X), X.n_views, whole.shape[1]))
    for v, has in enumerate(X.observed.T):
        if has.any():
            keep = np.ones_like(X.observed)
            keep[:, v] = False
            parts[has, v] = (whole - said(classifier, X.hide(keep)))[has]
    return parts
