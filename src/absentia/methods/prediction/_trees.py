"""Fitted trees as plain arrays: forests and boosted trees of scikit-learn that can be kept in files.

All trees stand in the same arrays, one entry per node.  An inner node sends a sample left if its feature is
at most the threshold, or, where the feature is NaN, if ``missing_left`` says so; children stand behind
their parents.  A leaf has no children (-1).  What a sample gets is the sum of its leaves' values: those of
a forest have one for every output, those of boosted trees go to the one output of their tree.

Predictions go through these arrays before a model is saved as well as afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from absentia.core import Array, serializable
from absentia.methods.learning import to_probabilities

_MAX_PAIRS = 1 << 20  # of a sample and a tree, that are followed at a time
_LARGEST = float(np.finfo(np.float32).max)  # beyond, values are not told apart where they have four bytes

#: What becomes of the sums.
LINKS: dict[str, Callable[[Array], Array]] = {
    "identity": lambda sums: sums,
    "sigmoid": lambda sums: np.hstack([1 - expit(sums), expit(sums)]),
    "softmax": lambda sums: softmax(sums, axis=1),
    "one against the rest": to_probabilities,
}


@serializable
@dataclass(frozen=True, eq=False, repr=False)
class Trees:
    """Many trees over `width` features.

    `value` is nodes x outputs, or nodes x 1 with the output of each tree in `output`.  `start` is what
    every sample begins with.  With `short`, features are compared as numbers of four bytes.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    value: Array
    roots: Array
    output: Array
    start: Array
    width: int
    link: str = "identity"
    short: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        try:
            consistent = _is_consistent(self)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError) as error:
            raise ValueError(f"its trees are not complete ({type(error).__name__}: {error})") from error
        if not consistent:
            raise ValueError("its trees have parts that do not go together")

    def predict(self, X: Array) -> Array:
        """Outputs of every row, (rows, outputs), or probabilities, (rows, classes); NaN is missing."""
        if X.shape[1] != self.width:
            raise ValueError(f"{X.shape[1]} features came, the trees were learned from {self.width}")
        if self.short:
            X = as_float32(X)
        size = max(1, _MAX_PAIRS // max(1, len(self.roots)))
        parts = [self._sums(X[i : i + size]) for i in range(0, max(len(X), 1), size)]
        return LINKS[self.link](np.vstack(parts))

    def _sums(self, X: Array) -> Array:
        """Sums of the leaves' values, one output at a time: the same for a row whoever stands beside it."""
        leaves = self._leaves(X)
        sums = np.tile(self.start, (len(X), 1))
        for k in range(len(self.start)):
            if self.value.shape[1] > 1:
                sums[:, k] += self.value[leaves, k].sum(axis=1)
            else:
                of_output = np.ascontiguousarray(leaves[:, self.output == k])
                sums[:, k] += self.value[of_output, 0].sum(axis=1)
        return sums

    def _leaves(self, X: Array) -> Array:
        """Where each row ends in each tree; all of them go down one level at a time."""
        nodes = np.tile(self.roots, len(X))
        rows = np.repeat(np.arange(len(X)), len(self.roots))
        moving = np.flatnonzero(self.left[nodes] >= 0)
        while len(moving):
            at = nodes[moving]
            x = X[rows[moving], self.feature[at]]
            goes_left = np.where(np.isnan(x), self.missing_left[at], x <= self.threshold[at])
            nodes[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[self.left[nodes[moving]] >= 0]
        return nodes.reshape(len(X), len(self.roots))

    def feature_gains(self, gain: Array) -> Array:
        """Sums of the nodes' `gain` by feature, as shares of the whole."""
        inner = self.left >= 0
        total = np.bincount(self.feature[inner], gain[inner], minlength=self.width)
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    @classmethod
    def of_forest(
        cls, forest: Any, fill: Array, read: Callable[[Any], Array] = lambda tree: tree.value[:, 0, :]
    ) -> Trees:
        """Of a fitted forest, NaN being `fill`; `read` gives values of a tree's nodes, (nodes, outputs).

        By default those of ``RandomForestClassifier`` and ``-Regressor`` with one target.
        """
        trees = [tree.tree_ for tree in forest.estimators_]
        values = np.concatenate([read(tree) for tree in trees]).astype(np.float64)
        if hasattr(forest, "classes_"):
            values /= values.sum(axis=1, keepdims=True)
        pieces = [
            (
                t.feature,
                t.threshold,
                t.children_left,
                t.children_right,
                fill[np.maximum(t.feature, 0)] <= t.threshold,
            )
            for t in trees
        ]
        return cls(
            **_stack_nodes(pieces),
            value=values / len(trees),
            output=np.zeros(len(trees), dtype=np.int32),
            start=np.zeros(values.shape[1]),
            width=int(forest.n_features_in_),
            short=True,
        )

    @classmethod
    def of_boosting(cls, model: Any) -> tuple[Trees, Array]:
        """Of a fitted ``HistGradientBoostingClassifier`` or ``-Regressor``; and every node's gain."""
        rounds = model._predictors
        nodes = [tree.nodes for trees in rounds for tree in trees]
        pieces = [_node_columns(tree) for tree in nodes]
        start = np.array(model._baseline_prediction, dtype=np.float64).ravel()
        links = {1: "sigmoid"} if hasattr(model, "classes_") else {1: "identity"}
        trees = cls(
            **_stack_nodes(pieces),
            value=np.concatenate([tree["value"] for tree in nodes])[:, None],
            output=np.tile(np.arange(len(start), dtype=np.int32), len(rounds)),
            start=start,
            width=int(model.n_features_in_),
            link=links.get(len(start), "softmax"),
        )
        return trees, np.concatenate([np.maximum(tree["gain"], 0.0) for tree in nodes])


def as_float32(X: Array) -> Array:
    """As numbers of four bytes; what is too large for them is the largest there is."""
    return np.clip(X, -_LARGEST, _LARGEST).astype(np.float32)


def _node_columns(nodes: Any) -> tuple[Array, ...]:
    leaf = nodes["is_leaf"].astype(bool)
    sides = [np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right")]
    return (nodes["feature_idx"], nodes["num_threshold"], *sides, nodes["missing_go_to_left"])


def _stack_nodes(pieces: Sequence[tuple[Array, ...]]) -> dict[str, Any]:
    """The nodes of all trees, children counted from the first node."""
    feature, threshold, left, right, missing = zip(*pieces, strict=True)
    begins = _roots(pieces)
    inner = np.concatenate(left) >= 0

    def shift(side: Sequence[Array]) -> Array:
        moved = [np.where(nodes >= 0, nodes + b, -1) for nodes, b in zip(side, begins, strict=True)]
        return np.concatenate(moved).astype(np.int32)

    return {
        "feature": np.where(inner, np.concatenate(feature), 0).astype(np.int32),
        "threshold": np.where(inner, np.concatenate(threshold), 0.0),
        "left": shift(left),
        "right": shift(right),
        "missing_left": np.concatenate(missing).astype(bool) & inner,
        "roots": begins,
    }


def _roots(pieces: Sequence[tuple[Array, ...]]) -> Array:
    sizes = [len(piece[0]) for piece in pieces]
    return (np.cumsum(sizes) - sizes).astype(np.int32)


# ------------------------------------------------------------------------------ what a file may bring


def _is_consistent(trees: Trees) -> bool:
    """Whether every step leads to a later node of the arrays, and every number is one."""
    n, k = trees.value.shape
    nodes = (trees.feature, trees.left, trees.right, trees.missing_left, trees.threshold)
    whole = (trees.feature, trees.left, trees.right, trees.roots, trees.output)
    one_each = all(array.shape == (n,) for array in nodes) and trees.roots.shape == trees.output.shape
    kinds = all(array.dtype.kind == "i" for array in whole) and trees.missing_left.dtype.kind == "b"
    real = all(array.dtype == np.float64 for array in (trees.value, trees.threshold, trees.start))
    if not (one_each and kinds and real and trees.roots.ndim == trees.start.ndim == 1):
        return False
    outputs = len(trees.start)
    declared = type(trees.width) is int and trees.link in LINKS and type(trees.short) is bool
    wide = outputs > 0 and k in (1, outputs) and (trees.link != "sigmoid" or outputs == 1)
    numbers = np.isfinite(trees.value).all() and np.isfinite(trees.start).all()
    return bool(declared and wide and numbers and _paths_end(trees, n, outputs))


def _paths_end(trees: Trees, n: int, outputs: int) -> bool:
    """Children behind their parents, so that nobody walks in a circle; roots, features, outputs there."""
    inner, place = trees.left >= 0, np.arange(n)
    children = [np.where(inner, side, n - 1) for side in (trees.left, trees.right)]
    behind = all(((side < n) & (~inner | (side > place))).all() for side in children)
    leaves = (trees.right[~inner] == -1).all() and (trees.left[~inner] == -1).all()
    known = _within(trees.feature[inner], trees.width) and not np.isnan(trees.threshold[inner]).any()
    there = _within(trees.roots, n) and _within(trees.output, outputs)
    return bool(behind and leaves and known and there)


def _within(index: Array, size: int) -> bool:
    return bool(((index >= 0) & (index < size)).all())
