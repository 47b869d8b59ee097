"""Checks of regressors and of survival models, beside those of all learners (``_learners``)."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from absentia.data.survival import concordance_index
from absentia.testing._tools import N, data, problem, refused, register

_NUMBERS = np.arange(N) / 2
_BAD_TARGETS = {
    "nan": (np.where(np.arange(N) == 3, np.nan, _NUMBERS), r"1 target\(s\) are NaN or None, e.g. of 3;"),
    "infinite": (np.where(np.arange(N) == 3, np.inf, _NUMBERS), "one finite target for each"),
    "complex": (_NUMBERS + 1j, "targets are complex numbers"),
    "two columns": (np.column_stack([_NUMBERS] * 2), r"1d array|shape"),
    "too few": (_NUMBERS[1:], f"{N - 1} targets came for {N}"),
}


@register("regressor")
def targets_that_are_none_are_refused(regressor: Any) -> None:
    X, _ = data(regressor)
    assert is_regressor(regressor)
    for y, sentence in _BAD_TARGETS.values():
        with refused(ValueError, sentence):
            clone(regressor).fit(X, y)


@register("regressor")
def without_any_view_there_is_the_mean_target(regressor: Any) -> None:
    X, y = problem(regressor)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    for weight in (None, 1.0 + y):
        fitted = clone(regressor).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(fitted.predict(nothing), np.average(y, weights=weight))
        assert fitted.unusable(nothing).all()


@register("regressor")
def targets_shifted_and_scaled_shift_and_scale_the_mean(regressor: Any) -> None:
    """Of samples without a view; targets are numbers, not codes."""
    X, y = problem(regressor)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    fitted = regressor.fit(X, 10 - 3 * y)
    np.testing.assert_allclose(fitted.predict(nothing), 10 - 3 * y.mean())


@register("regressor")
def the_score_is_the_explained_variance_in_the_order_of_the_samples(regressor: Any) -> None:
    X, y = problem(regressor)
    fitted = regressor.fit(X, y)
    explained = 1 - ((y - fitted.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(fitted.score(X, y), explained)
    with refused(ValueError, "targets came for"):
        fitted.score(X, y[1:])


# --------------------------------------------------------------------------------------- survival models


@register("survival")
def times_and_events_that_are_none_are_refused(model: Any) -> None:
    X, y = problem(model)
    for column, value in ((0, np.nan), (0, -1.0)):
        bad = y.copy()
        bad[3, column] = value
        with refused(ValueError, "3"):
            clone(model).fit(X, bad)
    with refused(ValueError, f"{N}"):
        clone(model).fit(X, y[1:])
    with refused(ValueError, "event"):
        clone(model).fit(X, np.column_stack([y[:, 0], np.zeros(N)]))


@register("survival")
def without_any_view_the_risk_is_the_mean(model: Any) -> None:
    X, y = problem(model)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    fitted = model.fit(X, y)
    np.testing.assert_array_equal(fitted.predict(nothing), np.zeros(N))
    assert fitted.unusable(nothing).all()


@register("survival")
def survival_falls_with_time_and_with_risk(model: Any) -> None:
    X, y = problem(model)
    fitted = model.fit(X, y)
    np.testing.assert_array_equal(fitted.event_times_, np.unique(y[y[:, 1] > 0, 0]))
    survival = fitted.predict_survival_function(X)
    assert survival.shape == (N, len(fitted.event_times_))
    assert ((survival >= 0) & (survival <= 1)).all()
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    by_risk = survival[np.argsort(fitted.predict(X))]
    assert (np.diff(by_risk, axis=0) <= 1e-12).all()
    np.testing.assert_array_equal(fitted.predict_survival_function(X, [0.0]), np.ones((N, 1)))
    with refused(ValueError, "times must be"):
        fitted.predict_survival_function(X, [np.nan])


@register("survival")
def the_score_is_the_concordance_of_the_risks(model: Any) -> None:
    X, y = problem(model)
    fitted = model.fit(X, y)
    concordance = concordance_index(y[:, 0], y[:, 1] > 0, fitted.predict(X))
    np.testing.assert_allclose(fitted.score(X, y), concordance)
