"""What a class is decided by, once its probability is known.

With p_k the probability of class k and f_k its frequency in training,

=====================  =====================================  ==============================================
what counts            predicted class                        kept in ``decision_``
=====================  =====================================  ==============================================
accuracy               argmax_k p_k                           weights (classes,), all 1
balanced accuracy      argmax_k p_k / f_k                     weights (classes,), 1 / f_k
costs of mistakes      argmin_j sum_k p_k cost[k, j]          costs (classes, classes), true x predicted
=====================  =====================================  ==============================================

Of equals the more frequent class is taken, of equal costs the more probable one: that is a billionth in
``decision_``.  No decision hangs on what classes are called.
"""

from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import show_id

_TIE = 1e-9


def make_decision(decision: Any, classes: Array, frequencies: Array) -> Array:
    """Weights (classes,) or costs (classes, classes) of a rule: "balanced", "accuracy", or costs."""
    if isinstance(decision, str):
        if decision not in ("balanced", "accuracy"):
            raise ValueError(f"decision must be 'balanced', 'accuracy' or costs, not {decision!r}")
        balanced = (1 + _TIE * frequencies) / frequencies
        return np.asarray(balanced if decision == "balanced" else np.ones(len(classes)))
    costs = align_costs(decision, classes)
    return costs - _TIE * costs.max() * np.eye(len(classes))


def align_costs(costs: Any, classes: Any) -> Array:
    """Costs of mistakes, (classes, classes), true ones in rows and predicted ones in columns.

    Parameters
    ----------
    costs : dict of dicts, DataFrame, or array of shape (n_classes, n_classes)
        ``costs[true][predicted]``, or a table with true classes as rows, by name in any order; an array is
        in the order of `classes`.  Zero or more; what is not given of the diagonal is zero.  Other classes
        than those asked for are not looked at.
    classes : sequence

    Examples
    --------
    >>> align_costs({"ill": {"healthy": 10}, "healthy": {"ill": 1}}, ["healthy", "ill"])
    array([[ 0.,  1.],
           [10.,  0.]])
    """
    import pandas as pd

    names = [str(name) for name in classes]
    if isinstance(costs, np.ndarray):
        if costs.shape != (len(names), len(names)):
            raise ValueError(f"costs of shape {costs.shape} came; {len(names)} x {len(names)} are wanted")
        costs = pd.DataFrame(costs, index=names, columns=names)
    table = costs if isinstance(costs, pd.DataFrame) else _read_mapping(costs)
    table = table.set_axis([str(x) for x in table.index]).set_axis([str(x) for x in table.columns], axis=1)
    for side, found in (("row", table.index), ("column", table.columns)):
        for name in names:
            if (count := int((found == name).sum())) != 1:
                raise ValueError(
                    f"costs have {count or 'no'} {side} of class {show_id(name)}, but of "
                    f"{', '.join(map(repr, found[:6]))}; one of each class is wanted, true classes in rows "
                    "and predicted ones in columns"
                )
    part = table.loc[names, names]
    values = part.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    empty = part.isna().to_numpy() | (part.astype(str) == "").to_numpy()
    values[empty & np.eye(len(names), dtype=bool)] = 0.0
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        k, j = np.argwhere(bad)[0]
        raise ValueError(
            f"the cost of taking class {show_id(names[k])} for {show_id(names[j])} is "
            f"{str(part.iloc[k, j])!r}; a number from 0 on is wanted"
        )
    if not values.any():
        raise ValueError("all costs are zero, so that no mistake matters; give those that do a cost")
    return values


def _read_mapping(costs: Any) -> Any:
    """A dict of dicts as a DataFrame."""
    import pandas as pd

    try:
        return pd.DataFrame.from_dict({true: dict(row) for true, row in costs.items()}, orient="index")
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"costs must be a dict of dicts, costs[true][predicted], or a DataFrame, not {costs!r:.60}"
        ) from None
