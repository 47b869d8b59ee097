"""The values of absent views, told from the other views, with what they are worth.

A view's features are regressed on the mean of the other views' completed kernels (kernel ridge regression
with an intercept; linear and rbf).  The completer never sees the view in question: samples that have it and
samples that lack it are then described alike.  With ``H K H = U diag(d) U'`` over the samples that have the
view and another one, what is told of each of them once it is left out is known in closed form,

    y_i - r_i / (1 - 1/m - sum_k U_ik^2 d_k / (d_k + a)),     r = y - mean - U diag(d / (d + a)) U' y,

and every feature takes the kernel and the penalty ``a`` of least error, as a share of its variance, on
average of its own and the mean of all features of the view: a curve of its own is noisy where little can be
told.

What that is worth is measured by hiding: in each of several rounds every sample loses one of its views at
most, all is fitted anew, and what comes back is compared with what was hidden.  A feature is *trusted* if
the lower end of the 95 % interval of its correlation (Fisher's z) is at least 0.1, and its error below that
of the mean.  Standard deviations are those of the hidden residuals, times a factor for each set of other
views that samples have.  Categories are one column for each level, told as probabilities.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone

from absentia.core import Array, RandomState, check_memory, check_name, make_generator, warn
from absentia.core.linalg import invert_permutation
from absentia.data import (
    COMPLETED_LAYER,
    AbsenceWarning,
    Coding,
    ViewCoding,
    Views,
    make_index,
    order_for_learning,
    show_id,
)
from absentia.kernels import ViewKernels
from absentia.methods._embedding import make_completer

if TYPE_CHECKING:
    import pandas

#: Penalties that are tried, in units of the mean eigenvalue; strong ones first, so that ties are simple.
_PENALTIES = 10.0 ** np.array([3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -1.5, -2, -3])
_RANK = 1e-10  # share of the largest eigenvalue below which one is none
_MIN_SAMPLES = 5  # with a view and another one, to learn from
_MIN_CORRELATION = 0.1  # that a feature exceeds reliably, to be trusted
_Z95 = 1.959964  # of the normal distribution, two-sided
_PRIOR_ROWS = 10  # hidden samples of factor 1 that are added to each set of other views
_COPIES = 4  # of kernels that are in memory at a time


@dataclass(frozen=True, eq=False)
class CompletedValues:
    """Views with their absent values filled in, and how far these are to be trusted.

    Attributes
    ----------
    views : Views
        What was observed as it was; absent rows filled.  NaN where a feature cannot be told; a view of
        which nothing can be told is absent where it was.  Whole numbers are told as expected values,
        categories as their most probable level.
    filled : DataFrame of bool, samples x views
        Whose rows were filled.
    std : dict of str to DataFrame, samples x features
        Standard deviations of filled values; zero where observed, NaN where empty and of categories.
    proba : dict of str to DataFrame, samples x levels
        Of views with categories: probabilities of their levels, in columns such as ``stage=II``; zeros and
        ones where observed.

    Examples
    --------
    >>> from absentia import complete_values, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    >>> completed = complete_values(views, keep="all")
    >>> bool(completed.views.observed.all()), int(completed.filled.to_numpy().sum())
    (True, 24)
    """

    views: Views
    filled: "pandas.DataFrame"
    std: "dict[str, pandas.DataFrame]"
    proba: "dict[str, pandas.DataFrame]"
    _before: Views
    _trust: "pandas.DataFrame"

    def table(self) -> "pandas.DataFrame":
        """A row for each feature: what came back of observed samples that were hidden.

        Columns are view, feature, correlation, relative_error (root mean square error over that of the
        mean of training samples), n_hidden and trusted.  Of a category, levels count together: the
        correlation of their indicators with their probabilities, the root of the relative Brier score.
        """
        return self._trust.copy()

    def to_mudata(self, mdata: Any = None) -> Any:
        """A MuData whose modalities have all samples.

        X holds what was observed (NaN rows: absent), the layer ``absentia_completed`` also what was filled,
        ``absentia_std`` standard deviations; var has the columns of :meth:`table`.

        Parameters
        ----------
        mdata : MuData, optional
            Where the views came from: its obs is kept.
        """
        everywhere, everyone = self._before, np.arange(len(self._before))
        for name in everywhere.names:
            everywhere = everywhere.given(name, self._before.padded(name, everyone))
        made = everywhere.to_mudata(observed=self._before)
        for name, part in made.mod.items():
            part.layers[COMPLETED_LAYER] = self.views.padded(name, everyone)
            part.layers["absentia_std"] = self.std[name].to_numpy()
            trust = self._trust[self._trust["view"] == name]
            for column in ("correlation", "relative_error", "n_hidden", "trusted"):
                part.var[f"absentia_{column}"] = trust[column].to_numpy()
        if mdata is not None:
            for column in mdata.obs:
                made.obs[column] = mdata.obs[column].reindex(made.obs_names).array
        return made


def complete_values(
    views: Views,
    *,
    completer: Any = "auto",
    kernel: str | ViewKernels | None = None,
    keep: Literal["trusted", "all"] = "trusted",
    fill_gaps: bool = False,
    n_folds: int = 5,
    random_state: RandomState = None,
    callback: Callable[[], object] | None = None,
) -> CompletedValues:
    """Fill in the values of absent views from the other views, and say what they are worth.

    Whoever has no other view gets the means, and a warning says so.  Time grows with the cube of the number
    of samples: some thousands are many.

    Parameters
    ----------
    views : Views
        Two views or more.
    completer : "auto", str or a completer, default "auto"
        What completes the kernels of the other views, as in :func:`absentia.embed`.
    kernel : str or ViewKernels, optional
        Of the other views.  None: linear or rbf, for each feature what tells more of samples left out.
    keep : {"trusted", "all"}
        Features that are not to be trusted stay NaN, or are filled too.
    fill_gaps : bool, default False
        Also fill NaN inside observed rows, from the other views alone.
    n_folds : int, default 5
        Into how many parts the samples of a view are cut to be hidden; as many as there are views at least.
    random_state : int, Generator, RandomState or None
        Of these parts; None: the fixed seed 0.
    callback : callable, optional
        Called without arguments ``max(n_folds, views) + 1`` times, after each fit.

    Returns
    -------
    CompletedValues

    Examples
    --------
    >>> import absentia
    >>> from absentia import datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> done = absentia.complete_values(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> done.table().columns.tolist()
    ['view', 'feature', 'correlation', 'relative_error', 'n_hidden', 'trusted']
    """
    _check_views(views, keep, n_folds)
    coding = Coding.learn(views)
    X = coding(views)
    order, samples = order_for_learning(X)
    X = X.select([X.names[v] for v in order])[samples]
    model = _Model(_make_kernels(kernel), completer)
    back, rng, tell = invert_permutation(samples), make_generator(random_state), callback or (lambda: None)
    hidden = _predict_hidden(X, model, max(n_folds, X.n_views), rng, tell)
    with warnings.catch_warnings(action="ignore", category=AbsenceWarning):  # of views without one another
        told = {name: model.predict(X, name) for name in X.names}
    tell()
    parts = {}
    for name in views.names:
        if name in told:
            parts[name] = _Told.of(X, coding.views[name], told[name], hidden[name]).take(back)
        else:  # nobody has it
            parts[name] = _Told.empty(len(views), views.block(name).shape[1])
    return _assemble(views, coding, parts, keep == "all", fill_gaps)


def _check_views(views: Any, keep: str, n_folds: Any) -> None:
    """Raise if there is nothing to tell from, or too much to hold."""
    if not isinstance(views, Views):
        raise TypeError(f"Views (features) are wanted, not {type(views).__name__}; see Views.from_dict")
    check_name("keep", keep, ("trusted", "all"))
    if not isinstance(n_folds, int | np.integer) or n_folds < 2:
        raise ValueError(f"n_folds is a whole number of 2 or more, not {n_folds!r}")
    if (views.observed.sum(axis=1) > 1).sum() < _MIN_SAMPLES:
        raise ValueError(
            f"{int((views.observed.sum(axis=1) > 1).sum())} sample(s) have two views or more, and "
            f"{_MIN_SAMPLES} are wanted: values of a view are told from other views of the same samples"
        )
    check_memory(
        _COPIES * 8.0 * views.n_views * float(len(views)) ** 2,
        f"values are told from whole kernels: those of {len(views)} samples in {views.n_views} views",
        "complete some of the samples, or kernels (absentia complete without --values), of which factors "
        "are completed whatever the number of samples",
    )


def _make_kernels(kernel: str | ViewKernels | None) -> list[ViewKernels]:
    if kernel is None:  # not of unit length: what is linear in the features is to be so in the kernel
        return [ViewKernels("linear", normalize="trace"), ViewKernels("rbf")]
    return [clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)]


# ------------------------------------------------------------------------------------------------- telling


class _Model(NamedTuple):
    """How a view's features are told from the other views."""

    kernels: Sequence[ViewKernels]
    completer: Any

    def predict(self, X: Views, name: str) -> Array:
        """Features of all samples (n, p) from the other views; the mean of whoever has no other."""
        table = X.padded(name, np.arange(len(X))).astype(np.float64)
        values = np.tile(_means(table, axis=0), (len(X), 1))
        others = X.select([other for other in X.names if other != name])
        linked = np.flatnonzero(others.observed.any(axis=1))
        has = np.flatnonzero(X.observed[linked, X.names.index(name)])
        if len(has) < _MIN_SAMPLES:
            return values
        someone_has = np.flatnonzero(others.observed.any(axis=0))
        others = others[linked].select([others.names[v] for v in someone_has])
        kernels = (self._mean_kernel(others, maker) for maker in self.kernels)
        ridges = [_Ridge.fit(K, has, table[linked[has]]) for K in kernels]
        errors = np.concatenate([ridge.errors for ridge in ridges])
        best = np.argmin(errors + errors.mean(axis=1, keepdims=True), axis=0)
        kernel, penalty = np.divmod(best, len(_PENALTIES))
        values[linked] = np.choose(kernel, [ridge.predict(penalty) for ridge in ridges])
        return values

    def _mean_kernel(self, others: Views, maker: ViewKernels) -> Array:
        """The mean of the views' completed kernels, each of mean diagonal one (or zero)."""
        kernels = clone(maker).fit_transform(others)
        if not kernels.observed.all():
            kernels = make_completer(self.completer, kernels).fit_transform(kernels)
        scales = [kernels.mean_diagonal(name) or 1.0 for name in kernels.names]
        return np.mean([kernels.block(n) / s for n, s in zip(kernels.names, scales, strict=True)], axis=0)


class _Ridge(NamedTuple):
    """Regressions of targets on one kernel, for every penalty that is tried."""

    mean: Array  # of the targets (p,)
    rows: Array  # the centred kernel of all samples with those of training (n, m)
    d: Array  # eigenvalues of its training part, and eigenvectors
    U: Array
    along: Array  # targets along these (m, p)
    penalties: Array
    errors: Array  # squared, of samples left out, as a share of the variance (penalties, p)

    @classmethod
    def fit(cls, K: Array, has: Array, Y: Array) -> "_Ridge":
        """Targets `Y` (m, p) of the samples at positions `has`; missing ones count as the mean."""
        columns = K[np.ix_(has, has)].mean(axis=0)
        rows = K[:, has] - K[:, has].mean(axis=1, keepdims=True) - columns + columns.mean()
        d, U = np.linalg.eigh((rows[has] + rows[has].T) / 2)
        d = np.where(d > _RANK * max(float(d[-1]), 1e-300), d, 0.0)
        known, mean = ~np.isnan(Y), _means(Y, axis=0)
        target = np.where(known, Y - mean, 0.0)
        along, penalties = U.T @ target, _PENALTIES * max(float(d.mean()), 1e-300)
        errors = np.empty((len(penalties), Y.shape[1]))
        for k, a in enumerate(penalties):
            leverage = (U**2) @ (d / (d + a)) + 1 / len(has)
            residual = (U @ (along * (a / (d + a))[:, None])) / np.maximum(1 - leverage, 1e-6)[:, None]
            errors[k] = (known * residual**2).sum(axis=0)
        total = (target**2).sum(axis=0)
        return cls(mean, rows, d, U, along, penalties, errors / np.where(total > 0, total, 1.0))

    def predict(self, chosen: Array) -> Array:
        """Targets of all samples (n, p), with the penalty `chosen` for each, by number."""
        d = self.d[:, None]
        coef = np.where(d > 0, self.along / (d + self.penalties[chosen]), 0.0)
        return np.asarray(self.mean + self.rows @ (self.U @ coef))


def _means(table: Array, axis: int) -> Array:
    """Means of what is not NaN; NaN where there is nothing."""
    seen = ~np.isnan(table)
    count = seen.sum(axis=axis)
    total = np.where(seen, table, 0.0).sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


# -------------------------------------------------------------------------------------------------- hiding


def _draw_hidden(observed: Array, n_rounds: int, rng: np.random.Generator) -> Iterator[Array]:
    """Cells to hide in each round (samples x views): of a sample at most one view, never its only one."""
    turn = (rng.permutation(len(observed))[:, None] + np.arange(observed.shape[1])) % n_rounds
    able = observed & (observed.sum(axis=1, keepdims=True) > 1)
    for k in range(n_rounds):
        yield able & (turn == k)


class _Hidden(NamedTuple):
    """What came back of a view's features (n, p), and the mean in its place; NaN where not hidden."""

    told: Array
    mean: Array


def _predict_hidden(
    X: Views, model: _Model, n_rounds: int, rng: np.random.Generator, tell: Callable[[], object]
) -> dict[str, _Hidden]:
    """Every cell that can be hidden, told once."""
    shapes = {name: (len(X), X.block(name).shape[1]) for name in X.names}
    back = {name: _Hidden(np.full(s, np.nan), np.full(s, np.nan)) for name, s in shapes.items()}
    for hidden in _draw_hidden(X.observed, n_rounds, rng):
        part = X.hide(~hidden)
        with warnings.catch_warnings(action="ignore"):  # those of the fit to all samples are to be read
            for name, rows in zip(X.names, hidden.T, strict=True):
                if rows.any():
                    back[name].told[rows] = model.predict(part, name)[rows]
                    back[name].mean[rows] = _means(np.asarray(part.padded(name, np.arange(len(X)))), axis=0)
        tell()
    return back


class _Told(NamedTuple):
    """A view's columns of numbers as they are told, their deviations (n, p), and measures by feature."""

    values: Array
    std: Array
    linked: Array  # (n,) who has another view
    correlation: Array
    relative_error: Array
    n_hidden: Array

    @classmethod
    def of(cls, X: Views, coding: ViewCoding, told: Array, hidden: _Hidden) -> "_Told":
        """What is told, with the measures of what was `hidden`; levels of a category count together."""
        others = np.delete(X.observed, X.names.index(coding.name), axis=1)
        table = X.padded(coding.name, np.arange(len(X))).astype(np.float64)
        categories, groups = _category_columns(coding).values(), coding.groups()
        hidden = hidden._replace(told=_to_probabilities(hidden.told, categories))
        deviation = np.sqrt(_means((table - _means(table, axis=0)) ** 2, axis=0))
        std = _spread(table - hidden.told, others, deviation)
        groups = np.arange(coding.width) if groups is None else groups
        measures = _measure(table, hidden, groups, coding.width)
        linked = np.asarray(others.any(axis=1))
        return cls(_to_probabilities(told, categories), std, linked, *measures)

    @classmethod
    def empty(cls, n: int, p: int) -> "_Told":
        nothing = np.full((n, p), np.nan)
        measures = np.full(p, np.nan), np.full(p, np.nan), np.zeros(p, dtype=int)
        return cls(nothing, nothing, np.ones(n, dtype=bool), *measures)

    def take(self, rows: Array) -> "_Told":
        return self._replace(values=self.values[rows], std=self.std[rows], linked=self.linked[rows])

    @property
    def trusted(self) -> Array:
        with np.errstate(divide="ignore"):
            z = np.arctanh(self.correlation) - _Z95 / np.sqrt(np.maximum(self.n_hidden - 3, 1e-9))
        return (np.tanh(z) >= _MIN_CORRELATION) & (self.relative_error < 1)


def _measure(table: Array, hidden: _Hidden, groups: Array, width: int) -> tuple[Array, Array, Array]:
    """Correlation, relative error and number of hidden samples of each of `width` features."""
    known = ~np.isnan(table) & ~np.isnan(hidden.told)

    def add(values: Array) -> Array:
        return np.bincount(groups, np.where(known, values, 0.0).sum(axis=0), minlength=width)

    truth, told = (np.where(known, x, np.nan) for x in (table, hidden.told))
    truth, told = truth - _means(truth, axis=0), told - _means(told, axis=0)
    size = np.sqrt(add(truth**2) * add(told**2))
    error, of_mean = add((table - hidden.told) ** 2), add((table - hidden.mean) ** 2)
    nothing = np.full(len(size), np.nan)
    correlation = np.divide(add(truth * told), size, out=nothing.copy(), where=size > 0)
    relative = np.sqrt(np.divide(error, of_mean, out=nothing, where=of_mean > 0))
    count = add(known) / np.maximum(np.bincount(groups, minlength=width), 1)
    return np.clip(correlation, -1, 1), relative, count.astype(int)


def _spread(residual: Array, others: Array, deviation: Array) -> Array:
    """Standard deviations (n, p) of what is told: by feature, and by which `others` a sample has."""
    std = np.sqrt(_means(residual**2, axis=0))
    std = np.where(np.isnan(std), deviation, std)  # where nothing was hidden
    squares = _means((residual / np.where(std > 0, std, np.nan)) ** 2, axis=1)  # constants say nothing
    patterns = np.unique(others, axis=0, return_inverse=True)[1].ravel()
    judged = ~np.isnan(squares)
    count = np.bincount(patterns, judged) + _PRIOR_ROWS
    total = np.bincount(patterns, np.where(judged, squares, 0.0)) + _PRIOR_ROWS
    spread = np.sqrt(total / count)[patterns][:, None] * std
    return np.where(others.any(axis=1, keepdims=True), spread, deviation)


# ---------------------------------------------------------------------------------------------- assembling


def _assemble(
    views: Views, coding: Coding, parts: Mapping[str, _Told], keep_all: bool, fill_gaps: bool
) -> CompletedValues:
    """The views with their columns as they came, and everything that is said of them."""
    import pandas as pd

    full, coded, everyone = views, coding(views), np.arange(len(views))
    index = pd.Index(make_index(views.ids), name="id")
    filled = pd.DataFrame(False, index=index, columns=list(views.names))
    std, proba, trust = {}, {}, []
    for name, told in parts.items():
        came, observed = views.padded(name, everyone), views.observed[:, views.names.index(name)]
        columns = views.to_frame(name, absent="keep").columns
        categories = _category_columns(coding.views[name])
        kept = told.trusted | (keep_all & (told.n_hidden > 0))
        values, deviations = _decode(views, coding, name, told)
        values[:, ~kept] = np.nan
        wanted = np.isnan(came) & (fill_gaps | ~observed[:, None]) & ~np.isnan(values)
        if kept.any():
            full = full.given(name, _like(np.where(wanted, values, came), views.block(name)))
        filled[name] = np.asarray(wanted.any(axis=1))
        _warn_of_rest(views, name, told, wanted, bool(kept.any()))
        spread = np.where(wanted, deviations, np.where(np.isnan(came), np.nan, 0.0))
        std[name] = pd.DataFrame(spread, index=index, columns=columns)
        if categories:
            proba[name] = _probability_frame(coded, coding, name, told, wanted, index)
        measures = {
            "correlation": told.correlation,
            "relative_error": told.relative_error,
            "n_hidden": told.n_hidden,
            "trusted": told.trusted,
        }
        trust.append(pd.DataFrame({"view": name, "feature": columns, **measures}))
    return CompletedValues(full, filled, std, proba, views, pd.concat(trust, ignore_index=True))


def _category_columns(coding: ViewCoding) -> dict[int, Array]:
    """For each feature that is a category the columns of its levels."""
    groups = coding.groups()
    if groups is None or coding.columns is None:
        return {}
    names = coding.columns.tolist()
    return {j: np.flatnonzero(groups == j) for j, column in enumerate(names) if coding.levels.get(column)}


def _to_probabilities(values: Array, categories: Iterable[Array]) -> Array:
    """Columns of each category not below zero and summing to one; others as they are."""
    values = values.copy()
    for columns in categories:
        share = np.maximum(values[:, columns], 0.0)
        total = share.sum(axis=1, keepdims=True)
        values[:, columns] = np.where(total == 0, 1.0, share) / np.where(total == 0, len(columns), total)
    return values


def _decode(views: Views, coding: Coding, name: str, told: _Told) -> tuple[Array, Array]:
    """Values and deviations, (n, features); of a category the code of its most probable level, and NaN."""
    view = coding.views[name]
    groups, categories = view.groups(), _category_columns(view)
    first = np.arange(view.width)
    if groups is not None:  # a category of which no level is known has no column, and is not told
        first = np.minimum(np.searchsorted(groups, first), told.values.shape[1] - 1)
    values, std = told.values[:, first].copy(), told.std[:, first].copy()
    for j, columns in categories.items():
        assert view.columns is not None
        column = view.columns[j]
        levels = [views.levels(name)[column].index(level) for level in view.levels[column]]
        values[:, j], std[:, j] = np.array(levels)[told.values[:, columns].argmax(axis=1)], np.nan
    return values, std


def _like(values: Array, block: Any) -> Any:
    """Values of the type of `block`, sparse if that is."""
    values = values.astype(block.dtype)
    return scipy.sparse.csr_array(values) if scipy.sparse.issparse(block) else values


def _probability_frame(
    coded: Views, coding: Coding, name: str, told: _Told, wanted: Array, index: Any
) -> "pandas.DataFrame":
    """Probabilities of the levels of all categories of a view, samples x levels."""
    import pandas as pd

    view = coding.views[name]
    came, names, frames = coded.padded(name, np.arange(len(coded))), view.names(), {}
    for j, columns in _category_columns(view).items():
        for k in columns:
            frames[names[k]] = np.where(wanted[:, j], told.values[:, k], came[:, k])
    return pd.DataFrame(frames, index=index)


def _warn_of_rest(views: Views, name: str, told: _Told, wanted: Array, kept: bool) -> None:
    """Say what is no more than a mean, and what stays absent."""
    absent = ~views.observed[:, views.names.index(name)]
    if absent.any() and not kept:
        advice = " (keep='all' fills it all the same)" if told.n_hidden.any() else ""
        warn(
            f"view {name!r}: none of its features can be told from the other views, and it stays "
            f"absent{advice}",
            AbsenceWarning,
        )
    alone = np.flatnonzero(~told.linked & wanted.any(axis=1))
    if len(alone):
        warn(
            f"view {name!r}: {len(alone)} sample(s), e.g. {show_id(views.ids[alone[0]])}, have no other "
            "view and get the means",
            AbsenceWarning,
        )
