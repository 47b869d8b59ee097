"""Kernels as mutual kernel matrix completion wants them: scaled, of those who have a view, merged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from absentia.core import Array, Dense, Gram, Operator, Scaled
from absentia.data import KernelViews
from absentia.methods.completion.mkmc import _paper
from absentia.methods.completion.mkmc._fast import Problem, Seen


def view_scales(X: KernelViews, *, rescale: bool) -> Array:
    """Mean diagonal of each observed kernel; one for a view nobody has, and for all without `rescale`."""
    scales = np.ones(X.n_views)
    for v, name in enumerate(X.names):
        diagonal = X.diagonal(name)
        if len(diagonal):
            scale = diagonal.mean(dtype=np.float64)
            if not scale > 0:
                raise ValueError(f"view {name!r}: the kernel is zero for every sample; leave the view out")
            scales[v] = scale if rescale else 1.0
    return scales


def seen_by(X: KernelViews, scales: Array, samples: Array, dtype: Any) -> list[Seen]:
    """Each view's scaled kernel with its samples' positions among `samples`."""
    return [
        Seen(_scaled(X.operator(name), scale, np.dtype(dtype)), np.flatnonzero(present))
        for name, scale, present in zip(X.names, scales, X.observed[samples].T, strict=True)
    ]


def _scaled(operator: Operator, scale: float, dtype: np.dtype[Any]) -> Operator:
    """The kernel divided by `scale`, which comes before single precision: that holds fewer magnitudes."""
    if isinstance(operator, Dense) and operator.dtype != dtype:
        return Dense((operator.A / scale).astype(dtype))
    operator = operator.astype(dtype)
    return operator if scale == 1.0 else Scaled(operator, 1.0 / scale)


def _inside(view: Seen) -> Operator:
    """The kernel as it came."""
    return view.Q.operator if isinstance(view.Q, Scaled) else view.Q


def merged(views: Sequence[Seen]) -> list[Seen]:
    """Views that see the same samples become one: their kernels only ever appear as a sum."""
    groups: dict[bytes, list[Seen]] = {}
    for view in views:
        groups.setdefault(view.v.tobytes(), []).append(view)
    result = []
    for group in groups.values():
        if len(group) > 1 and all(isinstance(_inside(view), Dense) for view in group):
            total = sum(view.Q.to_dense() for view in group)
            result.append(Seen(Dense(np.asarray(total)), group[0].v, sum(view.weight for view in group)))
        else:
            result += group
    return result


def by_factors(problem: Problem) -> bool:
    """Whether some kernel is given by factors, of which no second copy is made."""
    return any(hasattr(_inside(view), "left") for view in problem.views)


def in_memory(X: KernelViews) -> bool:
    """Whether all kernels are arrays or factors, and not chunks elsewhere."""
    return all(isinstance(X.operator(name), Dense | Gram) for name in X.names)


def papers_problem(views: Sequence[Seen], size: int, eps: float, dtype: np.dtype[Any]) -> _paper.Problem:
    """The same problem as the papers' algorithm wants it: every kernel an array, hidden samples listed."""
    everyone = np.arange(size)
    seen = [_paper.Visible(Dense(v.Q.to_dense()), v.v, np.setdiff1d(everyone, v.v)) for v in views]
    return _paper.Problem(seen, size, eps, dtype)
