"""Kernels as small pictures that a record can hold: block means, one byte each."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.experiment.comparison._problem import Problem

SIDE = 40  # blocks along each axis
NOTHING = 255  # the byte for a block in which nothing is
ROWS = 256


def picture_order(problem: Problem, kernels: KernelViews) -> tuple[Array, str]:
    """Positions of samples for pictures, and how they are ordered."""
    if problem.task == "classes" and problem.y is not None:
        return np.lexsort((problem.order.argsort(), problem.y)), "Samples are ordered by class."
    return _leading(kernels), "Samples are ordered by the leading direction of the average kernel."


def _leading(kernels: KernelViews, n_iter: int = 30) -> Array:
    """By the leading eigenvector of the centred average kernel, absent views read as zero."""
    n = len(kernels)
    x = np.cos(1.0 + np.arange(n))  # any start in general position
    for _ in range(n_iter):
        x = x - x.mean()
        total = np.zeros(n)
        for v, name in enumerate(kernels.names):
            has = np.flatnonzero(kernels.observed[:, v])
            size = kernels.mean_diagonal(name)
            if len(has) and size > 0:
                total[has] += np.asarray(kernels.operator(name) @ x[has, None])[:, 0] / size
        x = total / max(float(np.linalg.norm(total)), 1e-300)
    return np.argsort(x, kind="stable")


def maps_of(
    problem: Problem, kernels: KernelViews, part: KernelViews, completed: KernelViews
) -> dict[str, Any]:
    """Pictures of each view: as it is, with cells hidden, and completed."""
    order, words = picture_order(problem, kernels)
    groups = np.array_split(order, min(SIDE, len(order)))
    found: dict[str, Any] = {"side": len(groups), "order": words, "views": {}}
    for v, name in enumerate(kernels.names):
        means = {
            "truth": block_means(kernels, v, groups),
            "hidden": block_means(part, v, groups),
            "completed": block_means(completed, v, groups),
        }
        there = np.concatenate([m[np.isfinite(m)] for m in means.values()])
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
        coded = {what: _coded(m, low, high) for what, m in means.items()}
        found["views"][name] = {"low": low, "high": high, **coded}
    return found


def block_means(kernels: KernelViews, v: int, groups: list[Array]) -> Array:
    """Means of a view's kernel over blocks of samples that have it; NaN where nobody does."""
    has, operator = kernels.observed[:, v], kernels.operator(kernels.names[v])
    place = np.cumsum(has) - 1
    member = np.concatenate([np.full(int(has[g].sum()), i) for i, g in enumerate(groups)]).astype(int)
    inside = np.concatenate([place[g[has[g]]] for g in groups]).astype(int)
    sums, side = np.zeros((len(groups), len(groups))), len(groups)
    for some in np.array_split(np.arange(len(inside)), max(1, -(-len(inside) // ROWS))):
        rows = np.asarray(operator.block(inside[some], inside), dtype=np.float64)
        across = np.array([np.bincount(member, row, minlength=side) for row in rows]).reshape(
            len(some), side
        )
        np.add.at(sums, member[some], across)
    counts = np.bincount(member, minlength=side)
    each = np.outer(counts, counts)
    return np.where(each > 0, sums / np.maximum(each, 1), np.nan)


def _coded(means: Array, low: float, high: float) -> str:
    span = high - low if high > low else 1.0
    index = np.rint(np.clip((np.nan_to_num(means, nan=low) - low) / span, 0, 1) * (NOTHING - 1))
    return base64.b64encode(np.where(np.isnan(means), NOTHING, index).astype(np.uint8).tobytes()).decode()


def decoded(view: Mapping[str, Any], what: str, side: int) -> Array:
    """A picture of a record again, NaN where nothing is."""
    index = np.frombuffer(base64.b64decode(view[what]), dtype=np.uint8).reshape(side, side).astype(float)
    values = view["low"] + index / (NOTHING - 1) * (view["high"] - view["low"])
    return np.where(index == NOTHING, np.nan, values)
