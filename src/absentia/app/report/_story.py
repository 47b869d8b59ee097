"""The plain data a report is made of."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Incomplete(Protocol):
    """A story in which some samples lack some views."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def observed(self) -> Array: ...

    @property
    def n_samples(self) -> int: ...

    @property
    def n_views(self) -> int: ...


@dataclass(frozen=True, eq=False)
class CompletionStory:
    """Everything the page tells, as arrays, numbers and sentences.

    Parameters
    ----------
    title, summary : str
        Plain text; the summary is one or two sentences.
    names : sequence of str
        The V views.
    observed : (n, V) bool
        True where a sample has a view.
    before : (V, n, n)
        Kernels as they came, NaN where absent.
    after : mapping of str to (V, n, n)
        Completed kernels of each method; the first is the one recommended or asked for.
    truth : (V, n, n), optional
        The complete kernels, when they are known.
    traces : mapping of str to 1-d array
        Objective after each iteration, for methods that iterate.
    scores : sequence of mappings
        One flat row per method; the key ``"method"`` names it.
    labels : (n,), optional
        Classes of the samples; they order the heat maps.
    warnings : sequence of str
        Sentences the user should read.
    facts : mapping of str to str
        Provenance: data set, command, version, seed, date ...
    explain : mapping of str to str
        What a column of ``scores`` means, in one sentence.
    higher_is_better : collection of str
        Columns of ``scores`` where a large value is good; elsewhere a small one is.
    baselines : collection of str
        Methods to be marked as baselines in the table of scores.
    references : collection of str
        Rows of ``scores`` that are no contestants (nothing hidden, say) and never marked as best.
    """

    title: str
    summary: str
    names: Sequence[str]
    observed: Array
    before: Array
    after: Mapping[str, Array]
    truth: Array | None = None
    traces: Mapping[str, Array] = field(default_factory=dict)
    scores: Sequence[Mapping[str, str | float | int]] = ()
    labels: Array | None = None
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    explain: Mapping[str, str] = field(default_factory=dict)
    higher_is_better: Collection[str] = ("accuracy", "structural similarity")
    baselines: Collection[str] = ()
    references: Collection[str] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])


def _check(story: CompletionStory) -> None:
    observed = story.observed
    if observed.ndim != 2 or observed.dtype != np.bool_ or 0 in observed.shape:
        raise ValueError(
            f"observed is {observed.dtype} of shape {observed.shape}; "
            "pass a boolean array (samples, views) with at least one of each, True = present"
        )
    n, n_views = observed.shape
    if len(story.names) != n_views:
        raise ValueError(f"{len(story.names)} names for {n_views} views; pass one name per view")
    _check_kernels("before", story.before, (n_views, n, n))
    for method, kernels in story.after.items():
        _check_kernels(f"after[{method!r}]", kernels, (n_views, n, n))
    if story.truth is not None:
        _check_kernels("truth", story.truth, (n_views, n, n))
    if story.labels is not None and len(story.labels) != n:
        raise ValueError(f"{len(story.labels)} labels for {n} samples; pass one label per sample, or None")


def _check_kernels(what: str, kernels: Array, shape: tuple[int, int, int]) -> None:
    if np.shape(kernels) != shape:
        raise ValueError(
            f"{what} has shape {np.shape(kernels)} but (views, samples, samples) is {shape}; "
            "pass square kernels over all samples, NaN where absent"
        )
