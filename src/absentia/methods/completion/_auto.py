"""Filling each view by the method that completes it best where the answer is known.

No completer is best everywhere, and not for all views of one data set either.  A tenth of each view's
observed samples is hidden (``Holdout``); the mean, cross-view transfer and the mutual model complete them;
and each view gets the method with the least relative error on the samples hidden in it.  All three have
bases and coordinates, view by view, so that what is put together is a completer as any other
(``_base``).

All complete the same hidden samples, so that errors differ by less than each is uncertain: differences
over n hidden samples are taken to be good to .03 of an error over the square root of n.  Of the methods
that are within that of the best the simplest is taken: mean, then transfer, then model.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

import numpy as np

from absentia.core import RandomState, copy_with, estimator
from absentia.data import AbsenceWarning, KernelViews
from absentia.methods.completion._base import MAX_SAMPLES, Basis, Coordinates, Holdout, SubspaceCompleter
from absentia.methods.completion._fill import MeanFill
from absentia.methods.completion.cvkt import CVKT
from absentia.methods.completion.mkmc import MKMC

#: Relative noise of differences of errors, times the square root of the number of hidden samples.
_NOISE = 0.03
#: Up to so many samples times views the mutual model, which then costs minutes, is tried.
_MAX_MKMC_CELLS = 4000
#: The method of a view of which nothing could be hidden.
_DEFAULT = "cvkt"


@estimator
class AutoCompleter(SubspaceCompleter):
    """Mean, :class:`CVKT` or :class:`MKMC` for each view, whichever completes hidden samples of it best.

    Completed kernels keep their observed block to the last bit and are positive semidefinite.  It costs
    one fit of each method without a tenth of the samples, and one more of each that is used; ``MKMC``, the
    slowest, is tried up to 4000 samples times views.  On few samples, where a tenth of a view is a
    handful, the choice is noisy.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Of what is hidden, and of the methods.  None: the fixed seed 0.

    Attributes
    ----------
    methods_ : dict
        ``"mean"``, ``"cvkt"`` or ``"mkmc"`` by view.
    errors_ : dict of dict
        Relative error of hidden samples by method and view; views of which nothing could be hidden, and
        methods that could not be fitted, are left out.
    completers_ : dict
        The fitted completers that are used, by the names above.
    names_in_, ids_

    Examples
    --------
    >>> from absentia import AutoCompleter, ViewKernels, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> auto = AutoCompleter().fit(kernels)
    >>> set(auto.methods_.values()) <= {"mean", "cvkt", "mkmc"}
    True
    """

    random_state: RandomState = None

    _links = "direct"
    _names: ClassVar[Sequence[str]] = ("mean", "cvkt", "mkmc")

    def _fit_model(self, X: KernelViews) -> None:
        holdout = Holdout.of(X, self.random_state, max_samples=MAX_SAMPLES)
        self.errors_ = self._method_errors(holdout) if holdout.n_hidden else {}
        counts = holdout.hidden.sum(axis=0)
        self.methods_ = {
            name: self._select_method(name, int(count)) for name, count in zip(X.names, counts, strict=True)
        }
        self.completers_ = {}
        for name in (name for name in self._names if name in self.methods_.values()):
            with catch_warnings():
                simplefilter("ignore", AbsenceWarning)  # said of the whole already
                self.completers_[name] = self._make_completer(name).fit(X)

    def with_kernels(self, X: KernelViews | None) -> Any:
        completers = {name: fitted.with_kernels(X) for name, fitted in self.completers_.items()}
        return copy_with(self, completers_=completers)

    @property
    def _bases(self) -> list[Basis]:  # type: ignore[override]
        used = map(self.methods_.__getitem__, self.names_in_)
        return [self.completers_[name]._bases[v] for v, name in enumerate(used)]

    @property
    def _coordinates(self) -> list[Coordinates]:  # type: ignore[override]
        used = map(self.methods_.__getitem__, self.names_in_)
        return [self.completers_[name]._coordinates[v] for v, name in enumerate(used)]

    @property
    def _linear_rows(self) -> bool:  # type: ignore[override]
        return all(completer._linear_rows for completer in self.completers_.values())

    def _make_completer(self, name: str) -> SubspaceCompleter:
        if name == "mean":
            return MeanFill("blocks")
        return {"cvkt": CVKT, "mkmc": MKMC}[name](random_state=self.random_state)

    def _method_errors(self, holdout: Holdout) -> dict[str, dict[str, float]]:
        """Errors of hidden samples by method and view."""
        errors = {}
        small = holdout.whole.observed.size <= _MAX_MKMC_CELLS
        for name in self._names if small else self._names[:2]:
            # a method that cannot take these kernels is none to choose from
            with catch_warnings(action="ignore"), suppress(ValueError):
                errors[name] = holdout.errors(self._make_completer(name).fit_transform(holdout.part))
        return errors

    def _select_method(self, view: str, n_hidden: int) -> str:
        """The first method, simplest first, that is as good as the best but for noise."""
        errors = {name: by_view[view] for name, by_view in self.errors_.items() if view in by_view}
        errors = {name: error for name, error in errors.items() if np.isfinite(error)}
        tolerated = min(errors.values(), default=0.0) * (1 + _NOISE / max(n_hidden, 1) ** 0.5)
        return next((name for name, error in errors.items() if error <= tolerated), _DEFAULT)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        by_method = {name: completer._find_coordinates(X) for name, completer in self.completers_.items()}
        return [by_method[self.methods_[name]][v] for v, name in enumerate(X.names)]
