"""Features without what covariates explain of them: residuals of least squares, learned in training.

Where a site has its own scanner and its own share of the ill, a model may learn the scanner.  Every numeric
feature x of a view is regressed on the covariates c (numbers as they are, a column for each level of a
category), over the training samples that have it,

    x = a + b'(c - mean c) + residual,

and replaced by its residual; new samples are given theirs with the same a and b.  What is unknown of the
covariates counts as their mean over training, and so does a level that training did not have.  A feature
that has no more values than there are columns of covariates loses its mean alone.  Features that are
categories stay as they are, and so does what covariates explain otherwise than linearly, of spreads, or of
who lacks a view.
"""

from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, estimator, warn
from absentia.data import AbsenceWarning, Coding, ViewCoding, Views, input_error, replace_features


@estimator
class AdjustViews(TransformerMixin, Estimator):  # type: ignore[misc]
    """Views whose numeric features are residuals after regression on covariates.

    Parameters
    ----------
    covariates : str, default "covariates"
        The view that holds the covariates, numbers and categories.  It is taken away: as features, let it
        be a view under another name, too.

    Attributes
    ----------
    names_in_ : tuple of str
        The views of training, the covariates among them.
    coef_ : dict of str to ndarray of shape (1 + n_covariates, n_features)
        By view: intercepts, and what a covariate of one standard deviation adds to each feature; NaN for
        features that are categories.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AdjustViews, Views
    >>> age = np.array([[30.0], [40.0], [50.0], [60.0]])
    >>> views = Views.from_dict({"blood": 2 * age + [[1], [-1], [-1], [1]], "covariates": age})
    >>> AdjustViews().fit_transform(views).block("blood").ravel().round(6).tolist()
    [1.0, -1.0, -1.0, 1.0]
    """

    covariates: str = "covariates"

    set_output = Estimator._any_output

    def fit(self, X: Views, y: Any = None) -> Self:
        """Learn from `X` what the covariates explain of each feature."""
        self._check_parameters()
        self._check_views(X)
        self.names_in_, self._coding = X.names, Coding.learn(X)
        table = self._code_covariates(X)
        if np.isnan(table).all(axis=0).any():
            raise ValueError(
                f"view {self.covariates!r}: a covariate is unknown of all samples; leave it out"
            )
        self._center, scale = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        design = self._make_design(X)
        self.coef_ = {
            name: self._regress(X, name, design[X.observed[:, v]])
            for v, name in enumerate(X.names)
            if name != self.covariates
        }
        return self

    def transform(self, X: Views) -> Views:
        """The same samples with residuals, and without the covariates.

        Columns are found by name; those of the covariates have to be there.
        """
        check_is_fitted(self, "coef_")
        self._check_views(X)
        coding = self._coding.views[self.covariates]
        missing = coding.match(X.features(self.covariates), X.block(self.covariates).shape[1]).missing
        if missing:
            raise ValueError(
                f"view {self.covariates!r}: the covariate(s) {', '.join(map(repr, missing))} of training "
                "are not there; features cannot be adjusted without them"
            )
        for sentence in self._coding.differences(X):
            warn(sentence, AbsenceWarning)
        design = self._make_design(X)
        adjusted = X.select([name for name in X.names if name in self.coef_])
        for name in adjusted.names:
            has = X.observed[:, X.names.index(name)]
            adjusted = replace_features(adjusted, name, *self._find_residuals(X, name, design[has]))
        return adjusted

    def _check_views(self, X: Any) -> None:
        if not isinstance(X, Views):
            raise input_error("views", X, "AdjustViews")
        if self.covariates not in X.names or X.n_views < 2:
            raise ValueError(
                f"a view {self.covariates!r} with the covariates is wanted beside others; the views are "
                f"{list(X.names)}"
            )
        sparse = [name for name in X.names if scipy.sparse.issparse(X.block(name))]
        if sparse:
            raise ValueError(
                f"view {sparse[0]!r} is sparse, and residuals are not; give it as dense values"
            )

    def _code_covariates(self, X: Views) -> Array:
        """The covariates of all samples as numbers (n, columns), NaN where unknown."""
        coding = self._coding.views[self.covariates]
        values = np.asarray(coding(X)[0], dtype=np.float64)
        table = np.full((len(X), values.shape[1]), np.nan)
        table[X.observed[:, X.names.index(self.covariates)]] = values
        for levels in _find_categories(coding):
            table[np.ix_((table[:, levels] == 0).all(axis=1), levels)] = np.nan  # none of training
        return table

    def _make_design(self, X: Views) -> Array:
        """One and the covariates, of mean zero and deviation one in training, (n, 1 + columns)."""
        table = (self._code_covariates(X) - self._center) / self._scale
        return np.column_stack([np.ones(len(table)), np.nan_to_num(table)])

    def _regress(self, X: Views, name: str, design: Array) -> Array:
        """Coefficients (1 + columns, features) of a view; `design` is of the samples that have it."""
        if len(design) <= design.shape[1]:
            raise ValueError(
                f"view {name!r}: {len(design)} samples have it, of which {design.shape[1] - 1} columns of "
                "covariates explain anything; give fewer covariates, or leave the view out"
            )
        numeric, values = _select_numbers(self._coding.views[name], X)
        coef = np.full((design.shape[1], self._coding.views[name].width), np.nan)
        known = ~np.isnan(values)
        patterns, pattern = np.unique(known, axis=1, return_inverse=True)
        for k, rows in enumerate(patterns.T):
            own = np.flatnonzero(np.ravel(pattern) == k)
            used = design.shape[1] if rows.sum() > design.shape[1] else 1  # of too few values the mean
            found = np.linalg.lstsq(design[rows, :used], values[np.ix_(rows, own)], rcond=None)[0]
            coef[:, numeric[own]] = 0.0
            coef[:used, numeric[own]] = found
        return coef

    def _find_residuals(self, X: Views, name: str, design: Array) -> tuple[Array, Any, dict[str, Any]]:
        """The columns of training with residuals in the place of numbers, their names, and their levels."""
        coding, block = self._coding.views[name], X.block(name)
        places = coding.match(X.features(name), block.shape[1]).places
        table = np.where(places >= 0, block[:, places], np.nan).astype(np.float64)
        numeric, values = _select_numbers(coding, X)
        table[:, numeric] = values - design @ self.coef_[name][:, numeric]
        levels = {column: texts for column, texts in X.levels(name).items() if column in coding.levels}
        return table, coding.columns, levels


def _find_categories(coding: ViewCoding) -> list[Array]:
    """For each category of a view where its levels are among the coded features."""
    groups = coding.groups()
    if groups is None or coding.columns is None:
        return []
    return [
        np.flatnonzero(groups == j) for j, c in enumerate(coding.columns.tolist()) if c in coding.levels
    ]


def _select_numbers(coding: ViewCoding, X: Views) -> tuple[Array, Array]:
    """Which columns of training are numbers, and their values (samples that have the view, numbers)."""
    values = np.asarray(coding(X)[0], dtype=np.float64)
    coded = np.setdiff1d(np.arange(values.shape[1]), np.concatenate([*_find_categories(coding), []]))
    groups = coding.groups()
    return coded if groups is None else groups[coded], values[:, coded]
