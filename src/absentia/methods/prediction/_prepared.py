"""From views to complete kernels, learned on training samples and applied to new ones: the first stage."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Method, kept, warn
from absentia.data import KernelViews, Presence, Views
from absentia.kernels import ViewKernels
from absentia.methods import catalogue


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
    return clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)


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


@kept
class Prepared:
    """Kernels of the views, completed unless there is no completer.

    `kernel` is the name of a kernel or a :class:`ViewKernels`, `completer` a name of the catalogue, a
    completer or None.
    """

    def __init__(self, kernel: Any = "rbf", completer: Any = "cvkt", random_state: Any = None) -> None:
        self.kernel, self.completer, self.random_state = kernel, completer, random_state

    def fit(self, X: Views | KernelViews) -> KernelViews:
        """Square kernels of the training samples, with everything observed if there is a completer."""
        self.makes: Method = as_view_kernels(self.kernel, X)
        self.completes = as_completer(self.completer, self.random_state)
        self._own = {n: X.mean_diagonal(n) for n in X.names} if isinstance(X, KernelViews) else {}
        kernels: KernelViews = self.makes.fit_transform(X)
        return kernels if self.completes is None else self.completes.fit_transform(kernels)

    def rows(self, X: Views | KernelViews) -> KernelViews:
        """The same of new samples, each with at least one view, against the training samples."""
        X = with_own_values(X, self._own) if isinstance(X, KernelViews) else X
        kernels: KernelViews = self.makes.transform(X)
        return kernels if self.completes is None else self.completes.transform(kernels)
