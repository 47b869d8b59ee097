"""Checks of classifiers, regressors and survival models together, then of the latter two alone.

Each check is a function of an unfitted estimator that raises if the estimator fails it; the function's name
says what must hold.  Data are digits in six views, made inside; pytest is not needed.
"""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

from absentia import AbsenceWarning, ViewKernels, Views, datasets, missingness, models
from absentia.data.survival import concordance_index
from absentia.methods.base import get_parameters
from absentia.testing._tools import (
    N,
    answers,
    assert_close,
    data,
    digits,
    exact,
    hide_all,
    problem,
    refused,
    register,
    scores,
    select_samples,
    takes_kernels,
    targets,
    task_of,
    warned,
    without_ids,
)

# -------------------------------------------------------------------------------- what must not matter


@register("learner")
def _permuting_samples_permutes_the_answers(estimator: Any) -> None:
    """Fitting does not depend on the order of samples, at the default `tol` and with or without ids."""
    X, digit = data(estimator)
    order = np.random.default_rng(0).permutation(N)
    three_classes = [digit % 3] if task_of(estimator) == "classes" else []
    for y in (targets(estimator, digit), *three_classes):
        fitted = clone(estimator).fit(X, y)
        permuted = select_samples(X, order)
        for X_permuted in (permuted, without_ids(permuted)):
            refitted = clone(estimator).fit(X_permuted, y[order])
            assert_close(answers(refitted, X_permuted), answers(fitted, X)[order], 1e-9)
            np.testing.assert_array_equal(refitted.unusable(X_permuted), fitted.unusable(X)[order])
            if isinstance(getattr(fitted, "weights_", None), np.ndarray):
                assert_close(refitted.weights_, fitted.weights_, 1e-9)


@register("learner")
def _reordering_views_changes_no_answer(estimator: Any) -> None:
    X, y = problem(estimator)
    order = [3, 0, 5, 1, 4, 2]
    X_reordered = X.select([X.names[v] for v in order])
    fitted, refitted = clone(estimator).fit(X, y), clone(estimator).fit(X_reordered, y)
    assert_close(answers(refitted, X_reordered), answers(fitted, X), 1e-9)
    if isinstance(getattr(fitted, "weights_", None), np.ndarray):
        assert_close(refitted.weights_, fitted.weights_[order], 1e-9)


@register("learner")
def _threads_change_no_answer(estimator: Any) -> None:
    """BLAS adds up in another order with two threads, once matrices are large enough for it to use them."""
    X, y = problem(estimator, 240)
    by_threads = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            by_threads.append(answers(clone(estimator).fit(X, y), X))
    assert_close(by_threads[1], by_threads[0], 1e-6)


@register("learner")
def _inputs_are_left_as_they_were(estimator: Any) -> None:
    X, y = problem(estimator)
    before, y_before = pickle.dumps(X), y.copy()
    estimator.fit(X, y).predict(X)
    assert pickle.dumps(X) == before
    np.testing.assert_array_equal(y, y_before)


@register("learner")
def _repeating_a_fit_repeats_it_to_the_bit(estimator: Any) -> None:
    X, y = problem(estimator)
    first = scores(clone(estimator).fit(X, y), X)
    np.testing.assert_array_equal(first, scores(clone(estimator).fit(X, y), X))


# ------------------------------------------------------------------------------ scikit-learn's contract


def _parameters_as_text(estimator: Any) -> dict[str, str]:
    """The repr of each parameter, to compare: equal estimators among them do not compare equal."""
    return {name: repr(value) for name, value in estimator.get_params().items()}


@register("learner")
def _clones_and_parameters_round_trip(estimator: Any) -> None:
    X, y = problem(estimator)
    parameters = _parameters_as_text(estimator)
    assert _parameters_as_text(clone(estimator)) == parameters
    copy = type(estimator)().set_params(**estimator.get_params(deep=False))
    assert _parameters_as_text(copy) == parameters
    fitted = estimator.fit(X, y)
    assert fitted is estimator
    assert _parameters_as_text(estimator) == parameters


@register("learner")
def _saved_models_answer_as_before(estimator: Any) -> None:
    """To the bit, from ``state()``, a pickle, a file; classifiers with probabilities, if they have them."""
    X, y = problem(estimator)
    if "probability" in estimator.get_params():
        estimator.set_params(probability=True)
    fitted = estimator.fit(X, np.where(y, "few", "many") if task_of(estimator) == "classes" else y)
    with tempfile.TemporaryDirectory() as folder:
        loaded = models.load(models.save(fitted, Path(folder) / "c.npz"))
    unpickled = pickle.loads(pickle.dumps(fitted))
    for restored in (type(estimator).from_state(fitted.state()), unpickled, loaded):
        assert type(restored) is type(fitted)
        assert _parameters_as_text(restored) == _parameters_as_text(fitted)
        np.testing.assert_array_equal(answers(restored, X), answers(fitted, X))
        np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(restored.unusable(X), fitted.unusable(X))


@register("learner")
def _names_ids_and_number_of_features_are_fitted_attributes(estimator: Any) -> None:
    X, y = problem(estimator)
    estimator.fit(X, y)
    assert estimator.names_in_ == X.names
    np.testing.assert_array_equal(estimator.ids_, X.ids)
    n_features = N if takes_kernels(estimator) else sum(X.block(name).shape[1] for name in X.names)
    assert estimator.n_features_in_ == n_features


#: By task, the score that guessing does not reach: accuracy, R^2, concordance.
_BETTER_THAN_GUESSING = {"classes": 0.6, "numbers": 0.0, "survival": 0.55}


@register("learner")
def _a_pipeline_on_views_is_better_than_guessing(estimator: Any) -> None:
    views, digit = digits()
    steps = [("kernels", ViewKernels())] if takes_kernels(estimator) else []
    pipeline = Pipeline([*steps, ("estimator", estimator)])
    values = cross_val_score(pipeline, views, targets(estimator, digit), cv=3, error_score="raise")
    assert values.mean() > _BETTER_THAN_GUESSING[task_of(estimator)]


@register("learner")
def _methods_raise_before_fit(estimator: Any) -> None:
    X, _ = data(estimator)
    for method in ("predict", "decision_function", "predict_survival_function", "unusable"):
        if hasattr(estimator, method):
            with refused(NotFittedError, "not fitted"):
                getattr(estimator, method)(X)


@register("learner")
def _predictions_of_no_rows_are_empty(estimator: Any) -> None:
    X, y = problem(estimator)
    fitted = clone(estimator).fit(X, y)
    rows = select_samples(X, np.zeros(0, int), np.arange(N))
    assert scores(fitted, rows).shape == fitted.predict(rows).shape == fitted.unusable(rows).shape == (0,)


# ----------------------------------------------------------------------------------------------- weights


@register("weighted")
def _sample_weights_that_make_no_sense_are_refused(estimator: Any) -> None:
    X, y = problem(estimator)
    ones = np.ones(N)
    for weight in (-ones, ones[1:], 0 * ones, np.nan * ones, np.inf * ones, ones[:, None]):
        with refused(ValueError, "sample_weight must be"):
            clone(estimator).fit(X, y, sample_weight=weight)


@register("weighted")
def _weights_of_one_are_no_weights_and_the_second_fit_forgets_the_first(estimator: Any) -> None:
    X, y = problem(estimator)
    plain = scores(clone(estimator).fit(X, y), X)
    weighted = clone(estimator).fit(X, y, sample_weight=np.ones(N))
    np.testing.assert_array_equal(scores(weighted, X), plain)
    weighted.fit(X, data(estimator)[1] % 3)
    np.testing.assert_array_equal(scores(weighted.fit(X, y), X), plain)


@register("weighted")
def _a_sample_of_weight_zero_might_as_well_not_be_there(estimator: Any) -> None:
    """Even where no other sample has its class."""
    X, digit = data(estimator)
    keep = np.arange(N) >= 15
    y = np.where(keep, digit < 5 if task_of(estimator) == "classes" else digit, 20)
    index = np.flatnonzero(keep)
    weighted = exact(estimator).fit(X, y, sample_weight=keep.astype(float))
    without = exact(estimator).fit(select_samples(X, index), y[index])
    rows = select_samples(X, index, np.arange(N))
    assert_close(scores(weighted, rows), scores(without, select_samples(X, index)), 5e-3)


# ----------------------------------------------------------------------------------------------- absence


@register("learner")
def _a_sample_without_any_view_is_named_flagged_and_changes_nothing(estimator: Any) -> None:
    views, digit = digits()
    keep = np.ones(views.observed.shape, bool)
    keep[[0, 7]] = False
    X: Any = views.hide(keep)
    if takes_kernels(estimator):
        with warned(AbsenceWarning, "no view at all"):
            X = ViewKernels().fit_transform(X)
    y = np.where(digit < 4, "few", "many") if task_of(estimator) == "classes" else targets(estimator, digit)
    fitted = exact(estimator)
    with warned(AbsenceWarning, r"2 sample\(s\) without any view, e.g. 0, take no part"):
        fitted.fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(fitted.unusable(X)), [0, 7])
    assert np.isfinite(scores(fitted, X)).all()
    rest = np.setdiff1d(np.arange(N), [0, 7])
    without = exact(estimator).fit(select_samples(X, rest), y[rest])
    assert_close(scores(fitted, X)[rest], scores(without, select_samples(X, rest)), 5e-3)


@register("learner")
def _what_is_absent_is_never_read(estimator: Any) -> None:
    """Values that are replaced by nonsense before they are hidden, in training and test, change no bit."""
    views, digit = datasets.load_digit_views(n_samples=N, return_X_y=True)
    keep = missingness.fixed_per_sample(views, 3, random_state=0)
    tables = zip(views.to_dict().items(), keep.T, strict=True)
    nonsense = {name: np.where(seen[:, None], table, 1e6) for (name, table), seen in tables}
    y = targets(estimator, digit)
    by_source = []
    for source in (views, Views.from_dict(nonsense)):
        hidden = source.hide(keep)
        train: Any = hidden[:40]
        test: Any = hidden[40:]
        if takes_kernels(estimator):
            kernels = ViewKernels()
            train, test = kernels.fit_transform(train), kernels.transform(test)
        by_source.append(scores(clone(estimator).fit(train, y[:40]), test))
    np.testing.assert_array_equal(by_source[1], by_source[0])


@register("learner")
def _a_view_that_nobody_has_changes_nothing(estimator: Any) -> None:
    views, digit = digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:, 5] = False
    assert (views.observed & keep).any(axis=1).all()
    hidden: Any = views.hide(keep)
    without: Any = views.select(views.names[:5])
    if takes_kernels(estimator):
        with warned(AbsenceWarning, "view"):
            hidden = ViewKernels().fit_transform(hidden)
        without = ViewKernels().fit_transform(without)
    y = targets(estimator, digit)
    actual = scores(exact(estimator).fit(hidden, y), hidden)
    assert_close(actual, scores(exact(estimator).fit(without, y), without), 2e-3)


@register("learner")
def _rows_to_predict_may_lack_views_that_training_had(estimator: Any) -> None:
    X, y = problem(estimator)
    train, test = np.arange(0, N, 2), np.arange(1, N, 2)
    fitted = estimator.fit(select_samples(X, train), y[train])
    rows = select_samples(X, test, train)
    keep = np.ones((N // 2, 6), bool)
    keep[:, :2] = False
    keep[0] = False
    hidden = rows.hide(keep)
    assert np.isfinite(scores(fitted, hidden)).all()
    assert fitted.unusable(hidden)[0]
    unchanged = ~(rows.observed & ~keep).any(axis=1)
    expected = scores(fitted, rows)[unchanged]
    np.testing.assert_allclose(scores(fitted, hidden)[unchanged], expected, atol=1e-12)


# --------------------------------------------------------------------------------------------- bad input


@register("learner")
def _parameters_that_make_no_sense_are_refused_by_name(estimator: Any) -> None:
    X, y = problem(estimator)
    for name, parameter in get_parameters(estimator).items():
        if "anything" not in parameter.wanted:
            with refused(ValueError, f"^{type(estimator).__name__}: {name} must be .*, not <object"):
                clone(estimator).set_params(**{name: object()}).fit(X, y)
    for name in {"C", "tol"} & set(estimator.get_params()):
        with refused(ValueError, f"{name} must be a number above 0( or '\\w+')?, not -1.0"):
            clone(estimator).set_params(**{name: -1.0}).fit(X, y)


@register("learner")
def _arrays_and_empty_data_are_refused(estimator: Any) -> None:
    X, y = problem(estimator)
    with refused(TypeError, r"Views are wanted, not ndarray"):
        estimator.fit(np.eye(3), y[:3])
    with refused(ValueError, "no sample to learn from"):
        estimator.fit(select_samples(X, np.zeros(0, int)), y[:0])
    with refused(TypeError, r"Views are wanted, not ndarray"):
        estimator.fit(X, y).predict(np.eye(N))


@register("learner")
def _rows_that_do_not_go_with_training_are_refused(estimator: Any) -> None:
    X, y = problem(estimator)
    fitted = estimator.fit(X, y)
    if takes_kernels(estimator):
        few = np.arange(10)
        with refused(ValueError, f"columns must be the {N} training samples"):
            fitted.predict(X[np.ix_(few, few)])
        with refused(ValueError, "columns must be"):
            fitted.predict(X[np.ix_(few, np.arange(N)[::-1])])
        X_unknown = X.select(X.names[1:])
    else:  # of features, views that are left out may count as absent
        X_unknown = X.rename({name: f"other {name}" for name in X.names})
    with refused(ValueError, "were there in training"):
        fitted.predict(X_unknown)


# ------------------------------------------------------------------------------------------- regressors

_NUMBERS = np.arange(N) / 2
_BAD_TARGETS = (
    (np.where(np.arange(N) == 3, np.nan, _NUMBERS), r"1 target\(s\) are NaN or None, e.g. of 3;"),
    (np.where(np.arange(N) == 3, np.inf, _NUMBERS), "one finite target for each"),
    (_NUMBERS + 1j, "targets are complex numbers"),
    (np.column_stack([_NUMBERS] * 2), r"1d array|shape"),
    (_NUMBERS[1:], f"{N - 1} targets came for {N}"),
)


@register("regressor")
def _invalid_targets_are_refused(regressor: Any) -> None:
    X, _ = data(regressor)
    assert is_regressor(regressor)
    for y, sentence in _BAD_TARGETS:
        with refused(ValueError, sentence):
            clone(regressor).fit(X, y)


@register("regressor")
def _without_any_view_there_is_the_mean_target(regressor: Any) -> None:
    X, y = problem(regressor)
    nothing = hide_all(X)
    for weight in (None, 1.0 + y):
        fitted = clone(regressor).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(fitted.predict(nothing), np.average(y, weights=weight))
        assert fitted.unusable(nothing).all()


@register("regressor")
def _the_score_is_the_explained_variance_in_the_order_of_the_samples(regressor: Any) -> None:
    X, y = problem(regressor)
    fitted = regressor.fit(X, y)
    explained = 1 - ((y - fitted.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(fitted.score(X, y), explained)
    with refused(ValueError, "targets came for"):
        fitted.score(X, y[1:])


# --------------------------------------------------------------------------------------- survival models


@register("survival")
def _invalid_times_and_events_are_refused(model: Any) -> None:
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
def _without_any_view_the_risk_is_the_mean(model: Any) -> None:
    X, y = problem(model)
    nothing = hide_all(X)
    fitted = model.fit(X, y)
    np.testing.assert_array_equal(fitted.predict(nothing), np.zeros(N))
    assert fitted.unusable(nothing).all()


@register("survival")
def _survival_falls_with_time_and_with_risk(model: Any) -> None:
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
def _the_score_is_the_concordance_of_the_risks(model: Any) -> None:
    X, y = problem(model)
    fitted = model.fit(X, y)
    concordance = concordance_index(y[:, 0], y[:, 1] > 0, fitted.predict(X))
    np.testing.assert_allclose(fitted.score(X, y), concordance)
