"""What is learned from: kernels or features of the samples; their labels, targets and weights."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from absentia.core import Array, warn
from absentia.data import (
    AbsenceWarning,
    Coding,
    KernelViews,
    Presence,
    Views,
    check_square_kernels,
    input_error,
    show_id,
)


class Kernels:
    """Square :class:`KernelViews` to learn from; then rows of new samples against the training samples."""

    pairwise = True

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        return check_square_kernels(X, type(learner).__name__)

    def encode(self, X: Any, learner: Any) -> Any:
        """What `learner` learns from: the kernels as they are."""
        return X

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that go with those that `learner` has learned from."""
        if not isinstance(X, KernelViews):
            raise input_error("rows", X, type(learner).__name__)
        X.check_columns(learner.names_in_, learner.ids_)
        return X


class Features:
    """:class:`Views`, the same for training and new samples."""

    pairwise = False

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        if not len(_check_views(X, learner)):
            raise ValueError("there is no sample to learn from")
        return X

    def encode(self, X: Any, learner: Any) -> Any:
        """What `learner` learns from: features, of which it remembers the columns."""
        learner._coding = Coding.learn(X)
        return learner._coding(X)

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that have the views and features that `learner` has learned from, found by name."""
        X = _check_views(X, learner)
        if sorted(X.names) != sorted(learner.names_in_):
            raise ValueError(
                f"views {list(X.names)} came, {list(learner.names_in_)} were there in training; give a "
                "view that nobody has as rows of NaN"
            )
        return learner._coding.of_new(X.select(learner.names_in_))


class ViewsOrKernels:
    """Views or square kernels; ``predict`` takes the kind that ``fit`` was given."""

    def __init__(self, pairwise: bool) -> None:
        self.pairwise = pairwise  # scikit-learn's tag

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        return INPUTS["kernels" if isinstance(X, KernelViews) else "views"].check(X, learner)

    def encode(self, X: Any, learner: Any) -> Any:
        """`X` itself: the estimators that `learner` is composed of encode features and match columns."""
        learner._coding = Coding.learn(X) if isinstance(X, Views) else None
        return X

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that go with those that `learner` has learned from.

        Features as they are: views that nobody has may be left out, and others are ignored.
        """
        if learner._coding is None:
            return INPUTS["kernels"].check_rows(X, learner)
        X = _check_views(X, learner)
        unknown = [name for name in X.names if name not in learner.names_in_]
        if len(unknown) == X.n_views:
            raise ValueError(f"views {unknown} came, {list(learner.names_in_)} were there in training")
        if unknown:
            warn(f"view(s) {unknown} were not there in training and are ignored", AbsenceWarning)
        return learner._coding.in_views(X)


INPUTS: dict[str, Kernels | Features] = {"kernels": Kernels(), "views": Features()}


def count_columns(X: Any) -> tuple[int, ...]:
    """Columns that new samples have to have again: training samples of kernels, features by view."""
    return (len(X),) if isinstance(X, KernelViews) else tuple(X.block(name).shape[1] for name in X.names)


def _check_views(X: Any, learner: Any) -> Views:
    if not isinstance(X, Views):
        raise input_error("views", X, type(learner).__name__)
    return X


def subset(X: Any, rows: Array, columns: Array) -> Any:
    """The samples `rows`; of kernels, against the samples `columns`."""
    return X[np.ix_(rows, columns)] if isinstance(X, KernelViews) else X[rows]


def scatter_rows(values: Array, samples: Array, n: int) -> Array:
    """`values`, one for each of `samples` (positions), as rows of an array of `n`; NaN elsewhere."""
    result = np.full((n, *values.shape[1:]), np.nan)
    result[samples] = values
    return result


def warn_of_empty(X: Presence) -> None:
    """Name a sample without any view, if there is one."""
    empty = ~X.observed.any(axis=1)
    if empty.any():
        who = f"{empty.sum()} sample(s) without any view, e.g. {show_id(X.ids[np.argmax(empty)])},"
        warn(f"{who} take no part in training", AbsenceWarning)


# ------------------------------------------------------------------------- labels, targets and weights


class Labels(NamedTuple):
    """Labels as they came, the classes among them, and how much each sample counts."""

    y: Array
    weight: Array
    classes: Array  # of the samples that count, in their order
    codes: Array  # position of each sample's class; -1: only samples that do not count have it

    @property
    def prior(self) -> Array:
        """Frequencies of the classes, by the samples' weights."""
        sums = [self.weight[self.codes == k].sum() for k in range(len(self.classes))]
        return np.array(sums) / self.weight.sum()

    def class_weighted(self, class_weight: Any) -> Array:
        """The samples' weights times those of their classes, as scikit-learn has them."""
        counts = self.weight > 0
        factors = compute_class_weight(class_weight, classes=self.classes, y=self.y[counts])
        return self.weight * factors[self.codes]


def check_labels(X: Presence, y: Any, sample_weight: Any = None) -> Labels:
    """Labels of two classes or more, each with a sample that has a view; errors name the sample."""
    if np.iscomplexobj(y):
        raise ValueError("labels are complex numbers; text, whole numbers or booleans are wanted")
    y = check_y(X, y)
    check_classification_targets(y)
    weight = _check_sample_weight(X, sample_weight)
    classes = np.unique(y[weight > 0])
    usable = np.unique(y[(weight > 0) & X.observed.any(axis=1)])
    if len(usable) < 2 or len(usable) < len(classes):
        raise ValueError(
            f"samples with at least one view have the class(es) {usable.tolist()} of "
            f"{classes.tolist()}; two classes or more, each with a view somewhere, are wanted"
        )
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return Labels(y, weight, classes, np.where(classes[place] == y, place, -1))


def check_targets(X: Presence, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
    """One finite number per sample, and how much each counts."""
    if np.iscomplexobj(y):
        raise ValueError("targets are complex numbers; real ones are wanted")
    y = check_y(X, y, "target").astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError(f"one finite target for each of {len(X)} samples is wanted; some are infinite")
    if not X.observed.any():
        raise ValueError("no view is observed for any sample; there is nothing to learn from")
    return y, _check_sample_weight(X, sample_weight)


def check_y(X: Presence, y: Any, what: str = "label") -> Array:
    """One known value per sample, in the order of the samples; `what` is what they are called in errors."""
    X.check_order(y)
    y = np.asarray(column_or_1d(y))
    if len(y) != len(X):
        raise ValueError(f"{len(y)} {what}s came for {len(X)} samples; one for each is wanted")
    X.check_known(y, what)
    return y


def _check_sample_weight(X: Presence, weight: Any) -> Array:
    """One non-negative number per sample, by default one."""
    X.check_order(weight, "sample_weight")
    n = len(X)
    if weight is None:
        return np.ones(n)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"sample_weight must be {n} non-negative numbers, not all zero")
    return weight


def one_vs_rest_signs(codes: Array, n_classes: int) -> list[Array]:
    """Labels in {-1, 1}: of the second of two classes, or of each of more in turn."""
    targets = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == k, 1.0, -1.0) for k in targets]
