"""What pages tell, as arrays, numbers and sentences: the data of each kind of report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.data.survival import Survival
from absentia.experiment import Gain, Quality
from absentia.methods.matrix import HeldOut


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionStory:
    """What the reports of classes, numbers and survival have in common.

    Parameters
    ----------
    title, summary : str
    names : sequence of str
        The V views.
    observed : (n, V) bool
        Who has which view, of the samples learned from.
    n_all : int
        Samples that came, used or not.
    dropped : mapping of str to int
        How many were not learned from, and why ("without a label").
    warnings : sequence of str
        Sentences the user should read.
    facts : mapping of str to str
        Provenance: data set, command, version, seed, date ...
    """

    title: str
    summary: str
    names: Sequence[str]
    observed: Array
    n_all: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassificationStory(PredictionStory):
    """What the page about classes tells, beside what all predictions do.

    Parameters
    ----------
    classes : sequence of str
    truth : (n,) int
        Positions in `classes`.
    predictions : mapping of str to (n,) int
        Out-of-fold predictions of the method, first, and of the baselines.
    weights : (machines, V), optional
        Of the views, where the method weighs them: one row for two classes, else one per class.
    probabilities : (n, classes), optional
        Out-of-fold probabilities of the method.
    n_learned : int
        Samples that the model was learned from, if it was judged on some of them only.
    ids : (n,), optional
        Of the samples; their positions by default.
    scores : (n, classes), optional
        Out-of-fold scores of the method, read where there are no probabilities.
    without : (n, V) int, optional
        What the method says out of fold, as positions in `classes`, if a view is hidden from a sample.
    tried : sequence of rows, optional
        Candidates of a chooser: name, accuracy, its mean over classes, log-loss, weight.
    used : str
        What the chooser made of them.
    figures : sequence of pairs of texts
        A number and what it is, first on the page: the score that counts, if it is no accuracy.
    rule : str
        Which class is predicted, after "What is predicted is the class"; empty: that of the highest score.
    parts : (n, V, classes), optional
        What each view adds to the out-of-fold decisions.
    exact : bool
        Whether `parts` are those of sums, or differences that hiding a view makes to the probabilities.
    importance : sequence of (view, feature, number)
        How much features count, where the model says so.
    importance_of : str
        Which parts of the model these are of, in words; empty: all of it.
    gains : sequence of Gain, optional
        What samples would gain from views that they lack.
    why_no_gains : str
        Said in their place.
    """

    classes: Sequence[str]
    truth: Array
    predictions: Mapping[str, Array]
    weights: Array | None = None
    probabilities: Array | None = None
    n_learned: int = 0
    ids: Sequence[object] | Array | None = None
    scores: Array | None = None
    without: Array | None = None
    tried: Sequence[Sequence[str]] = ()
    used: str = ""
    rule: str = ""
    figures: Sequence[tuple[str, str]] = ()
    parts: Array | None = None
    exact: bool = False
    importance: Sequence[tuple[str, str, float]] = ()
    importance_of: str = ""
    gains: Sequence[Gain] | None = None
    why_no_gains: str = ""

    @property
    def method(self) -> str:
        return next(iter(self.predictions))

    @property
    def predicted(self) -> Array:
        """Out-of-fold predictions of the method, (n,)."""
        return self.predictions[self.method]

    def get_id(self, i: int) -> str:
        return str(i if self.ids is None else self.ids[i])

    def right(self, name: str) -> Array:
        """Which samples a method got right."""
        return np.asarray(self.predictions[name] == self.truth)


@dataclass(frozen=True, eq=False, kw_only=True)
class NumbersStory(PredictionStory):
    """What the page about numbers tells, beside what all predictions do.

    Parameters
    ----------
    target : str
        What the numbers are called.
    truth : (n,)
        The numbers.
    predictions : mapping of str to (n,)
        Out-of-fold predictions of the method, first, and of the baselines.
    without : (n, V)
        What the method says out of fold if a view is hidden from a sample.
    ids : (n,)
        Of the samples.
    """

    target: str
    truth: Array
    predictions: Mapping[str, Array]
    without: Array
    ids: Array

    @property
    def method(self) -> str:
        return next(iter(self.predictions))


@dataclass(frozen=True, eq=False, kw_only=True)
class SurvivalStory(PredictionStory):
    """What the page about times and events tells, beside what all predictions do.

    Parameters
    ----------
    time, event : (n,)
        When, and whether it happened.
    risks : mapping of str to (n,)
        Out-of-fold risks of the method, first, and of the baselines.
    fold : (n,) int
        Which fold each sample was held out in.
    unit : str
        What times are called.
    views : mapping of str to (str, str)
        Weight and out-of-fold concordance of each view, where the method has them.
    """

    time: Array
    event: Array
    risks: Mapping[str, Array]
    fold: Array
    unit: str = "time"
    views: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return next(iter(self.risks))

    @property
    def target(self) -> Survival:
        return Survival(self.time, self.event.astype(bool))


@dataclass(frozen=True, eq=False)
class CompletionStory:
    """What the page about completed kernels tells.

    Parameters
    ----------
    title, summary : str
        Plain text; the summary is one or two sentences.
    before : KernelViews
        Kernels as they came.
    after : mapping of str to KernelViews
        Completed kernels by method; the first is the one that is reported on.
    traces : mapping of str to 1-d array
        Objective after each iteration, for methods that iterate.
    warnings, facts
        As in :class:`PredictionStory`.
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
    traces: Mapping[str, Array] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    quality: Quality | None = None
    unexplained: Array | None = None

    def __post_init__(self) -> None:
        self.before.check_square()
        for method, kernels in self.after.items():
            if kernels.shape != self.before.shape or kernels.names != self.before.names:
                raise ValueError(
                    f"after[{method!r}] has the views {list(kernels.names)[:5]} over {kernels.shape} "
                    f"samples, before {list(self.names)[:5]} over {self.before.shape}; pass the same "
                    "views and samples"
                )
            if not kernels.observed.all():
                raise ValueError(
                    f"after[{method!r}] lacks views for some samples; pass kernels with everything observed"
                )

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


@dataclass(frozen=True, eq=False)
class MatrixStory:
    """What the page about one completed matrix tells.

    Parameters
    ----------
    title, summary, method : str
    columns : sequence of str
    before : (n, m)
        The matrix as it came, NaN where missing.
    after, std : (n, m)
        Completed, and standard deviations, zero where observed.
    held_out : HeldOut, optional
    estimated : mapping of str to str
        What was estimated, and what came out.
    warnings, facts
        As in :class:`PredictionStory`.
    """

    title: str
    summary: str
    method: str
    columns: Sequence[str]
    before: Array
    after: Array
    std: Array
    held_out: HeldOut | None = None
    estimated: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = {np.shape(a) for a in (self.before, self.after, self.std)}
        if len(shapes) > 1 or np.ndim(self.before) != 2 or 0 in np.shape(self.before):
            raise ValueError(
                f"before, after and std have shapes {shapes}; one shape (rows, columns) is wanted"
            )
        if len(self.columns) != self.before.shape[1]:
            raise ValueError(f"{len(self.columns)} names for {self.before.shape[1]} columns")

    @property
    def observed(self) -> Array:
        return ~np.isnan(self.before)

    @property
    def scale(self) -> Array:
        """Standard deviation of what is observed in each column; 1 if it does not vary."""
        s = np.nanstd(self.before, axis=0)
        return np.where(s > 0, s, 1.0)
