"""In which order samples are drawn: by pattern of absence, by class, or by leading structure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from absentia.app.report._story import CompletionStory
from absentia.app.report._text import listing
from absentia.core import Array, inverse
from absentia.data import KernelViews


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct rows of ``observed``, the fullest and then the most frequent first."""

    masks: Array  # (P, V) bool
    counts: Array  # (P,)
    rank: Array  # (n,) which pattern a sample has

    @property
    def order(self) -> Array:
        return np.argsort(self.rank, kind="stable")


def patterns(observed: Array) -> Patterns:
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    ties = tuple(~masks[:, v] for v in reversed(range(masks.shape[1])))
    best_first = np.lexsort((*ties, -counts, -masks.sum(axis=1)))
    return Patterns(masks[best_first], counts[best_first], inverse(best_first)[member.ravel()])


@dataclass(frozen=True, eq=False)
class SampleOrder:
    """A permutation of the samples, how it came about, and the classes along it."""

    index: Array
    sentence: str
    classes: Sequence[tuple[str, int]] = ()  # (label, number of samples), in order


def sample_order(story: CompletionStory) -> SampleOrder:
    rank = patterns(story.observed).rank
    if story.labels is not None:
        return _by_label(np.asarray(story.labels), rank)
    if story.after and story.n_samples > 3:
        method, kernels = next(iter(story.after.items()))
        return SampleOrder(
            by_structure(kernels),
            "Samples are ordered by the leading structure of the average kernel completed by "
            f"{method}, so that samples alike in it stand side by side.",
        )
    return SampleOrder(np.argsort(rank, kind="stable"), "Samples are ordered by their pattern of absence.")


def _by_label(labels: Array, rank: Array) -> SampleOrder:
    try:
        values, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # labels of mixed types do not sort
        values, codes = np.unique([str(label) for label in labels], return_inverse=True)
    words = [str(value) for value in values]
    counts = np.bincount(codes, minlength=len(values))
    return SampleOrder(
        np.lexsort((rank, codes)),
        f"Samples are ordered by class ({listing(words, 12)}), "
        "and inside a class by their pattern of absence.",
        tuple(zip(words, counts.tolist(), strict=True)),
    )


def by_structure(kernels: KernelViews) -> Array:
    """Seriation: the angle of each sample in the plane of the two leading eigenvectors.

    The circle of angles is cut at its widest gap.
    """
    plane = _leading_plane(_average(kernels), len(kernels))
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    around = np.argsort(angle, kind="stable")
    gaps = np.diff(angle[around], append=angle[around[0]] + 2 * np.pi)
    return np.roll(around, -(int(np.argmax(gaps)) + 1))


def _average(kernels: KernelViews) -> Callable[[Array], Array]:
    """What the mean over views, each scaled to unit mean diagonal, makes of thin matrices."""
    sizes = {name: float(np.mean(np.abs(kernels.diagonal(name)))) for name in kernels.names}
    told = {name: size for name, size in sizes.items() if np.isfinite(size) and size > 0}

    def product(X: Array) -> Array:
        total = np.zeros_like(X)
        for name, size in told.items():
            with np.errstate(all="ignore"):
                total += kernels.operator(name) @ X / size
        return np.nan_to_num(total, copy=False, nan=0.0, posinf=0.0, neginf=0.0)

    return product


def _leading_plane(kernel: Callable[[Array], Array], n: int, n_iter: int = 30) -> Array:
    """Two leading eigenvectors of the centred kernel by subspace iteration, scaled by root value.

    Four vectors are carried so that the two wanted ones converge quickly.
    """
    X = np.cos(np.outer(np.arange(n), 1.0 + np.arange(min(4, n))))  # any start in general position
    for _ in range(n_iter):
        Q, _ = np.linalg.qr(_centred(X))
        X = _centred(kernel(Q))
    values, rotation = np.linalg.eigh(Q.T @ X)
    leading = np.argsort(-np.abs(values))[:2]
    return np.asarray(Q @ rotation[:, leading] * np.sqrt(np.abs(values[leading])))


def _centred(X: Array) -> Array:
    return np.asarray(X - X.mean(axis=0))
