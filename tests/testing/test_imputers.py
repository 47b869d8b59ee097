"""The invariants of imputers can fail, and say which."""

import numpy as np
import pytest
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from absentia.methods.base import Estimator, estimator
from absentia.testing import check_imputer


@estimator
class MeanImputer(TransformerMixin, Estimator):
    """Missing entries at the columns' means, shrunk towards zero: an imputer of a few lines.

    Parameters
    ----------
    shrinkage : float, default 0.0
        How far, between 0 and 1.
    """

    shrinkage: float = 0.0

    scale_equivariant = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None):
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        empty = np.isnan(X).all(axis=0)
        if empty.any():
            raise ValueError(f"X: column {empty.argmax()} is unknown for every sample; drop it")
        self.mean_ = (1 - self.shrinkage) * np.nanmean(X, axis=0)
        return self

    def transform(self, X):
        check_is_fitted(self, "mean_")
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        return np.where(np.isnan(X), self.mean_, X)


def test_an_imputer_of_a_few_lines_has_all_invariants():
    check_imputer(MeanImputer())
    check_imputer(MeanImputer(0.5))


@estimator
class SpoiledImputer(MeanImputer):
    """One that fails a check of choice.

    Parameters
    ----------
    shrinkage : float
        As in :class:`MeanImputer`.
    how : str
        Which check.
    """

    how: str = ""

    def fit(self, X, y=None):
        if self.how == "empty":
            X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        if self.how == "input":
            X[np.isnan(X)] = 0.0
        super().fit(X)
        if self.how == "alias":
            self._training = X
        if self.how == "random":
            self.mean_ = self.mean_ * np.random.get_state()[1][0]  # noqa: NPY002
        if self.how == "twice":
            self.mean_ = self.mean_ + hasattr(self, "fitted_")
            self.fitted_ = True
        return self

    def fit_transform(self, X, y=None, **fit_params):
        completed = self.fit(X).transform(X)
        return completed + np.isnan(X) * self.mean_ if self.how == "both ways" else completed

    def transform(self, X):
        completed = super().transform(X)
        gaps = np.isnan(X)
        if self.how == "observed":
            return completed * (1 + 1e-12)
        if self.how == "nan":
            return np.where(gaps.all(axis=1, keepdims=True), np.nan, completed)
        if self.how == "order":
            return completed + gaps * np.arange(len(completed))[:, None]
        if self.how == "scale":
            return completed + gaps
        if self.how == "new" and len(completed) < 36:
            return completed[:, ::-1]
        if self.how == "alias":
            return np.where(gaps, np.nanmax(self._training, axis=0), completed)
        return completed


BROKEN = {
    "observed": "observed entries stay and missing ones are filled: .*not equal",
    "nan": "observed entries stay and missing ones are filled: entries are not finite",
    "new": "new rows keep their entries and are filled",
    "both ways": "fit then transform equals fit transform",
    "order": "permuting rows and columns permutes the result",
    "scale": "scaling columns scales the result",
    "input": "inputs are not changed",
    "alias": "results are not changed with the input",
    "random": "the global random state is neither read nor moved",
    "twice": "fitting twice is fitting once",
    "empty": "a column without observed entries is refused by its number: nothing was refused",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_check_that_fails_is_named(how):
    with pytest.raises(AssertionError, match=f"(?s)SpoiledImputer fails a check, {BROKEN[how]}"):
        check_imputer(SpoiledImputer(how=how))


def test_invariants_that_are_not_meant_can_be_left_out():
    order, scale = "permuting_rows_and_columns_permutes_the_result", "scaling_columns_scales_the_result"
    check_imputer(SpoiledImputer(how="order"), without=[order, scale])
    check_imputer(SpoiledImputer(how="scale"), without=[scale])
    with pytest.raises(ValueError, match="there is no check 'gravity'"):
        check_imputer(MeanImputer(), without=["gravity"])
