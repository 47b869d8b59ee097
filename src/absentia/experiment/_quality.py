"""Errors of completers on observed cells that are hidden, completed, and compared with the truth.

A cell is a sample in a view: a row of the view's kernel.  A tenth of each view's observed cells is hidden,
never a sample's only one, and the same ones for every method.  Errors are those of
:func:`absentia.tasks.row_errors`.  Where there are many samples, methods are measured on a random part,
which does not depend on the order that they come in.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from absentia.core import Array, RandomState
from absentia.data import KernelViews
from absentia.methods.catalogue import offered
from absentia.methods.completion import Completer, Holdout
from absentia.tasks import row_errors

clock: Callable[[], float] = time.process_time
_OPTIONAL_SECONDS = 60.0  # CPU time for methods that are tried if there is time
MAX_MEASURED_SAMPLES = 3000  # of more, so many are drawn at random
_NOT_FINISHED = "was not done when the time was up"
_NOT_TRIED = "was not tried: the time was up"


@dataclass(frozen=True, eq=False)
class Quality:
    """Errors of several methods on the same hidden cells.

    Attributes
    ----------
    names : tuple of str
        Names of the V views.
    cells : int array of shape (h, 2)
        Sample and view of each of the h hidden cells.
    n_views_left : int array of shape (h,)
        How many views the sample of each hidden cell still has.
    row_errors : dict of str to array of shape (h,)
        By method, the relative error of each hidden cell's row; NaN where the true row is zero.
    ca_errors : dict of str to array of shape (V,)
        By method, completion accuracy error over the hidden rows of each view; NaN where none is hidden.
    seconds : dict of str to float
        By method, CPU time.
    left_out : dict of str to str
        By method that has no errors, the reason.
    subsample : (int, int) or None
        Number of samples drawn and number of all, if not all were used.
    """

    names: tuple[str, ...]
    cells: Array
    n_views_left: Array
    row_errors: dict[str, Array]
    ca_errors: dict[str, Array]
    seconds: dict[str, float]
    left_out: dict[str, str]
    subsample: tuple[int, int] | None = None

    @property
    def subsample_note(self) -> str:
        """A sentence on how many samples were drawn; empty if all were used."""
        if self.subsample is None:
            return ""
        n_drawn, n_samples = self.subsample
        return (
            f"Methods were judged on {n_drawn} of the {n_samples} samples, drawn at random; with "
            "all of them to learn from, errors may be smaller."
        )

    def view_errors(self, method: str) -> Array:
        """Average relative error (ARE) of each view's hidden rows, shape (V,); NaN where there is none."""
        views = self.cells[:, 1]
        return np.array([_nan_mean(self.row_errors[method][views == v]) for v in range(len(self.names))])

    def mean_errors(self, method: str) -> tuple[float, float]:
        """ARE and CA error, each averaged over the views."""
        return _nan_mean(self.view_errors(method)), _nan_mean(self.ca_errors[method])


def measure_hidden_errors(
    kernels: KernelViews,
    completers: Mapping[str, Completer],
    share: float = 0.1,
    random_state: RandomState = 0,
    tick: Callable[[], None] = lambda: None,
    *,
    optional: Mapping[str, Completer] | None = None,
    seconds: float = _OPTIONAL_SECONDS,
    max_samples: int | None = None,
) -> Quality:
    """Hide observed cells, complete them with every method, and measure the errors.

    Parameters
    ----------
    kernels : KernelViews
        Square.
    completers : mapping of str to completer
        Unfitted methods by name, which are cloned; all are measured, however long they take.
    share : float
        Share of each view's observed cells that is hidden, in (0, 1).
    random_state : int, Generator, RandomState or None
        Which cells are hidden.
    tick : callable, optional
        Called after each method.
    optional : mapping of str to completer, optional
        More methods, which are tried in this order until the time is up.
    seconds : float
        CPU time, `completers` included, after which no optional method is begun, and the running one is
        stopped if it has a callback.
    max_samples : int, optional
        Number of samples to draw if there are more; cells are hidden and counted among these.
    """
    holdout = Holdout.of(kernels, random_state, share, max_samples)
    whole, part = holdout.whole, holdout.part
    subsample = None if len(whole) == len(kernels) else (len(whole), len(kernels))
    cells = np.argwhere(holdout.hidden & part.observed.any(axis=0))  # in views that somebody is left in
    n_views_left = part.observed.sum(axis=1)[cells[:, 0]]
    quality = Quality(kernels.names, cells, n_views_left, {}, {}, {}, {}, subsample)
    if not len(cells):
        return quality
    deadline = clock() + seconds
    for name, completer in completers.items():
        _measure_method(quality, holdout, name, completer, None)
        tick()
    for name, completer in (optional or {}).items():
        if clock() < deadline:
            _measure_method(quality, holdout, name, completer, deadline)
        else:
            quality.left_out[name] = _NOT_TRIED
        tick()
    return quality


def _measure_method(
    quality: Quality, holdout: Holdout, name: str, completer: Completer, deadline: float | None
) -> None:
    """Add one method's errors to `quality`, or the reason why it has none."""
    method = clone(completer)
    if "callback" in method.get_params():
        method.set_params(callback=None if deadline is None else lambda _: clock() > deadline)
    start = clock()
    try:
        with warnings.catch_warnings(action="ignore"):  # the completion itself has shown them
            completed = method.fit_transform(holdout.part)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        quality.left_out[name] = f"could not: {error or type(error).__name__}"
        return
    seconds = clock() - start
    if deadline is not None and clock() > deadline and not getattr(method, "converged_", True):
        quality.left_out[name] = _NOT_FINISHED
        return
    by_cell, by_view = row_errors(holdout.whole, completed, quality.cells)
    if np.isinf(by_cell).any():
        quality.left_out[name] = "gave values that are not finite"
        return
    quality.row_errors[name], quality.ca_errors[name], quality.seconds[name] = by_cell, by_view, seconds


def _nan_mean(values: Array) -> float:
    """The mean of the values that are not NaN; NaN, without a warning, if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def compare_completers(
    name: str, completer: Completer, kernels: KernelViews, tick: Callable[[], None] = lambda: None
) -> Quality:
    """Measure a method beside mean fill, zero fill and, while time lasts, the catalogue's other completers.

    Errors are measured on at most :data:`MAX_MEASURED_SAMPLES` samples.  Methods that are for fewer samples
    than `kernels` has are left out even if so few are drawn.

    Parameters
    ----------
    name : str
        Name of the method; takes the place of the catalogue's entry of that name, if there is one.
    completer : completer
        The method, unfitted, with the parameters that it is used with; others have their defaults.
    kernels : KernelViews
        Square.
    tick : callable
        Called once for each completer of the catalogue.
    """
    entries = offered("completer").values()
    completers = {entry.name: entry.make() for entry in entries if entry.baseline and entry.name != name}
    completers[name] = completer
    optional, too_large = {}, {}
    # those for any number of samples first
    for entry in sorted(entries, key=lambda entry: entry.max_samples is not None):
        if entry.name in completers:
            continue
        if entry.max_samples is None or len(kernels) <= entry.max_samples:
            optional[entry.name] = entry.make()
        else:
            too_large[entry.name] = f"is for at most {entry.max_samples} samples"
    quality = measure_hidden_errors(
        kernels, completers, tick=tick, optional=optional, max_samples=MAX_MEASURED_SAMPLES
    )
    for entry_name, reason in too_large.items():
        quality.left_out[entry_name] = reason
        tick()
    return quality
