"""Base classes of estimators that take views or kernels and train other estimators in a canonical order.

Samples, views and classes are sorted by the data before training, so that no result depends on the order in
which they were given.

From views to complete kernels leads :class:`KernelPipeline`, learned on training samples and applied to new
ones: what a scikit-learn Pipeline of :class:`ViewKernels` and a completer does, with two things more.
Kernels may come instead of features, and who has which view may become a kernel of its own (``presence``).
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from absentia.core import Array, serializable, warn
from absentia.core.linalg import invert_permutation
from absentia.data import KernelViews, Presence, Views, order_for_learning
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.learning import Classifier, Learner, ViewsOrKernels, scatter_rows, subset

_PRESENCE = "presence"  # name of the kernel of who has which view


def _make_completer(completer: Any, random_state: Any = None) -> Any:
    """An unfitted completer out of its name in the catalogue or out of one; None stays None."""
    if completer is None:
        return None
    if not isinstance(completer, str):
        if isinstance(completer, type) or not hasattr(completer, "fit_transform"):
            raise ValueError(f"completer must be a name, a completer or None, not {completer!r}")
        return clone(completer)
    named = catalogue.find(completer, "completer").make()
    return named.set_params(random_state=random_state) if "random_state" in named.get_params() else named


def _make_view_kernels(kernel: Any, X: Views | KernelViews) -> ViewKernels:
    """What makes kernels of features; kernels that come are only brought to the same scale."""
    if isinstance(X, KernelViews):
        return ViewKernels("precomputed", normalize="trace")
    kernel = restrict_kernel(kernel, X.names)
    return clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)


def restrict_kernel(kernel: Any, names: Sequence[str]) -> Any:
    """The same kernel without what its ``per_view`` says of views that are not among `names`."""
    if not isinstance(kernel, ViewKernels) or kernel.per_view is None:
        return kernel
    per_view = {name: options for name, options in kernel.per_view.items() if name in names}
    return clone(kernel).set_params(per_view=per_view or None)


def decide_approximation(kernel: Any, X: Views | KernelViews) -> Any:
    """The same kernel, whether it is to be given by factors decided by all samples at once."""
    if isinstance(X, KernelViews) or not isinstance(kernel, str | ViewKernels) or kernel == "precomputed":
        return kernel
    exact = kernel if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    decided = exact.fix_approximation(X)
    return kernel if decided is exact else decided


def without_landmarks(kernel: str | ViewKernels) -> ViewKernels:
    """The same kernel, rbf by random Fourier features and all others whole: none by training samples."""

    def approx(name: Any) -> str | None:
        return "rff" if isinstance(name, str) and name == "rbf" else None

    kernel = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    per_view = {}
    for view, given in (kernel.per_view or {}).items():
        options = dict(given) if isinstance(given, Mapping) else {"kernel": given}
        per_view[view] = options | {"approx": approx(options.get("kernel", kernel.kernel))}
    return kernel.set_params(approx=approx(kernel.kernel), per_view=per_view or None)


def restrict_estimator(estimator: Any, names: Sequence[str]) -> Any:
    """The same unfitted estimator, its kernel, if it has one, that for the views `names`."""
    kernel = getattr(estimator, "kernel", None)
    restricted = restrict_kernel(kernel, names)
    return estimator if restricted is kernel else clone(estimator).set_params(kernel=restricted)


def check_per_view(kernel: Any, names: Sequence[str]) -> None:
    """Raise if a kernel's ``per_view`` names a view that is not there."""
    per_view = kernel.per_view or {} if isinstance(kernel, ViewKernels) else {}
    unknown = [name for name in per_view if name not in names]
    if unknown:
        raise ValueError(f"per_view names {unknown[0]!r}, but the views are {list(names)}")


def _fill_diagonals(X: KernelViews, usual: Mapping[str, float]) -> KernelViews:
    """Rows whose own kernel values are unknown, as in files, with the `usual` ones of their views."""
    diagonals = {name: np.asarray(X.diagonal(name)) for name in X.names}
    if not any(np.isnan(values).any() for values in diagonals.values()):
        return X
    warn(
        "kernels of new samples came without these samples' values with themselves; the mean of the "
        "training samples stands in for them"
    )
    filled = {name: np.where(np.isnan(values), usual[name], values) for name, values in diagonals.items()}
    columns = Presence(X.column_ids, X.names, X.column_observed)
    return KernelViews.between(X, columns, {name: X.operator(name) for name in X.names}, filled)


@serializable
class KernelPipeline:
    """Kernels of the views, completed unless there is no completer.

    Parameters
    ----------
    kernel : str or ViewKernels
        How kernels are made of features; kernels that come are brought to the same scale.
    completer : str, completer or None
        A name of the catalogue, a completer or None.
    random_state : int, Generator, RandomState or None
        Of a completer by name.
    presence : bool
        Who has which view is one more kernel, the last one: linear, of the standardised indicators of views
        that some have and some lack; there is none if nobody lacks anything.

    Attributes
    ----------
    view_kernels_, completer_ : the fitted steps; no completer is None
    presence_name_ : str or None
        Name of the kernel of who has which view, if there is one.
    """

    presence_name_: str | None = None

    def __init__(
        self, kernel: Any = "rbf", completer: Any = "cvkt", random_state: Any = None, presence: bool = False
    ) -> None:
        self.kernel, self.completer, self.random_state = kernel, completer, random_state
        self.presence = presence

    def fit_transform(self, X: Views | KernelViews) -> KernelViews:
        """Square kernels of the training samples, with everything observed if there is a completer."""
        self.view_kernels_: Any = _make_view_kernels(self.kernel, X)
        completer = self.completer_ = _make_completer(self.completer, self.random_state)
        self._diagonals = {n: X.mean_diagonal(n) for n in X.names} if isinstance(X, KernelViews) else {}
        kernels: KernelViews = self.view_kernels_.fit_transform(X)
        completed = kernels if completer is None else completer.fit_transform(kernels)
        remade = isinstance(X, Views) and hasattr(completer, "with_kernels")
        self._completer = completer.with_kernels(None) if remade else completer
        share = X.observed.mean(axis=0)
        self._varying = np.flatnonzero((share > 0) & (share < 1))
        if not self.presence or not len(self._varying):
            return completed
        ends = ("", *range(2, X.n_views + 2))
        self.presence_name_ = next(name for end in ends if (name := f"{_PRESENCE}{end}") not in X.names)
        self._presence_kernel = ViewKernels("linear")
        return _append(completed, self._presence_kernel.fit_transform(self._indicators(kernels)))

    @cached_property
    def completer_(self) -> Any:
        """The fitted completer; in files it is without training kernels that features can make again."""
        kernels = self.view_kernels_.training_kernels()
        remade = kernels is not None and hasattr(self._completer, "with_kernels")
        return self._completer.with_kernels(kernels) if remade else self._completer

    def transform(self, X: Views | KernelViews) -> KernelViews:
        """The same of new samples, each with at least one view, against the training samples."""
        X = _fill_diagonals(X, self._diagonals) if isinstance(X, KernelViews) else X
        kernels: KernelViews = self.view_kernels_.transform(X)
        completed = kernels if self.completer_ is None else self.completer_.transform(kernels)
        if self.presence_name_ is None:
            return completed
        return _append(completed, self._presence_kernel.transform(self._indicators(kernels)))

    def _indicators(self, X: Presence) -> Views:
        indicators = X.observed[:, self._varying].astype(np.float64)
        return Views.from_dict({str(self.presence_name_): indicators}, ids=X.ids)


def _append(K: KernelViews, more: KernelViews) -> KernelViews:
    """The kernels of both, of the same samples."""
    both = [K, more]
    names = (*K.names, *more.names)
    rows = Presence(K.ids, names, np.hstack([kernels.observed for kernels in both]), groups=K.groups)
    parts = {name: kernels.operator(name) for kernels in both for name in kernels.names}
    if K.square:
        return KernelViews.within(rows, parts)
    columns = Presence(K.column_ids, names, np.hstack([kernels.column_observed for kernels in both]))
    diagonals = {name: np.asarray(kernels.diagonal(name)) for kernels in both for name in kernels.names}
    return KernelViews.between(rows, columns, parts, diagonals)


@serializable
class CanonicalOrder(NamedTuple):
    """Order of training: names of the views that are observed, positions of the samples that are usable."""

    views: tuple[str, ...]
    samples: Array

    @classmethod
    def of(cls, X: Views | KernelViews, weight: Array, *targets: Array) -> Self:
        """The order for `X`; `targets` (n,) break ties between samples with the same data."""
        usable = cls.find_usable(X, weight)
        part = subset(X, usable, usable)
        views, order = order_for_learning(part, *(values[usable] for values in (*targets, weight)))
        return cls(tuple(X.names[v] for v in views), usable[order])

    @staticmethod
    def find_usable(X: Views | KernelViews, weight: Array) -> Array:
        """Positions of the samples with at least one view and a positive `weight` (n,)."""
        return np.flatnonzero((weight > 0) & X.observed.any(axis=1))

    def select_training(self, X: Views | KernelViews) -> Any:
        """The usable samples of the training data `X`, in order."""
        return subset(X.select(self.views), self.samples, self.samples)

    def select_rows(self, X: Views | KernelViews, rows: Array) -> Any:
        """Samples `rows` of new data `X`; kernels have the training samples as columns."""
        return subset(X.select(self.views), rows, self.samples)

    def has_known_view(self, X: Views | KernelViews) -> Array:
        """Which samples of `X` have a view that was observed in training, bool (n,)."""
        return np.asarray(X.select(self.views).observed.any(axis=1))


class Composite(Learner):
    """Base of estimators that take features or kernels and are composed of other estimators.

    A derived class has a parameter ``kernel``; ``"precomputed"`` sets scikit-learn's tag
    ``pairwise``: `X` will be kernels.
    """

    kernel: Any
    _order: CanonicalOrder
    _comes_ordered = False  # True inside another composite, which has ordered the samples

    @property
    def _input(self) -> ViewsOrKernels:
        return ViewsOrKernels(pairwise=isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _order_training(self, X: Any, weight: Array, *targets: Array) -> tuple[Any, Array]:
        """Usable training samples in canonical order, and their positions in `X`."""
        check_per_view(self.kernel, X.names)
        if self._comes_ordered:
            self._order = CanonicalOrder(X.names, CanonicalOrder.find_usable(X, weight))
        else:
            self._order = CanonicalOrder.of(X, weight, *targets)
        return self._order.select_training(X), self._order.samples

    def _predict_rows(self, X: Any, shape: tuple[int, ...], predict: Callable[[Any], Array]) -> Array:
        """`predict` on the rows with a known view, shape (n, *shape); zeros for the others."""
        known = self._order.has_known_view(X)
        values = np.zeros((len(X), *shape))
        if known.any():
            values[known] = predict(self._order.select_rows(X, np.flatnonzero(known)))
        return values

    def _reorder_views(self, values: Array, names: tuple[str, ...]) -> Array:
        """`values` by view (last axis) in the order of `names`; zero for views that were never observed."""
        views = self._order.views
        result = np.zeros((*values.shape[:-1], len(names)))
        result[..., [names.index(name) for name in views]] = values[..., : len(views)]
        return result


class CompositeClassifier(Composite, Classifier):
    """Base of composite classifiers, whose probabilities need no calibration.

    A derived class defines :meth:`_learn_ordered` and :meth:`_predict_proba_rows`; both see only samples
    that have a view.
    """

    _native_probabilities = True
    loo_proba_: Array
    _class_order: Array  # by class of `classes_`, its column in training order

    @abstractmethod
    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> Array | None:
        """Learn from samples in canonical order; `y` (n,) are classes by their column in training order.

        What is returned, if it is told, are probabilities of each sample once it is left out.
        """

    @abstractmethod
    def _predict_proba_rows(self, X: Any) -> Array:
        """Probabilities, rows x classes, the classes in training order."""

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Order samples and classes, these by first occurrence among the ordered samples, and learn."""
        train, samples = self._order_training(X, weight, y)
        first = np.unique(y[samples], return_index=True)[1]
        self._class_order = invert_permutation(np.argsort(first))
        left_out = self._learn_ordered(train, self._class_order[y[samples]], weight[samples])
        if left_out is not None:
            self.loo_proba_ = scatter_rows(left_out[:, self._class_order], samples, len(X))

    def _predict_proba(self, X: Any) -> Array:
        """Probabilities, rows x ``classes_``; zeros for rows without a known view."""
        proba = self._predict_rows(X, (len(self.classes_),), self._predict_proba_rows)
        return proba[:, self._class_order]

    def _predict_view_parts(self, X: Any, parts: Callable[[Any], Array]) -> Array:
        """`parts` of the predictions, rows x ``names_in_`` x ``classes_``; zeros for absent views."""
        X = self._check_rows(X)
        parts_of_rows = self._predict_rows(X, (len(self._order.views), len(self.classes_)), parts)
        by_view = self._reorder_views(parts_of_rows.transpose(0, 2, 1), self.names_in_)
        return by_view.transpose(0, 2, 1)[:, :, self._class_order]
