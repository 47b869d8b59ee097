"""How long a fit will take, by fits to few of its samples."""

import time
import warnings
from collections.abc import Callable
from math import log
from typing import Any

from absentia.core import Array
from absentia.data import MANY_SAMPLES, KernelViews, Views
from absentia.tasks import Plan, Task, adjust_samples, order_samples

_FIRST_SIZE = 40
_LARGEST_PART = 3  # fits to a third of the samples are the largest that are measured
_ENOUGH_SECONDS = 0.3  # what takes as long is measured well enough
_LEAST_GROWTH, _USUAL_GROWTH, _MOST_GROWTH = 1.0, 2.0, 3.0  # powers of the number of samples
_FIRST_OF_MANY = 1000  # samples, whose time grows in proportion: fewer have nothing but what is constant


def forecast_seconds(
    task: Task,
    data: Views | KernelViews,
    y: Any,
    plan: Plan,
    n: int,
    covariates: Views | None = None,
    *,
    chunked: bool = False,
    least: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> float | None:
    """About how many seconds a fit of `plan` to `n` samples takes, of which `data` are all or some.

    Fits to 40 samples, 80, 160 and so on are timed, until one takes a third of a second or would have more
    than a third of the samples; time goes on to grow as a power of their number, as it did between the last
    two.  Of very many samples it is in proportion to them, from a fit to 1000 on.  The first fit is not
    counted: it loads what is needed.  If that alone says that all of it takes less than `least`, the others
    are not made.  `chunked`: whether the samples are in chunks, though `data` are not.  None: there is
    nothing that could be measured.
    """
    many = chunked or n > MANY_SAMPLES
    most_growth = _LEAST_GROWTH if many else _MOST_GROWTH
    plan = plan.decide_by_size(n, chunked)
    strata = task.align_targets(data, y)
    order = order_samples(data, *task.order_keys(strata))
    size, measured, first = (
        max(min(_FIRST_OF_MANY if many else _FIRST_SIZE, n // _LARGEST_PART), 1),
        [],
        True,
    )
    while size * _LARGEST_PART <= n and size * 2 <= len(y):
        rows = task.make_folds(order, strata, len(y) // size, groups=data.groups)[0][1]
        begin = clock()
        if not _fits(task, adjust_samples(data, covariates, rows)[0], y[rows], plan):
            size *= 2  # of some class there are too few
            continue
        seconds = clock() - begin
        if first:
            if seconds * (n / len(rows)) ** most_growth < least:
                return seconds
            first = False
            continue
        measured.append((len(rows), seconds))
        if seconds > _ENOUGH_SECONDS:
            break
        size *= 2
    return _extrapolate(measured, n, most_growth) if measured else None


def _fits(task: Task, data: Any, y: Array, plan: Plan) -> bool:
    """Whether these samples are enough to learn from."""
    with warnings.catch_warnings(action="ignore"):  # those of the fit to all samples are to be read
        try:
            task.learn(data, y, plan)
        except ValueError:
            return False
    return True


def _extrapolate(measured: list[tuple[int, float]], n: int, most_growth: float) -> float:
    """Seconds for `n` samples, by sizes and seconds from few samples to more."""
    size, seconds = measured[-1]
    growth = min(_USUAL_GROWTH, most_growth)
    if len(measured) > 1 and measured[-2][0] < size and min(seconds, measured[-2][1]) > 0:
        growth = log(seconds / measured[-2][1]) / log(size / measured[-2][0])
    return float(seconds * (n / size) ** min(max(growth, _LEAST_GROWTH), most_growth))
