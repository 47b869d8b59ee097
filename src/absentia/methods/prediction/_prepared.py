"""From views to complete kernels, learned on training samples and applied to new ones: the first stage."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Estimator, serializable, warn
from absentia.data import KernelViews, Presence, Views
from absentia.kernels import ViewKernels
from absentia.methods import catalogue

PRESENCE = "presence"  # what the kernel of who has which view is called


def as_completer(completer: Any, random_state: Any = None) -> Any:
    """An unfitted completer out of its name in the catalogue or out of one; None stays None."""
    if completer is None:
        return None
    if not isinstance(completer, str):
        if isinstance(completer, type) or not hasattr(completer, "fit_transform"):
            raise ValueError(f"completer must be a name, a completer or None, not {completer!r}")
        return clone(completer)
    made = catalogue.find(completer, "completer").make()
    return made.set_params(random_state=random_state) if "random_state" in made.get_params() else made


def as_view_kernels(kernel: Any, X: Views | KernelViews) -> ViewKernels:
    """What makes kernels of features; kernels that come are only brought to the same scale."""
    if isinstance(X, KernelViews):
        return ViewKernels("precomputed", normalize="trace")
    kernel = for_views(kernel, X.names)
    return clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)


def for_views(kernel: Any, names: Sequence[str]) -> Any:
    """The same kernel without what it says of views that are not among `names`."""
    if not isinstance(kernel, ViewKernels) or kernel.per_view is None:
        return kernel
    own = {name: said for name, said in kernel.per_view.items() if name in names}
    return clone(kernel).set_params(per_view=own or None)


def settled(kernel: Any, X: Views | KernelViews) -> Any:
    """The same kernel, whether it is to be given by factors decided by all samples at once."""
    if isinstance(X, KernelViews) or not isinstance(kernel, str | ViewKernels) or kernel == "precomputed":
        return kernel
    made = kernel if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    found = made.settled(X)
    return kernel if found is made else found


def narrowed(estimator: Any, names: Sequence[str]) -> Any:
    """The same unfitted estimator, its kernel, if it has one, that for the views `names`."""
    kernel = getattr(estimator, "kernel", None)
    own = for_views(kernel, names)
    return estimator if own is kernel else clone(estimator).set_params(kernel=own)


def check_per_view(kernel: Any, names: Sequence[str]) -> None:
    """Raise if a kernel says something of a view that is not there."""
    said = kernel.per_view or {} if isinstance(kernel, ViewKernels) else {}
    unknown = [name for name in said if name not in names]
    if unknown:
        raise ValueError(f"per_view names {unknown[0]!r}, but the views are {list(names)}")


def with_own_values(X: KernelViews, usual: Mapping[str, float]) -> KernelViews:
    """Rows whose own kernel values are unknown, as in files, with the `usual` ones of their views."""
    own = {name: np.asarray(X.diagonal(name)) for name in X.names}
    if not any(np.isnan(values).any() for values in own.values()):
        return X
    warn(
        "kernels of new samples came without these samples' values with themselves; the mean of the "
        "training samples stands in for them"
    )
    filled = {name: np.where(np.isnan(values), usual[name], values) for name, values in own.items()}
    columns = Presence(X.column_ids, X.names, X.column_observed)
    return KernelViews.between(X, columns, {name: X.operator(name) for name in X.names}, filled)


@serializable
class Prepared:
    """Kernels of the views, completed unless there is no completer.

    `kernel` is the name of a kernel or a :class:`ViewKernels`, `completer` a name of the catalogue, a
    completer or None.  With `presence`, who has which view is one more kernel, the last one: linear, of the
    standardised indicators of views that some have and some lack; there is none if nobody lacks anything.
    """

    presence: bool = False  # of files that were written before there was a choice
    shows: ViewKernels | None = None
    called: str | None = None

    def __init__(
        self, kernel: Any = "rbf", completer: Any = "cvkt", random_state: Any = None, presence: bool = False
    ) -> None:
        self.kernel, self.completer, self.random_state = kernel, completer, random_state
        self.presence = presence

    def fit(self, X: Views | KernelViews) -> KernelViews:
        """Square kernels of the training samples, with everything observed if there is a completer."""
        self.makes: Estimator = as_view_kernels(self.kernel, X)
        self.completes = as_completer(self.completer, self.random_state)
        self._own = {n: X.mean_diagonal(n) for n in X.names} if isinstance(X, KernelViews) else {}
        kernels: KernelViews = self.makes.fit_transform(X)
        full = kernels if self.completes is None else self.completes.fit_transform(kernels)
        share = X.observed.mean(axis=0)
        self._told = np.flatnonzero((share > 0) & (share < 1)) if self.presence else np.zeros(0, int)
        if not len(self._told):
            return full
        self.shows = ViewKernels("linear")
        ends = ("", *range(2, X.n_views + 2))
        self.called = next(name for end in ends if (name := f"{PRESENCE}{end}") not in X.names)
        return _beside(full, self.shows.fit_transform(self._indicators(kernels)))

    def rows(self, X: Views | KernelViews) -> KernelViews:
        """The same of new samples, each with at least one view, against the training samples."""
        X = with_own_values(X, self._own) if isinstance(X, KernelViews) else X
        kernels: KernelViews = self.makes.transform(X)
        full = kernels if self.completes is None else self.completes.transform(kernels)
        if self.shows is None:
            return full
        return _beside(full, self.shows.transform(self._indicators(kernels)))

    def _indicators(self, X: Presence) -> Views:
        return Views.from_dict({str(self.called): X.observed[:, self._told].astype(np.float64)}, ids=X.ids)


def _beside(K: KernelViews, more: KernelViews) -> KernelViews:
    """The kernels of both, of the same samples."""
    both = [K, more]
    names = (*K.names, *more.names)
    rows = Presence(K.ids, names, np.hstack([one.observed for one in both]))
    parts = {name: one.operator(name) for one in both for name in one.names}
    if K.square:
        return KernelViews.within(rows, parts)
    columns = Presence(K.column_ids, names, np.hstack([one.column_observed for one in both]))
    own = {name: np.asarray(one.diagonal(name)) for one in both for name in one.names}
    return KernelViews.between(rows, columns, parts, own)
