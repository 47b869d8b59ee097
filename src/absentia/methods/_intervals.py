"""How far completed entries may be off: intervals calibrated by hiding what is known, one way for all.

**Kernels.**  In each of several rounds some observed samples of each view are hidden and completed.  A
hidden sample is left with views that a sample without the view has: one of these is drawn, and of those
that have the view the one whose other views are most like its own is hidden down to the views of both.
So hidden samples are completed from what absent ones are completed from.  The score of an entry is its
error in units of the completed diagonal,

    |K_it - k_it| / (u_i u_t),      u_i^2 = K_ii, at least a hundredth of the view's mean diagonal.

Entries of an absent sample with observed samples, with other absent ones and with itself are kept apart.
The model of MKMC has deviations of its own; as units they make intervals of real kernels no narrower
(``benchmarks/completion_coverage.py``), so that one rule serves every method.

**A matrix.**  Scores are errors of hidden entries in the model's standard deviations, of
``PMAImputer.hidden_ratios_``.

**Threshold.**  Entries of one sample are alike: samples are counted, not entries.  With L_t(q) the share of
the entries of hidden sample t (with groups: of the samples of group t) whose scores exceed q, L their mean
over n samples, and a = 1 - coverage, an entry lies within q units, q the least number with

    L(q) + (1 - a) D / n  <=  a,      D = var L_t / (L (1 - L))  where L(q) is a or just below;  at most 1.

With one entry a sample, D is 1, and this is split conformal prediction, infinite if n is too small; where
entries of a sample go astray one by one, n samples count as n / D (Kish's design effect).  D is taken to be
1 with fewer than 10 samples, or if nothing exceeds q there: that is conformal risk control (Angelopoulos,
Bates, Fisch, Lei & Schuster, ICLR 2024).  An entry of two hidden samples is one of both: there pairs of
samples are counted, half as many.

For a sample that is absent as the hidden ones are, the expected share of its entries inside is then
`coverage`: on average over samples, and approximately, for D is estimated, and hidden samples are completed
from a little less than absent ones.  Nothing is promised where views are absent for what they would show.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from absentia.core import TIE_RTOL, Array, RandomState, clone_without_callbacks, make_generator
from absentia.data import KernelViews, check_square_kernels, input_error, number_groups, order_kernels
from absentia.methods.completion import subsample_kernels
from absentia.methods.matrix import PMAImputer
from absentia.methods.prediction import find_threshold

if TYPE_CHECKING:
    import pandas

#: Share of a view's samples that a round hides; share of all samples that a round hides something of.
_HIDDEN_SHARE, _TOUCHED_SHARE = 0.1, 0.3
_MIN_HIDDEN = 4  # samples of a view in a round, if there are enough
_MAX_SAMPLES = 2500  # of more, so many are drawn to calibrate with
_MAX_COLUMNS = 200  # observed samples that a hidden one's entries are looked at with
_MIN_DIAGONAL = 0.01  # of the view's mean diagonal, to be a unit
_MIN_UNITS, _MIN_EFFECT = 10, 0.01  # samples to estimate a design effect from; the least there is
_N_FOLDS = 5  # of hidden samples, to say what is reached
_KINDS = ("observed", "absent", "itself")
_COLUMNS = ["view", "entries", "n_hidden", "half_width", "spread", "promised", "reached", "standard_error"]


class _Scores(NamedTuple):
    """Scores of hidden entries (n_entries,), and the sample or group that each is of, numbered."""

    values: Array
    unit: Array

    @property
    def n_units(self) -> int:
        return len(np.unique(self.unit))

    def find_threshold(self, coverage: float) -> float:
        _, place, counts = np.unique(self.unit, return_inverse=True, return_counts=True)
        weights, n, effect = 1 / counts[place], len(counts), 1.0
        if n >= _MIN_UNITS:
            order = np.argsort(self.values)
            last = np.searchsorted(np.cumsum(weights[order]), coverage * n)
            outside = np.bincount(place, self.values > self.values[order[last]]) / counts
            if (share := float(outside.mean())) > 0:
                effect = float(np.clip(outside.var(ddof=1) / (share * (1 - share)), _MIN_EFFECT, 1.0))
        return find_threshold(self.values, weights / effect, coverage, n / effect) * (1 + TIE_RTOL)

    def measure(self, coverage: float) -> tuple[float, float]:
        """Share of hidden entries inside, by thresholds of other samples, and its standard error.

        NaN where these are too few.
        """
        units, place = np.unique(self.unit, return_inverse=True)
        inside = np.zeros(len(self.values))
        for fold in range(_N_FOLDS):
            here = place % _N_FOLDS == fold
            threshold = _Scores(self.values[~here], self.unit[~here]).find_threshold(coverage)
            if not np.isfinite(threshold):
                return np.nan, np.nan
            inside[here] = self.values[here] <= threshold
        shares = np.bincount(place, inside) / np.bincount(place)
        return float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(units)))


@dataclass(frozen=True, eq=False)
class CompletionIntervals:
    """Completed kernels, or a completed matrix, and intervals that hold for a given share of its entries.

    Attributes
    ----------
    completed : KernelViews, or ndarray of shape (n, m)
        With nothing absent.

    Examples
    --------
    >>> from absentia import MeanFill, ViewKernels, calibrate_completer, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views.select(["pixels", "fourier"])
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> intervals = calibrate_completer(MeanFill(), kernels, n_rounds=2)
    >>> bool(intervals.completed.observed.all())
    True
    """

    completed: KernelViews | Array
    _observed: Array  # before: samples x views, or entries
    _units: Mapping[str, Array]  # u (n,) by view; of a matrix standard deviations (n, m), by ""
    _scores: Mapping[tuple[str, str], _Scores]  # by view and what the entries are with
    _model_is_true: bool = False

    def interval(self, view: str | None = None, *, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends of all entries, equal where observed; infinite where too little was hidden.

        Parameters
        ----------
        view : str, optional
            Of kernels, whose; a matrix has none.
        coverage : float, default 0.9
            The share of completed entries that is to lie inside.

        Returns
        -------
        low, high : ndarrays of shape (n_samples, n_samples), or that of the matrix
        """
        _check_coverage(coverage)
        if not isinstance(self.completed, KernelViews):
            half, missing = np.zeros(self.completed.shape), ~self._observed
            q = self._find_threshold("", "entry", coverage)
            half[missing] = q * self._units[""][missing] if np.isfinite(q) else np.inf
            return self.completed - half, self.completed + half
        if view not in self.completed.names:
            raise KeyError(f"there is no view {view!r}; views are {list(self.completed.names)}")
        absent = ~self._observed[:, self.completed.names.index(view)]
        with_observed, with_absent, with_itself = (
            self._find_threshold(view, kind, coverage) for kind in _KINDS
        )
        u, K = self._units[view], self.completed.block(view)
        thresholds = np.where(np.logical_and.outer(absent, absent), with_absent, with_observed)
        np.fill_diagonal(thresholds, with_itself)
        half = np.where(np.logical_or.outer(absent, absent), thresholds * np.outer(u, u), 0.0)
        return K - half, K + half

    def table(self, coverage: float = 0.9) -> "pandas.DataFrame":
        """What intervals are worth: a row for each view that is absent somewhere and each kind of entry.

        Returns
        -------
        DataFrame
            ``view``; ``entries``, of an absent sample with "observed" or "absent" ones or with "itself" (of
            a matrix: "entry"); ``n_hidden``, samples that it rests on (or groups; with "absent" ones, pairs
            of these); ``half_width``, mean over completed entries; ``spread``, the standard deviation of
            observed ones (of a matrix both are in standard deviations of the columns); ``promised``;
            ``reached``, the mean share of the entries of a hidden sample that are inside intervals
            calibrated by others; its ``standard_error``.
        """
        import pandas as pd

        _check_coverage(coverage)
        rows = []
        for (view, kind), scores in self._scores.items():
            reached, error = scores.measure(coverage)
            unit, spread = self._describe_units(view, kind)
            width = self._find_threshold(view, kind, coverage) * unit
            rows.append((view, kind, scores.n_units, width, spread, coverage, reached, error))
        return pd.DataFrame(rows, columns=_COLUMNS)

    def _find_threshold(self, view: str, kind: str, coverage: float) -> float:
        if self._model_is_true:
            return float(ndtri((1 + coverage) / 2))
        return self._scores[view, kind].find_threshold(coverage) if (view, kind) in self._scores else np.inf

    def _describe_units(self, view: str, kind: str) -> tuple[float, float]:
        """The mean unit of completed entries of a kind, and the standard deviation of observed entries."""
        if not isinstance(self.completed, KernelViews):
            columns = np.where(self._observed, self.completed, np.nan)
            scale = np.nanstd(columns, axis=0)
            relative = self._units[""] / np.where(scale > 0, scale, 1.0)
            return float(relative[~self._observed].mean()), 1.0
        has, u = self._observed[:, self.completed.names.index(view)], self._units[view]
        some = np.flatnonzero(has)[:: max(1, int(has.sum()) // _MAX_COLUMNS)]
        K = self.completed.operator(view).block(some, some)
        other = {"observed": u[has].mean(), "absent": u[~has].mean(), "itself": np.nan}[kind]
        if kind == "itself":
            return float((u[~has] ** 2).mean()), float(np.diagonal(K).std())
        return float(u[~has].mean() * other), float(K[~np.eye(len(K), dtype=bool)].std())


def calibrate_completer(
    completer: Any,
    X: Any,
    *,
    prefit: bool = False,
    n_rounds: int = 5,
    random_state: RandomState = None,
    callback: Callable[[], object] | None = None,
) -> CompletionIntervals:
    """Complete, and find out by hiding what is known how far completed entries may be off.

    Samples of one group of `X` are hidden together.  Of more than 2500 samples so many are drawn for it.

    Parameters
    ----------
    completer : completer of kernels, or PMAImputer
        The method, with its parameters.
    X : KernelViews, or array of shape (n, m) for a PMAImputer
        What is to be completed.
    prefit : bool, default False
        Whether `completer` is fitted to `X` already.  If not, a copy is.
    n_rounds : int, default 5
        Fits with a tenth of each view's samples hidden, or fewer where there are more than three views.  A
        matrix has as many as ``PMAImputer.hidden_ratios_`` takes.
    random_state : int, Generator, RandomState or None
        Of what is hidden; None: the fixed seed 0.
    callback : callable, optional
        Called without arguments after each round.

    Returns
    -------
    CompletionIntervals

    Examples
    --------
    >>> import absentia
    >>> from absentia import CVKT, ViewKernels, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=100).views
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> intervals = absentia.calibrate_completer(CVKT(), kernels)
    >>> low, high = intervals.interval("pixels", coverage=0.9)
    >>> low.shape
    (100, 100)
    """
    if not isinstance(X, KernelViews):
        return _calibrate_imputer(completer, X, prefit)
    X = check_square_kernels(X, "calibrate_completer")
    completed = completer.transform(X) if prefit else clone_without_callbacks(completer).fit_transform(X)
    rng = make_generator(random_state)
    sample = subsample_kernels(X, _MAX_SAMPLES, rng)
    nothing = _Scores(np.zeros(0), np.zeros(0, dtype=int))
    absent = [name for name, has in zip(X.names, X.observed.T, strict=True) if not has.all()]
    scores = {(name, kind): nothing for name in absent for kind in _KINDS}
    for round_ in _draw_rounds(sample, n_rounds, rng):
        with warnings.catch_warnings(action="ignore"):  # the fit to all says what is to be said
            done = clone_without_callbacks(completer).fit_transform(sample.hide(round_.keep))
        for key, new in round_.score(sample, done):
            scores[key] = _Scores(*(np.append(x, y) for x, y in zip(scores[key], new, strict=True)))
        if callback is not None:
            callback()
    units = {name: _find_units(completed, name, X.mean_diagonal(name)) for name in X.names}
    return CompletionIntervals(completed, X.observed, units, scores)


def _calibrate_imputer(imputer: Any, X: Any, prefit: bool) -> CompletionIntervals:
    """Intervals of a matrix; the model's own where it estimates no kernel."""
    if not isinstance(imputer, PMAImputer):
        raise input_error("kernels", X, type(imputer).__name__)
    imputer = imputer if prefit else clone_without_callbacks(imputer).fit(X)
    completed, std = imputer.predict(return_std=True)
    rows, ratios = imputer.hidden_ratios_
    observed = ~np.isnan(np.asarray(X, dtype=float))
    units, scores = {"": std / imputer.widening_}, {("", "entry"): _Scores(ratios, rows)}
    return CompletionIntervals(completed, observed, units, scores, not hasattr(imputer, "kernel_changes_"))


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is a number above 0 and below 1, not {coverage!r}")


def _find_units(completed: KernelViews, name: str, mean: float) -> Array:
    """Square roots of the completed diagonal (n,)."""
    return np.sqrt(np.maximum(completed.diagonal(name), max(_MIN_DIAGONAL * mean, 1e-300)))


# -------------------------------------------------------------------------------------------------- hiding


class _Round(NamedTuple):
    """What one round hides: which cells stay and which are judged (samples x views)."""

    keep: Array
    judged: Array
    unit: Array  # of each sample: its place in the canonical order, or that of its group's first
    order: Array  # samples in the canonical order

    def score(self, X: KernelViews, completed: KernelViews) -> Iterator[tuple[tuple[str, str], _Scores]]:
        """Scores of the judged cells' entries, by view and kind."""
        for v, name in enumerate(X.names):
            hidden = self.order[self.judged[self.order, v]]
            if not len(hidden):
                continue
            kept = self.order[(X.observed & self.keep)[self.order, v]]
            kept = kept[np.unique(np.linspace(0, len(kept) - 1, _MAX_COLUMNS).astype(int))]
            place, others = np.cumsum(X.observed[:, v]) - 1, np.concatenate([kept, hidden])
            true = X.operator(name).block(place[hidden], place[others])
            u = _find_units(completed, name, X.mean_diagonal(name))
            error = np.abs(completed.operator(name).block(hidden, others) - true)
            error /= np.outer(u[hidden], u[others])
            with_itself = hidden[:, None] == others
            with_kept = np.arange(len(others)) < len(kept)
            masks = (with_kept & ~with_itself, ~with_kept & ~with_itself, with_itself)
            for kind, mask in zip(_KINDS, masks, strict=True):
                unit = self.unit[hidden]
                if kind == "absent":  # an entry is one of two samples: pairs of samples are counted
                    first = np.unique(unit)
                    unit = first[np.searchsorted(first, unit) // 2 * 2]
                unit = np.broadcast_to(unit[:, None], mask.shape)
                yield (name, kind), _Scores(error[mask], unit[mask])


def _draw_rounds(X: KernelViews, n_rounds: int, rng: np.random.Generator) -> list[_Round]:
    """Samples to hide of each view and in each round: for one view at most, and once for each view."""
    order = order_kernels(X)
    groups = number_groups(X.groups)
    first = np.arange(len(X))  # of the samples that are hidden together, in the canonical order
    if groups is not None:
        first = order.samples[np.unique(groups[order.samples], return_index=True)[1]][groups]
    rounds = [
        _Round(np.ones_like(X.observed), np.zeros_like(X.observed), order.numbers[first], order.samples)
        for _ in range(n_rounds)
    ]
    leaders = order.samples[first[order.samples] == order.samples]
    free = np.ones((n_rounds, len(X)), dtype=bool)
    share = min(_HIDDEN_SHARE, _TOUCHED_SHARE / X.n_views)
    for v in order.views:
        candidates = rng.permutation(leaders[X.observed[leaders, v]])
        wanted = rng.permutation(order.samples[~X.observed[order.samples, v]])
        count = max(round(share * len(candidates)), _MIN_HIDDEN)
        count = min(count, len(candidates) // 2, max(len(leaders) // X.n_views, 1))
        for k in range(n_rounds * count if len(wanted) else 0):
            round_, open_ = rounds[k % n_rounds], free[k % n_rounds, candidates]
            views = X.observed[wanted[k % len(wanted)]]
            chosen = _find_like(X.observed[candidates[open_]], views, v)
            if chosen is None:
                continue
            leader = candidates[open_][chosen]
            members = first == leader
            free[k % n_rounds, leader] = False
            candidates = candidates[candidates != leader]
            round_.keep[members] = views
            round_.judged[members, v] = X.observed[members, v]
    return [round_ for round_ in rounds if round_.judged.any()]


def _find_like(observed: Array, views: Array, v: int) -> int | None:
    """The sample (of `observed`, samples x views) whose other views than `v` are most like `views`.

    First it is to have as many of these as can be, and one at least if there are any; then few others.
    """
    others = np.delete(observed, v, axis=1)
    wanted = np.delete(views, v)
    common = (others & wanted).sum(axis=1)
    fit = common * observed.shape[1] - (others & ~wanted).sum(axis=1)
    fit = np.where((common > 0) | (not wanted.any()), fit, -observed.size - 1)
    return int(fit.argmax()) if len(fit) and fit.max() >= -observed.size else None
