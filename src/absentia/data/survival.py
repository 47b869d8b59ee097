"""Right-censored times: who has had an event when, and who had none until when.

A target is a time and an event for each sample: where the event is True the time is when it happened,
elsewhere how long nothing had happened.  :func:`as_survival` takes such targets in the forms that people
have; :func:`kaplan_meier` and :func:`log_rank` are what they are read with, :func:`concordance_index`,
:func:`uno_concordance`, :func:`cumulative_dynamic_auc` and :func:`integrated_brier_score` what predictions
are judged by.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from absentia.core import Array
from absentia.data._ids import show_id
from absentia.data._presence import Presence

__all__ = [
    "KaplanMeier",
    "LogRank",
    "Survival",
    "as_survival",
    "concordance_index",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "kaplan_meier",
    "log_rank",
    "uno_concordance",
]

_BLOCK = 2**22  # pairs of samples that are compared at a time
_WANTED = "a time (0 or more) and an event (1 or True: it happened) for each sample"


class Survival(NamedTuple):
    """Targets, in the order of the samples."""

    time: Array  # floats
    event: Array  # bools

    def to_array(self) -> Array:
        """As one structured array with the fields ``event`` and ``time``, which scikit-learn can split."""
        array = np.empty(len(self.time), dtype=[("event", bool), ("time", np.float64)])
        array["time"], array["event"] = self.time, self.event
        return array


def as_survival(y: Any, X: Presence | None = None) -> Survival:
    """Times and events out of whatever holds them, checked.

    Parameters
    ----------
    y : structured array, frame, array of shape (n_samples, 2) or Survival
        A structured array has one field of bools and one of numbers, as scikit-survival has it.  A frame
        has two columns called time and event, in any order.  Of a plain array the first column is the
        time, the second the event.
    X : Views or KernelViews, optional
        The samples: `y` has to have one row for each, in their order where it carries ids.

    Examples
    --------
    >>> as_survival([[2.0, 1], [3.5, 0]]).event
    array([ True, False])
    """
    if X is not None:
        X.check_order(y)
    time, event = (np.asarray(column) for column in _columns(y))
    if X is not None and len(time) != len(X):
        raise ValueError(f"{len(time)} times came for {len(X)} samples; one for each is wanted")
    ids = np.arange(len(time)) if X is None else X.ids
    return _check_survival(time, event, ids)


def _columns(y: Any) -> tuple[Any, Any]:
    """The time and the event: by name, or by type, where columns have names, else by position."""
    if isinstance(y, Survival):
        return y.time, y.event
    table: Any = y if hasattr(y, "columns") else np.asarray(y)
    names = list(table.columns if hasattr(y, "columns") else table.dtype.names or ())
    if not names:
        if table.ndim != 2 or table.shape[1] != 2:
            raise ValueError(f"targets of shape {table.shape} came; {_WANTED} is wanted: two columns")
        return table[:, 0], table[:, 1]
    called = {str(name).lower(): name for name in names}
    if {"time", "event"} <= set(called):
        return table[called["time"]], table[called["event"]]
    events = [name for name in names if str(table[name].dtype).lower().startswith("bool")]
    if len(names) == 2 and len(events) == 1:
        other = names[1] if names[0] == events[0] else names[0]
        return table[other], table[events[0]]
    raise ValueError(
        f"columns {[str(name) for name in names[:6]]} came; which is the time and which the event? Call "
        "them so, or make the event a column of bools"
    )


def _check_survival(time: Array, event: Array, ids: Array, none: bool = False) -> Survival:
    """Times and events that can be; `none`: nobody needs to have had one."""
    try:
        time, numbers = np.asarray(time, dtype=np.float64), np.asarray(event, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"times or events are no numbers; {_WANTED} is wanted") from None
    bad = ~(np.isfinite(time) & (time >= 0))
    if bad.any():
        k = int(bad.argmax())
        raise ValueError(
            f"{bad.sum()} time(s) are negative or no number, e.g. {time[k]:g} of {show_id(ids[k])}; "
            f"{_WANTED} is wanted: leave out samples without"
        )
    bad = ~np.isin(numbers, (0, 1))
    if bad.any():
        k = int(bad.argmax())
        swapped = "; are the columns the other way round?" if np.isin(time, (0, 1)).all() else ""
        raise ValueError(
            f"{bad.sum()} event(s) are neither 0 nor 1, e.g. {numbers[k]:g} of {show_id(ids[k])}; "
            f"{_WANTED} is wanted{swapped}"
        )
    if not none and not numbers.any():
        raise ValueError(f"none of {len(time)} samples has an event; at least one is wanted")
    return Survival(time, numbers == 1)


def _check_risk(risk: Any, time: Array) -> Array:
    risk = np.asarray(risk, dtype=np.float64)
    if risk.shape != time.shape or not np.isfinite(risk).all():
        raise ValueError(f"risks must be {len(time)} numbers, one for each sample")
    return risk


# ----------------------------------------------------------------------------------------- concordance


def concordance_index(time: Any, event: Any, risk: Any) -> float:
    """Share of comparable pairs of samples whose risks are in the right order (Harrell's C).

    Two samples are comparable if one had the event before the other's time, or at the time when the other
    was last seen without.  Equal risks count half.  0.5 is what chance gives, 1 is perfect.

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    risk : array of shape (n_samples,)
        Higher: earlier events are expected.

    Examples
    --------
    >>> concordance_index([1, 2, 3], [1, 1, 0], [0.9, 0.2, 0.5])
    0.6666666666666666
    """
    return _share_in_order(time, event, risk)


def uno_concordance(time: Any, event: Any, risk: Any, *, tau: float | None = None) -> float:
    r"""Concordance that does not hang on how long samples were followed (Uno's C).

    Harrell's C has few pairs from times at which most samples are no longer followed.  Here a pair whose
    earlier event is at :math:`t` counts :math:`G(t-)^{-2}`, with :math:`G` the share of samples that are
    followed for longer (Kaplan-Meier, censoring taken for the event): Uno et al., Statistics in Medicine
    30 (2011).  Censoring must not depend on what the risk is predicted from.

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    risk : array of shape (n_samples,)
        Higher: earlier events are expected.
    tau : float, optional
        Only events before this time count; late ones have large weights.

    Examples
    --------
    >>> uno_concordance([1, 2, 3, 4], [1, 0, 1, 1], [0.9, 0.1, 0.2, 0.5])
    0.5714285714285714
    """
    time, event = _check_survival(time, event, np.arange(len(time)))
    weights = estimate_follow_up(time, event, time, before=True) ** -2.0
    return _share_in_order(time, event, risk, weights if tau is None else weights * (time < tau))


def _share_in_order(time: Any, event: Any, risk: Any, weights: Array | None = None) -> float:
    right, pairs = concordant_pairs(time, event, risk, weights)
    if not pairs.any():
        raise ValueError("no two samples can be compared: nobody had the event before another's time")
    return float(right.sum() / pairs.sum())


def cumulative_dynamic_auc(time: Any, event: Any, risk: Any, times: Any) -> tuple[Array, float]:
    r"""Area under the ROC curve at each of some times: who has had the event by then, against who has not.

    With :math:`r_i` the risk and :math:`G` the share of samples that are followed for longer (Uno et al.,
    JASA 102, 2007; Hung and Chiang, Canadian Journal of Statistics 38, 2010), equal risks counting half,

    .. math:: AUC(t) = \frac{\sum_{i,j} [t_i \le t, event_i]\, [t_j > t]\, [r_i > r_j] / G(t_i-)}
              {\sum_i [t_i \le t, event_i] / G(t_i-) \; \sum_j [t_j > t]}

    0.5 is what chance gives, 1 is perfect.  Censoring must not depend on what the risk is predicted from.

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    risk : array of shape (n_samples,)
        Higher: earlier events are expected.
    times : array of shape (n_times,)
        Rising, from the first event on and before the last time at which a sample was seen.

    Returns
    -------
    auc : array of shape (n_times,)
    mean : float
        Over the times, each weighted by the share of samples that have the event since the one before
        (Kaplan-Meier).

    Examples
    --------
    >>> cumulative_dynamic_auc([1, 2, 3, 4], [1, 1, 1, 0], [0.9, 0.1, 0.2, 0.3], [1, 2])
    (array([1. , 0.5]), 0.75)
    """
    time, event = _check_survival(time, event, np.arange(len(time)))
    risk, times = _check_risk(risk, time), np.atleast_1d(np.asarray(times, dtype=np.float64))
    first, last = time[event].min(), time.max()
    rising = times.ndim == 1 and len(times) > 0 and bool((np.diff(times) > 0).all())
    if not rising or not first <= times[0] <= times[-1] < last:
        raise ValueError(
            f"rising times from {first:g} on, before {last:g}, are wanted, not {times.tolist()}"
        )
    weights = event / estimate_follow_up(time, event, time, before=True)
    areas = np.empty(len(times))
    for k, t in enumerate(times.tolist()):
        had, free = (time <= t) & event, np.sort(risk[time > t])
        ranks = np.searchsorted(free, risk[had], "left") + np.searchsorted(free, risk[had], "right")
        areas[k] = weights[had] @ ranks / (2 * len(free) * weights[had].sum())
    curve = kaplan_meier(time, event)
    share = -np.diff(evaluate_steps(curve.times, curve.survival, times, 1.0), prepend=1.0)
    return areas, float(share @ areas / share.sum())


def estimate_follow_up(time: Array, event: Array, at: Array, before: bool = False) -> Array:
    """Probability of being followed beyond the times `at`, or up to just before them."""
    curve = kaplan_meier(time, ~event)
    steps = np.concatenate([[1.0], curve.survival])
    return np.asarray(steps[np.searchsorted(curve.times, at, side="left" if before else "right")])


def concordant_pairs(time: Any, event: Any, risk: Any, weights: Array | None = None) -> tuple[Array, Array]:
    """How many comparable pairs of each sample are in order (equal risks: half), and how many there are.

    Every pair is counted with both of its samples.

    Parameters
    ----------
    time, event, risk : array of shape (n_samples,)
        As in :func:`concordance_index`.
    weights : array of shape (n_samples,), optional
        What a pair counts, by its sample with the earlier event; 1 by default.
    """
    time, event = _check_survival(time, event, np.arange(len(time)))
    risk = _check_risk(risk, time)
    right, pairs = np.zeros(len(time)), np.zeros(len(time))
    happened = np.flatnonzero(event)
    for rows in np.array_split(happened, max(1, len(happened) * len(time) // _BLOCK)):
        later = time[rows, None] < time
        later |= (time[rows, None] == time) & ~event
        if weights is not None:
            later = later * weights[rows, None]
        order = later * (1 + np.sign(risk[rows, None] - risk)) / 2
        for count, matrix in ((right, order), (pairs, later)):
            count += matrix.sum(axis=0)
            count[rows] += matrix.sum(axis=1)
    return right, pairs


# --------------------------------------------------------------------------------------- Kaplan-Meier


class KaplanMeier(NamedTuple):
    """A curve: the share without event from each time on, and how many were at risk at that time."""

    times: Array
    survival: Array
    at_risk: Array
    low: Array
    high: Array


def kaplan_meier(time: Any, event: Any, *, level: float = 0.95) -> KaplanMeier:
    """The share of samples without event over time, with a band (log-log, Greenwood's variance).

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    level : float, default 0.95
        Of the band.  Where nobody is left, it ends as it was before.

    Examples
    --------
    >>> kaplan_meier([1, 2, 2, 4], [1, 1, 0, 0]).survival
    array([0.75, 0.5 , 0.5 ])
    """
    time, event = _check_survival(time, event, np.arange(len(time)), none=True)
    if not len(time) == len(event) > 0:
        raise ValueError(f"{len(time)} times and {len(event)} events came; {_WANTED} is wanted")
    times, place = np.unique(time, return_inverse=True)
    died = np.bincount(place, weights=event, minlength=len(times))
    risk = np.bincount(place, minlength=len(times))[::-1].cumsum()[::-1]
    survival = np.cumprod(1 - died / risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(died / (risk * (risk - died)))
        spread = norm.ppf((1 + level) / 2) * np.sqrt(variance) / np.log(survival)
        low, high = survival ** np.exp(-spread), survival ** np.exp(spread)
    low, high = np.where(survival == 1, 1.0, low), np.where(survival == 1, 1.0, high)
    if survival[-1] == 0:
        low[-1], high[-1] = 0.0, high[-2] if len(high) > 1 else 1.0
    return KaplanMeier(times, survival, risk, low, high)


def evaluate_steps(times: Array, values: Array, at: Array, before: float) -> Array:
    """A function that has `values` from `times` on, and `before` before the first, at the times `at`."""
    place = np.searchsorted(times, at, side="right")
    return np.asarray(np.concatenate([[before], values])[place])


# -------------------------------------------------------------------------------------------- Brier score


def integrated_brier_score(time: Any, event: Any, survival: Any, times: Any) -> float:
    r"""How far off predicted probabilities of having no event are, mean over a span of time.

    At a time :math:`t`, with :math:`S_i` the predicted probability that sample :math:`i` has no event up to
    it and :math:`G` the share of samples that are followed for longer (Graf et al., Statistics in Medicine
    18, 1999),

    .. math:: BS(t) = \frac{1}{n} \sum_i \left[ \frac{S_i(t)^2 [t_i \le t, event_i]}{G(t_i-)}
              + \frac{(1 - S_i(t))^2 [t_i > t]}{G(t)} \right]

    integrated by trapezoids over `times` and divided by their span.  0 is perfect; 0.25 is what saying one
    half of everybody gives.

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    survival : array of shape (n_samples, n_times)
        Probabilities of no event up to each of the times.
    times : array of shape (n_times,)
        Two or more, rising, before the last time at which a sample was seen.

    Examples
    --------
    >>> integrated_brier_score([1, 2, 3, 4], [1, 1, 1, 1], [[0.5, 0.5]] * 4, [1, 3])
    0.25
    """
    time, event = _check_survival(time, event, np.arange(len(time)))
    survival, times = np.asarray(survival, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0).all() or times[-1] >= time.max():
        raise ValueError(f"two or more rising times before {time.max():g} are wanted, not {times.tolist()}")
    if survival.shape != (len(time), len(times)) or not ((survival >= 0) & (survival <= 1)).all():
        raise ValueError(
            f"survival of shape {survival.shape} came; probabilities of shape {(len(time), len(times))} "
            "are wanted, a row for each sample and a column for each time"
        )
    had = (time[:, None] <= times) & event[:, None]
    early = had * survival**2 / estimate_follow_up(time, event, time, before=True)[:, None]
    late = (time[:, None] > times) * (1 - survival) ** 2 / estimate_follow_up(time, event, times)
    return float(np.trapezoid((early + late).mean(axis=0), times) / (times[-1] - times[0]))


# -------------------------------------------------------------------------------------------- log-rank


class LogRank(NamedTuple):
    """A chi-square statistic, and how likely one as large is if the groups do not differ."""

    statistic: float
    pvalue: float


def log_rank(time: Any, event: Any, group: Any) -> LogRank:
    """Whether groups of samples differ in when events happen (log-rank test, two groups or more).

    Parameters
    ----------
    time, event : array of shape (n_samples,)
        When, and whether it happened.
    group : array of shape (n_samples,)
        Which group each sample is in.

    Examples
    --------
    >>> round(log_rank([1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]).pvalue, 4)
    0.0246
    """
    time, event = _check_survival(time, event, np.arange(len(time)))
    names, code = np.unique(np.asarray(group), return_inverse=True)
    if len(code) != len(time) or len(names) < 2:
        raise ValueError(f"{len(names)} group(s) of {len(code)} samples came; two or more are wanted")
    member = np.eye(len(names))[code]
    when = np.unique(time[event])
    at_risk = (time >= when[:, None]).astype(float) @ member  # times x groups
    died = ((time == when[:, None]) & event).astype(float) @ member
    n, d = at_risk.sum(axis=1), died.sum(axis=1)
    share = at_risk / n[:, None]
    excess = (died - d[:, None] * share).sum(axis=0)
    factor = d * (n - d) / np.maximum(n - 1, 1)
    spread = np.diag(factor @ share) - (share * factor[:, None]).T @ share
    free = len(names) - 1
    root = np.linalg.pinv(spread[:free, :free], hermitian=True)
    statistic = float(excess[:free] @ root @ excess[:free])
    return LogRank(statistic, float(chi2.sf(statistic, free)))
