"""Late fusion and stacking: one classifier per view, fitted to the samples that have it.

**Late fusion** combines the probabilities of a sample's views by one rule.  With ``p_v(k)`` the probability
of class k by view v, ``pi`` the frequencies of the classes, and V(x) the views that sample x has:

===============  =========================================================================================
``rule``         probabilities of x
===============  =========================================================================================
``"mean"``       the mean of ``p_v`` over V(x)
``"skill"``      proportional to ``pi(k) exp sum_v w_v log(p_v(k) / pi(k))``, the weights w_v the skill of
                 the views (the share of the frequencies' log-loss that held-out probabilities save),
                 divided by the largest sum of skills that a training sample has
``"product"``    the same with all weights one: right if views are independent given the class
===============  =========================================================================================

**Stacking** learns from the log-odds ``L_v(k) = log(p_v(k) / pi(k))`` of samples that the classifiers of
the views have not seen.  By default it has one weight per view and one offset per class,

    log-odds of class k  =  b_k + sum_v w_v L_v(k),

with w >= 0 (a view that says "yes" is never read as "no"), by least log-loss with a ridge that draws the
weights to one over the number of views.  An absent view contributes zero (it says what the frequencies
say), or what the other views' log-odds lead one to expect: imputed at the level of the second model, as
W. van Loon, M. Fokkema, B. Szabo & M. de Rooij do ("View selection in multi-view stacking", Advances in
Data Analysis and Classification, 2022).
"""

import warnings
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from absentia.core import Array, NonNegative, estimator, serializable
from absentia.data import (
    Coding,
    KernelViews,
    Views,
    choose_n_folds,
    column_scales,
    concatenate_features,
    count_fewest,
    make_folds,
    number_groups,
)
from absentia.methods.learning import Learner, log_loss, subset
from absentia.methods.prediction._absent import AbsentClassifier
from absentia.methods.prediction._composite import (
    Composite,
    CompositeClassifier,
    check_per_view,
    decide_approximation,
    restrict_estimator,
)

_MAX_FOLDS = 5  # of cross-validation, where a view's classifier has no leave-one-out probabilities
_MIN_CLASS_SIZE = 3  # samples of a class that a view must have to learn it: fewer cannot be split twice
_MIN_PROBABILITY = 1e-4  # no view alone rules a class out


@serializable
class FilledTable(NamedTuple):
    """A view as a table for scikit-learn: categories one-hot, gaps filled with training means."""

    coding: Coding
    means: Array

    @classmethod
    def learn(cls, X: Views) -> Any:
        coding = Coding.learn(X)
        return cls(coding, column_scales(concatenate_features(coding(X)))[0])

    def __call__(self, X: Views) -> Array:
        table = concatenate_features(self.coding.of_new(X))
        return np.where(np.isnan(table), self.means, table)


@serializable
class ViewClassifier(NamedTuple):
    """A classifier fitted to one view, which may know fewer classes than there are.

    A class that fewer than three of its samples have is not learned: it is predicted with its frequency.
    """

    estimator: Any
    known: Array  # indices of the classes that were learned
    rest: Array  # frequency of each class that was not, else 0, (n_classes,)
    table: FilledTable | None  # for estimators of scikit-learn, which take a table without gaps
    rows: Array  # positions of the samples of known classes, to which it was fitted

    @classmethod
    def fit(cls, estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Any:
        """Fit a clone to samples that have the one view of `X`; None with fewer than two known classes."""
        counts = np.bincount(y, minlength=len(prior))
        known = np.flatnonzero(counts >= _MIN_CLASS_SIZE)
        if len(known) < 2:
            return None
        rows = np.flatnonzero(np.isin(y, known))
        estimator, part = clone(estimator), subset(X, rows, rows)
        if isinstance(estimator, Composite):  # as this estimator's samples are
            estimator._comes_ordered = True
        table = None if isinstance(estimator, Learner) else FilledTable.learn(part)
        options = {"sample_weight": weight[rows]} if has_fit_parameter(estimator, "sample_weight") else {}
        estimator.fit(part if table is None else table(part), y[rows], **options)
        return cls(estimator, known, np.where(counts >= _MIN_CLASS_SIZE, 0.0, prior), table, rows)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for samples that all have the view, rows x classes.

        Kernels are against all samples given to ``fit``.
        """
        inputs = subset(X, np.arange(len(X)), self.rows) if self.table is None else self.table(X)
        return self._expand_classes(self.estimator.predict_proba(inputs))

    def loo_proba(self, y: Array, prior: Array, groups: Array | None) -> Array:
        """Leave-one-out, or leave-one-group-out, probabilities of the samples given to ``fit``.

        Samples whose class would not be known without them, or their group, get the `prior`.
        """
        group_of = number_groups(groups)
        pairs = np.arange(len(y)) if group_of is None else group_of * len(prior) + y
        _, pair_of, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        proba = np.tile(prior, (len(y), 1))
        proba[self.rows] = self._expand_classes(self.estimator.loo_proba_)
        proba[np.bincount(y)[y] - counts[pair_of] < _MIN_CLASS_SIZE] = prior
        return proba

    def _expand_classes(self, proba_of_known: Array) -> Array:
        """Probabilities of all classes from those of the known ones, n x n_classes."""
        proba = np.tile(self.rest, (len(proba_of_known), 1))
        proba[:, self.known] = (1 - self.rest.sum()) * proba_of_known
        proba = np.maximum(proba, _MIN_PROBABILITY)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _cross_val_proba(estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Array:
    """Cross-validated probabilities, n x n_classes; the prior where too few classes could be learned."""
    proba = np.tile(prior, (len(y), 1))
    n_folds = max(2, min(choose_n_folds(len(y), _MAX_FOLDS), count_fewest(y, X.groups)))
    for train, test in make_folds(np.arange(len(y)), y, n_folds, groups=X.groups):
        with warnings.catch_warnings(action="ignore"):  # the fit to all samples warns of the same
            fitted = ViewClassifier.fit(estimator, subset(X, train, train), y[train], weight[train], prior)
            if fitted is not None:
                proba[test] = fitted.predict_proba(subset(X, test, train))
    return proba


def _check_base(estimator: Any, X: Any) -> None:
    """Raise unless the estimator can be used for every view of `X`."""
    learns = hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")
    if isinstance(estimator, type) or not learns:
        raise ValueError(f"estimator must be a classifier with predict_proba, not {estimator!r}")
    if isinstance(X, KernelViews) and not isinstance(estimator, Learner):  # others get tables of features
        name = type(estimator).__name__
        raise ValueError(f"{name} takes features, but kernels came; give estimator=None")


class PerViewClassifier(CompositeClassifier):
    """Base of classifiers made of one classifier per view, each learned from the samples that have it."""

    estimator: Any
    _view_classifiers: dict[
        str, ViewClassifier | None
    ]  # by view; None where fewer than two classes are known
    _columns: dict[str, Array]  # by view, the training samples that have it
    _frequencies: Array  # of the classes, by weight

    def _make_base(self, X: Any, name: str) -> Any:
        """The unfitted classifier of a view."""
        base = AbsentClassifier(None, kernel=self._kernel) if self.estimator is None else self.estimator
        _check_base(base, X)
        return restrict_estimator(base, [name])

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        check_per_view(getattr(self.estimator, "kernel", None), X.names)
        self._kernel = decide_approximation(self.kernel, X) if self.estimator is None else self.kernel
        super()._learn(X, y, weight)

    def _learn_views(self, X: Any, y: Array, weight: Array) -> None:
        self._frequencies = np.bincount(y, weight, minlength=len(self.classes_)) / weight.sum()
        self._view_classifiers, self._columns = {}, {}
        for v, name in enumerate(X.names):
            rows = np.flatnonzero(X.observed[:, v])
            view = subset(X.select([name]), rows, rows)
            self._view_classifiers[name] = ViewClassifier.fit(
                self._make_base(X, name), view, y[rows], weight[rows], self._frequencies
            )
            self._columns[name] = rows

    def _held_out_proba(self, X: Any, y: Array, weight: Array) -> Array:
        """Out-of-sample probabilities of the training samples, views x samples x classes.

        They are leave-one-out where the classifier has ``loo_proba_``, else cross-validated.
        """
        proba = np.tile(self._frequencies, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            classifier, rows = self._view_classifiers[name], self._columns[name]
            if classifier is not None and hasattr(classifier.estimator, "loo_proba_"):
                groups = None if X.groups is None else X.groups[rows]
                proba[v, rows] = classifier.loo_proba(y[rows], self._frequencies, groups)
            elif classifier is not None:
                view = subset(X.select([name]), rows, rows)
                base = self._make_base(X, name)
                proba[v, rows] = _cross_val_proba(base, view, y[rows], weight[rows], self._frequencies)
        return proba

    def _view_proba(self, X: Any) -> Array:
        """Probabilities of new samples, views x rows x classes; the frequencies where a view is absent."""
        proba = np.tile(self._frequencies, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            classifier, rows = self._view_classifiers[name], np.flatnonzero(X.observed[:, v])
            if classifier is not None and len(rows):
                view = subset(X.select([name]), rows, self._columns[name])
                proba[v, rows] = classifier.predict_proba(view)
        return proba

    def _log_odds(self, probabilities: Array) -> Array:
        """Log of probabilities over the frequencies of the classes; zero where a view is absent."""
        return np.asarray(np.log(probabilities / self._frequencies))


def _skill(probabilities: Array, y: Array, weight: Array, prior: Array) -> float:
    """The share of the prior's log-loss that held-out probabilities save; not below zero."""
    prior_loss = log_loss(np.tile(prior, (len(y), 1)), y, weight)
    return max(0.0, 1 - log_loss(probabilities, y, weight) / prior_loss) if prior_loss > 0 else 0.0


@estimator
class LateFusion(PerViewClassifier):
    """One classifier per view, learned from the samples that have it; their probabilities are combined.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    estimator : classifier or None
        Any classifier of scikit-learn with ``predict_proba``, which gets the features of one view, or one
        of absentia; None: logistic regression on the view's kernel.
    rule : {"mean", "skill", "product"}, default "mean"
        Mean of the probabilities over the views that a sample has; log-odds weighted by what each view was
        worth on held-out samples; or product, which takes views for independent.
    kernel : str or ViewKernels, default "rbf"
        Of the machines; ``"precomputed"`` says that kernels will come.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.

    Attributes
    ----------
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of each training sample by classifiers without it: left out alone, or in folds where
        the classifiers do not tell; NaN for samples without a view or weight.
    skill_ : dict
        What each view is worth: the share of the log-loss of the class frequencies that its probabilities
        of held-out samples save.  Only with ``rule="skill"``.
    classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> LateFusion().fit(views[:40], y[:40] < 5).predict_proba(views[40:]).shape
    (20, 2)
    """

    estimator: Any = None
    _: KW_ONLY
    rule: Literal["mean", "skill", "product"] = "mean"
    kernel: Any = "rbf"
    class_weight: Any = None

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> Array:
        self._learn_views(X, y, weight)
        self._view_weights = np.ones(X.n_views)
        proba = self._held_out_proba(X, y, weight)
        if self.rule == "skill":
            skills = np.array(
                [
                    _skill(proba[v, has], y[has], weight[has], self._frequencies)
                    for v, has in enumerate(X.observed.T)
                ]
            )
            self.skill_ = dict(zip(X.names, skills.tolist(), strict=True))
            self._view_weights = skills / max(float((X.observed @ skills).max()), 1e-12)
        return self._fuse(X, proba)

    def _usable_views(self, X: Any) -> Array:
        """Which views have probabilities of which rows; views x rows x 1."""
        has_classifier = np.array([self._view_classifiers[name] is not None for name in X.names])
        return np.asarray(X.observed.T & has_classifier[:, None])[:, :, None]

    def _predict_proba_rows(self, X: Any) -> Array:
        return self._fuse(X, self._view_proba(X))

    def _fuse(self, X: Any, proba: Array) -> Array:
        """Probabilities of the rows out of those by their views, views x rows x classes."""
        if self.rule != "mean":
            log_odds = np.tensordot(self._view_weights, self._log_odds(proba), 1)
            return np.asarray(softmax(np.log(self._frequencies) + log_odds, axis=1))
        usable = self._usable_views(X)
        total = usable.sum(axis=0)
        mean = (proba * usable).sum(axis=0) / np.maximum(total, 1)
        return np.where(total > 0, mean, self._frequencies)

    def contributions(self, X: Any) -> Array:
        """What each view adds to each sample's decision, rows x views x classes.

        With ``"mean"``: its part of the probabilities, less its part of the frequencies; together with
        these they sum to the probabilities.  With the other rules: its part of the log-odds.  Zero where it
        is absent.
        """
        return self._predict_view_parts(X, self._decompose_rows)

    def _decompose_rows(self, X: Any) -> Array:
        proba = self._view_proba(X)
        if self.rule == "mean":
            usable = self._usable_views(X)
            parts = usable * (proba - self._frequencies) / np.maximum(usable.sum(axis=0), 1)
        else:
            parts = self._view_weights[:, None, None] * self._log_odds(proba)
        return np.asarray(parts.transpose(1, 0, 2))


_RIDGE = 1e-2  # on the offsets of the classes, and relative on regressions of log-odds


@serializable
class StackingModel(NamedTuple):
    """One weight per view, one offset per class."""

    weights: Array
    offsets: Array

    @classmethod
    def fit(cls, L: Array, y: Array, weight: Array, penalty: float, nonnegative: bool) -> Any:
        """By least log-loss of `L`, views x samples x classes."""
        V, _, k = L.shape
        start, truth = np.full(V, 1 / V), np.eye(k)[y]
        share = weight / weight.sum()

        def objective(parameters: Array) -> tuple[float, Array]:
            w, b = parameters[:V], parameters[V:]
            probabilities = softmax(b + np.tensordot(w, L, 1), axis=1)
            off = (probabilities - truth) * share[:, None]
            value = -float(share @ np.log(np.maximum((probabilities * truth).sum(axis=1), 1e-300)))
            away = w - start
            slopes = np.tensordot(L, off, 2) + penalty * away
            return value + penalty / 2 * away @ away + _RIDGE / 2 * b @ b, np.r_[
                slopes, off.sum(axis=0) + _RIDGE * b
            ]

        bounds = [(0.0 if nonnegative else None, None)] * V + [(None, None)] * k
        result = minimize(
            objective,
            np.r_[start, np.zeros(k)],
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0, "gtol": 1e-9, "maxiter": 500},
        )
        return cls(result.x[:V], result.x[V:])

    def predict_proba(self, L: Array) -> Array:
        return np.asarray(softmax(self.offsets + np.tensordot(self.weights, L, 1), axis=1))


@serializable
class LogOddsImputer(NamedTuple):
    """Log-odds of one view, class by class, from those of the others: ridge regression through zero."""

    slopes: Array  # views x views: how much of each other view's log-odds

    @classmethod
    def learn(cls, L: Array, has: Array) -> Any:
        """From samples that have the view; absent others count as zero."""
        V = len(L)
        slopes = np.zeros((V, V))
        for v in range(V):
            others = np.array([u for u in range(V) if u != v], dtype=int)
            A = L[others][:, has[v]].reshape(len(others), -1)
            if A.size:
                gram = A @ A.T
                gram[np.diag_indices_from(gram)] += _RIDGE * max(float(np.trace(gram)), 1e-300) / len(gram)
                slopes[v, others] = np.linalg.solve(gram, A @ L[v, has[v]].ravel())
        return cls(slopes)

    def fill(self, L: Array, has: Array) -> Array:
        """`L` where a sample has the view, what the others lead one to expect elsewhere."""
        return np.where(has[:, :, None], L, np.tensordot(self.slopes, L, 1))


@estimator
class ViewStacking(PerViewClassifier):
    """Classifiers of the views, and a model that learns how to combine their log-odds.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    estimator : classifier or None
        Of the views, as in :class:`LateFusion`.
    final : classifier or None
        Learns from the views' log-odds side by side, views x classes columns; None: one weight per view
        and one offset per class.
    absent : {"zero", "impute"}, default "zero"
        What absent views contribute: nothing, or what the log-odds of the others lead one to expect.
    nonnegative : bool, default True
        No negative weights.  Only without `final`.
    penalty : float, default 0.1
        How strongly weights are drawn to equal ones.  Only without `final`.
    kernel, class_weight
        As in :class:`LateFusion`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        Of the views.  Only without `final`.
    classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import ViewStacking, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> ViewStacking().fit(views, y < 5).weights_.shape
    (2,)
    """

    estimator: Any = None
    _: KW_ONLY
    final: Any = None
    absent: Literal["zero", "impute"] = "zero"
    nonnegative: bool = True
    penalty: NonNegative = 0.1
    kernel: Any = "rbf"
    class_weight: Any = None

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._learn_views(X, y, weight)
        L, has = self._log_odds(self._held_out_proba(X, y, weight)), X.observed.T
        self._imputer = LogOddsImputer.learn(L, has) if self.absent == "impute" else None
        L = self._fill(L, has)
        self._final = (
            StackingModel.fit(L, y, weight, self.penalty, self.nonnegative)
            if self.final is None
            else clone(self.final).fit(_as_table(L), y, sample_weight=weight)
        )

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        if self.final is None:
            self.weights_ = self._reorder_views(self._final.weights, X.names)

    def _fill(self, L: Array, has: Array) -> Array:
        return L if self._imputer is None else self._imputer.fill(L, has)

    def _filled_log_odds(self, X: Any) -> Array:
        return self._fill(self._log_odds(self._view_proba(X)), X.observed.T)

    def _predict_proba_rows(self, X: Any) -> Array:
        L = self._filled_log_odds(X)
        return np.asarray(self._final.predict_proba(L if self.final is None else _as_table(L)))

    def contributions(self, X: Any) -> Array:
        """What each view adds to the log-odds of each sample's classes, rows x views x classes.

        Only without `final`.  Views that are absent add what was imputed, or zero.
        """
        self._check_rows(X)
        if self.final is not None:
            raise ValueError("only the default second model has contributions of views; give final=None")
        return self._predict_view_parts(X, self._decompose_rows)

    def _decompose_rows(self, X: Any) -> Array:
        L = self._filled_log_odds(X)
        return np.asarray((self._final.weights[:, None, None] * L).transpose(1, 0, 2))


def _as_table(L: Array) -> Array:
    """Log-odds of views x samples x classes as a table of samples."""
    return np.ascontiguousarray(L.transpose(1, 0, 2).reshape(L.shape[1], -1))
