"""Labels and weights of samples: checked, and as the numbers that classifiers learn from."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, Presence, shown


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

    def weighted(self, class_weight: Any) -> Array:
        """The samples' weights times those of their classes, as scikit-learn has them."""
        counts = self.weight > 0
        own = compute_class_weight(class_weight, classes=self.classes, y=self.y[counts])
        return np.asarray(self.weight * own[self.codes])


def check_labels(X: Presence, y: Any, sample_weight: Any = None) -> Labels:
    """Labels of two classes or more, each with a sample that has a view; errors name the sample."""
    if np.iscomplexobj(y):
        raise ValueError("labels are complex numbers; text, whole numbers or booleans are wanted")
    y = as_targets(X, y)
    check_classification_targets(y)
    X.demand_order(sample_weight, "sample_weight")
    weight = sample_weights(sample_weight, len(y))
    classes = np.unique(y[weight > 0])
    usable = np.unique(y[(weight > 0) & X.observed.any(axis=1)])
    if len(usable) < 2 or len(usable) < len(classes):
        raise ValueError(
            f"samples with at least one view have the class(es) {usable.tolist()} of "
            f"{classes.tolist()}; two classes or more, each with a view somewhere, are wanted"
        )
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return Labels(y, weight, classes, np.where(classes[place] == y, place, -1))


def warn_of_empty(X: Presence) -> None:
    """Name a sample without any view, if there is one."""
    empty = ~X.observed.any(axis=1)
    if empty.any():
        who = f"{empty.sum()} sample(s) without any view, e.g. {shown(X.ids[np.argmax(empty)])},"
        warn(f"{who} take no part in training", AbsenceWarning)


def check_targets(X: Presence, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
    """One finite number per sample, and how much each counts; a sample without any view is named."""
    if np.iscomplexobj(y):
        raise ValueError("targets are complex numbers; real ones are wanted")
    y = as_targets(X, y, "target").astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError(f"one finite target for each of {len(X)} samples is wanted; some are infinite")
    if not X.observed.any():
        raise ValueError("no view is observed for any sample; there is nothing to learn from")
    warn_of_empty(X)
    X.demand_order(sample_weight, "sample_weight")
    return y, sample_weights(sample_weight, len(y))


def as_targets(X: Presence, y: Any, what: str = "label") -> Array:
    """One known value per sample, in the order of the samples; `what` is what they are called in errors."""
    X.demand_order(y)
    y = np.asarray(column_or_1d(y))
    if len(y) != len(X):
        raise ValueError(f"{len(y)} {what}s came for {len(X)} samples; one for each is wanted")
    X.demand_known(y, what)
    return y


def sample_weights(weight: Any, n: int) -> Array:
    """One non-negative number per sample, by default one."""
    if weight is None:
        return np.ones(n)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"sample_weight must be {n} non-negative numbers, not all zero")
    return weight


def one_against_rest(codes: Array, n_classes: int) -> list[Array]:
    """Labels in {-1, 1}: of the second of two classes, or of each of more in turn."""
    targets = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == k, 1.0, -1.0) for k in targets]
