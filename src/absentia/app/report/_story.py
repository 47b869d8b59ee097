"""The plain data a report is made of."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from absentia.core import Array
from absentia.data import KernelViews
from absentia.experiment import Quality


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
    """Everything the page tells, as kernels, numbers and sentences.

    Parameters
    ----------
    title, summary : str
        Plain text; the summary is one or two sentences.
    before : KernelViews
        Kernels as they came.
    after : mapping of str to KernelViews
        Completed kernels of each method; the first is the one recommended or asked for.
    truth : KernelViews, optional
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
    quality : Quality, optional
        Errors on cells that were hidden on purpose, of the first method of `after` and of others.
    unexplained : (n, V), optional
        Where the first method says how sure it is: the share of each completed cell's own value that it
        does not explain, NaN where the cell was observed.
    """

    title: str
    summary: str
    before: KernelViews
    after: Mapping[str, KernelViews]
    truth: KernelViews | None = None
    traces: Mapping[str, Array] = field(default_factory=dict)
    scores: Sequence[Mapping[str, str | float | int]] = ()
    labels: Array | None = None
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    explain: Mapping[str, str] = field(default_factory=dict)
    higher_is_better: Collection[str] = ("accuracy", "structural similarity")
    baselines: Collection[str] = ()
    references: Collection[str] = ()
    quality: Quality | None = None
    unexplained: Array | None = None

    def __post_init__(self) -> None:
        _check(self)

    @property
    def names(self) -> Sequence[str]:
        return self.before.names

    @property
    def observed(self) -> Array:
        return self.before.observed

    @property
    def n_samples(self) -> int:
        return len(self.before)

    @property
    def n_views(self) -> int:
        return self.before.n_views


def _check(story: CompletionStory) -> None:
    story.before.demand_square()
    others = {f"after[{method!r}]": kernels for method, kernels in story.after.items()}
    for what, kernels in (others | ({} if story.truth is None else {"truth": story.truth})).items():
        if kernels.shape != story.before.shape or kernels.names != story.before.names:
            raise ValueError(
                f"{what} has the views {list(kernels.names)[:5]} over {kernels.shape} samples, before "
                f"{list(story.names)[:5]} over {story.before.shape}; pass the same views and samples"
            )
        if not kernels.observed.all():
            raise ValueError(f"{what} lacks views for some samples; pass kernels with everything observed")
    if story.labels is not None and len(story.labels) != story.n_samples:
        raise ValueError(
            f"{len(story.labels)} labels for {story.n_samples} samples; pass one label per sample, or None"
        )
