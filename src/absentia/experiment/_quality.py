"""How far completed cells can be trusted: observed ones are hidden, completed, and compared with the truth.

A cell is a sample in a view.  A tenth of each view's cells is hidden, never a sample's last, and always
the same ones.  Errors are those of :func:`absentia.tasks.row_errors`.  Of many samples some are drawn,
by the data and not by the order they come in, and judged on alone.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Array, RandomState
from absentia.data import KernelViews
from absentia.methods.catalogue import offered
from absentia.methods.completion import Completer, Holdout
from absentia.tasks import row_errors

_TIME_FOR_OTHERS = 60.0  # seconds by the clock below
clock: Callable[[], float] = time.process_time
MAX_JUDGED = 3000  # samples that methods are judged on; of more so many are drawn
_LATE = "was not done when the time was up"
_UNTRIED = "was not tried: the time was up"


@dataclass(frozen=True, eq=False)
class Quality:
    """Errors of several methods on the same hidden cells.

    Attributes
    ----------
    names : tuple of str
        The V views.
    cells : (h, 2) int
        Sample and view of each hidden cell.
    left : (h,) int
        How many views the sample of each hidden cell was left with.
    errors : dict of str to (h,)
        By method, the relative error of each hidden cell's row; NaN where the true row is zero.
    misaligned : dict of str to (V,)
        By method, CA over the hidden rows of each view; NaN where nothing was hidden.
    seconds : dict of str to float
        CPU time by method.
    left_out : dict of str to str
        Methods without errors, and why.
    drawn : (int, int), optional
        Of how many samples how many were drawn to judge on, where that was not all of them.
    """

    names: tuple[str, ...]
    cells: Array
    left: Array
    errors: dict[str, Array]
    misaligned: dict[str, Array]
    seconds: dict[str, float]
    left_out: dict[str, str]
    drawn: tuple[int, int] | None = None

    @property
    def sentence(self) -> str:
        """On how many samples methods were judged, where that was not all; else nothing."""
        if self.drawn is None:
            return ""
        return (
            f"Methods were judged on {self.drawn[1]} of the {self.drawn[0]} samples, drawn at random; with "
            "all of them to learn from, errors may be smaller."
        )

    def are(self, method: str) -> Array:
        """ARE of every view, NaN where there is nothing to measure."""
        return np.array([_mean(self.errors[method][self.cells[:, 1] == v]) for v in range(len(self.names))])

    def overall(self, method: str) -> tuple[float, float]:
        """ARE and CA, mean over views."""
        return _mean(self.are(method)), _mean(self.misaligned[method])


def measure_hidden_errors(
    kernels: KernelViews,
    completers: Mapping[str, Completer],
    share: float = 0.1,
    random_state: RandomState = 0,
    tick: Callable[[], None] = lambda: None,
    *,
    others: Mapping[str, Completer] | None = None,
    seconds: float = _TIME_FOR_OTHERS,
    most: int | None = None,
) -> Quality:
    """Hide observed cells, complete them with every method, and measure.

    Parameters
    ----------
    kernels : KernelViews
        Square.
    completers : mapping of str to completer
        Methods by name, as they are to be judged; they are cloned, and take the time that they take.
    share : float
        Of each view's observed cells to hide.
    random_state : int, Generator, RandomState or None
        Which cells are hidden.
    tick : callable, optional
        Called after each method.
    others : mapping of str to completer, optional
        More methods, which are tried in this order until the time is up.
    seconds : float
        CPU time after which no other method is tried, and the running one is stopped if it can be.
    most : int, optional
        Of more samples so many are drawn, and cells are those of these.
    """
    holdout = Holdout.of(kernels, random_state, share, most)
    whole, part = holdout.whole, holdout.part
    drawn = None if len(whole) == len(kernels) else (len(kernels), len(whole))
    cells = np.argwhere(whole.observed & ~part.observed & part.observed.any(axis=0))
    left = part.observed.sum(axis=1)[cells[:, 0]]
    quality = Quality(kernels.names, cells, left, {}, {}, {}, {}, drawn)
    if not len(cells):
        return quality
    deadline = clock() + seconds
    for name, completer in completers.items():
        _judge(quality, holdout, name, completer, None)
        tick()
    for name, completer in (others or {}).items():
        if clock() < deadline:
            _judge(quality, holdout, name, completer, deadline)
        else:
            quality.left_out[name] = _UNTRIED
        tick()
    return quality


def _judge(
    quality: Quality, holdout: Holdout, name: str, completer: Completer, deadline: float | None
) -> None:
    """Add what one method does, or why it does nothing."""
    method = clone(completer)
    if "callback" in method.get_params():
        method.set_params(callback=None if deadline is None else lambda _: clock() > deadline)
    start = clock()
    try:
        with warnings.catch_warnings(action="ignore"):  # those of the completion are the ones to read
            completed = method.fit_transform(holdout.part)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        quality.left_out[name] = f"could not: {error or type(error).__name__}"
        return
    spent = clock() - start
    if deadline is not None and clock() > deadline and not getattr(method, "converged_", True):
        quality.left_out[name] = _LATE
        return
    errors, misaligned = row_errors(holdout.whole, completed, quality.cells)
    if np.isinf(errors).any():
        quality.left_out[name] = "gave values that are not finite"
        return
    quality.errors[name], quality.misaligned[name], quality.seconds[name] = errors, misaligned, spent


def unexplained_share(completer: Any, completed: KernelViews, observed: Array) -> Array | None:
    """The share, 0 to 1, of each completed cell's own value that the model does not explain.

    Samples x views, NaN where the cell was observed; None if the method does not say.

    Parameters
    ----------
    completer : fitted completer
        Asked for its ``posterior_variance``, if it has one.
    completed : KernelViews
        What it gave.
    observed : (n, V) bool
        What it was given.
    """
    if not hasattr(completer, "posterior_variance"):
        return None
    own = np.column_stack([completed.diagonal(name) for name in completed.names])
    share = np.full(observed.shape, np.nan)
    np.divide(completer.posterior_variance(), own, out=share, where=~observed & (own > 0))
    return np.clip(share, 0.0, 1.0)


def _mean(values: Array) -> float:
    """Of what there is; NaN of nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def compare_completers(
    name: str, completer: Completer, kernels: KernelViews, tick: Callable[[], None] = lambda: None
) -> Quality:
    """A method beside mean fill, zero fill and every other completer of the catalogue at its defaults.

    Of more than :data:`MAX_JUDGED` samples so many are drawn and judged on; methods that are not for as
    many samples as there are, are left out all the same.

    Parameters
    ----------
    name : str
        What the method is called; the entry of that name is not tried as well.
    completer : completer
        The method, with the parameters that it is used with.
    kernels : KernelViews
        Square.
    tick : callable
        Called once for each completer of the catalogue.
    """
    entries = offered("completer")
    first = {e.name: e.make() for e in entries.values() if e.baseline and e.name != name}
    first[name] = completer
    others = [entry for entry in entries.values() if entry.name not in first]
    rest = sorted(others, key=lambda entry: entry.max_samples is not None)
    small = {e.name: e.make() for e in rest if e.max_samples is None or len(kernels) <= e.max_samples}
    quality = measure_hidden_errors(kernels, first, tick=tick, others=small, most=MAX_JUDGED)
    for entry in rest:
        if entry.name not in small:
            quality.left_out[entry.name] = f"is for at most {entry.max_samples} samples"
            tick()
    return quality
