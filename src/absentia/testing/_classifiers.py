"""Checks of classifiers, beside those of all learners (``_learners``): labels, probabilities, machines."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from absentia.testing._tools import (
    N,
    assert_close,
    data,
    exact,
    hide_all,
    refused,
    register,
    select_samples,
)

# ----------------------------------------------------------------------------------------------- decisions


@register("classifier")
def _the_decision_is_the_largest_weighted_probability(classifier: Any) -> None:
    """Where a view is usable; of classifiers without probabilities, the largest score."""
    X, y = data(classifier)
    if "probability" in classifier.get_params():
        classifier.set_params(probability=True)
    a, b = np.arange(0, N, 2), np.arange(1, N, 2)
    new = select_samples(X, b, a)
    some_empty = new.hide(np.tile(np.arange(len(b))[:, None] % 5 > 0, 6))
    for labels in (y < 4, y % 3):
        fitted = clone(classifier).fit(select_samples(X, a), labels[a])
        assert fitted.decision_.shape == fitted.classes_.shape
        for rows in (new, some_empty):
            if hasattr(fitted, "predict_proba"):
                weights = np.where(fitted.unusable(rows)[:, None], 1.0, fitted.decision_)
                best = (fitted.predict_proba(rows) * weights).argmax(axis=1)
            else:
                scores = fitted.decision_function(rows)
                best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            np.testing.assert_array_equal(fitted.predict(rows), fitted.classes_[best])


@register("classifier")
def _renaming_classes_permutes_scores_and_probabilities(classifier: Any) -> None:
    """To 1e-8, at its own tolerance: no fold, start or sign hangs on what classes are called."""
    X, y = data(classifier)
    if "probability" in classifier.get_params():
        classifier.set_params(probability=True)
    for codes, names in ((y < 5).astype(int), ["yes", "no"]), (y % 3, ["c", "a", "b"]):
        by_number = clone(classifier).fit(X, codes)
        by_name = clone(classifier).fit(X, np.array(names)[codes])
        assert by_name.classes_.tolist() == sorted(names)
        place = np.searchsorted(by_name.classes_, names)  # of each number among the names
        np.testing.assert_array_equal(by_name.predict(X), np.array(names)[by_number.predict(X)])
        actual, desired = by_name.decision_function(X), by_number.decision_function(X)
        assert_close(-actual if len(names) == 2 else actual[:, place], desired, 1e-8)
        if hasattr(classifier, "predict_proba"):
            assert_close(by_name.predict_proba(X)[:, place], by_number.predict_proba(X), 1e-8)


@register("classifier")
def _a_search_over_c(classifier: Any) -> None:
    if "C" not in classifier.get_params():
        return
    X, y = data(classifier)
    search = GridSearchCV(classifier, {"C": [0.03, 3.0]}, cv=3, error_score="raise").fit(X, y < 5)
    assert search.best_score_ > 0.55  # guessing: 0.5
    assert search.predict(X).shape == (N,)


@register("classifier")
def _classes_are_said(classifier: Any) -> None:
    X, y = data(classifier)
    assert is_classifier(classifier)
    assert classifier.fit(X, y < 5).classes_.tolist() == [False, True]
    fitted = classifier.fit(X, y % 3)
    assert fitted.decision_function(select_samples(X, np.zeros(0, int), np.arange(N))).shape == (0, 3)


# -------------------------------------------------------------------------------------- labels and weights


_BAD_LABELS = (
    (np.full(N, np.nan), r"60 label\(s\) are NaN or None, e.g. of"),
    (np.where(np.arange(N) == 3, np.nan, np.arange(N) % 2.0), r"1 label\(s\) are NaN or None, e.g. of 3;"),
    (np.arange(N) % 2 + 1j, "labels are complex numbers"),
    (np.linspace(0, 1, N), r"continuous|label type"),
    (np.column_stack([np.arange(N) % 2] * 2), r"1d array|shape"),
    (np.arange(N - 1) % 2, f"{N - 1} labels came for {N}"),
    (np.ones(N, int), r"class\(es\) \[1.*two classes or more"),
)


@register("classifier")
def _labels_that_are_none_are_refused(classifier: Any) -> None:
    X, _ = data(classifier)
    for labels, sentence in _BAD_LABELS:
        with refused(ValueError, sentence):
            clone(classifier).fit(X, labels)


_LABELS: dict[Any, list[Any]] = {
    str: ["no", "yes"],
    bool: [False, True],
    float: [0.0, 1.0],
    object: ["a", "b"],
    np.int8: [3, 7],
}


@register("classifier")
def _labels_of_any_kind_come_back(classifier: Any) -> None:
    X, y = data(classifier)
    for kind, names in _LABELS.items():
        labels = np.array(names, dtype=kind)[(y < 5).astype(int)]
        fitted = clone(classifier).fit(X, labels)
        assert fitted.classes_.tolist() == names
        predicted = fitted.predict(X)
        assert set(predicted.tolist()) <= set(names)
        assert predicted.dtype == labels.dtype
        as_list = clone(classifier).fit(X, labels.tolist()).predict(X)
        np.testing.assert_array_equal(as_list, predicted)


@register("classifier")
def _a_class_of_weight_zero_is_none(classifier: Any) -> None:
    X, y = data(classifier)
    keep = np.arange(N) >= 15
    labels = np.where(keep, np.where(y < 5, 1, 0), 7)
    assert classifier.fit(X, labels, sample_weight=keep.astype(float)).classes_.tolist() == [0, 1]


@register("classifier")
def _weights_of_classes_are_weights_of_their_samples(classifier: Any) -> None:
    """But for the prior, which is how frequent the classes are, not how much their errors cost."""
    if "class_weight" not in classifier.get_params():
        return
    X, y = data(classifier)
    low = y < 4
    by_class = exact(classifier).set_params(class_weight={True: 2.0, False: 1.0}).fit(X, low)
    by_sample = exact(classifier).fit(X, low, sample_weight=np.where(low, 2.0, 1.0))
    rows = (by_class._coverage(X) >= 0.01).all(axis=1)
    assert rows.sum() > N / 2
    assert_close(by_class.decision_function(X)[rows], by_sample.decision_function(X)[rows], 1e-6)
    nothing = hide_all(X)
    np.testing.assert_allclose(by_class.decision_function(nothing), 2 * low.mean() - 1)


@register("classifier")
def _a_class_without_a_view_is_refused(classifier: Any) -> None:
    X, y = data(classifier)
    with refused(ValueError, r"the class\(es\) \[0, 1\] of \[0, 1, 2\]; .* each with a view somewhere"):
        classifier.fit(X.hide(np.repeat(y[:, None] != 3, 6, axis=1)), np.where(y == 3, 2, y % 2))


@register("classifier")
def _without_any_view_there_is_the_prior(classifier: Any) -> None:
    X, y = data(classifier)
    nothing = hide_all(X)
    for labels, weight in ((y < 4, None), (y % 3, None), (y % 3, 1.0 + y)):
        fitted = clone(classifier).fit(X, labels, sample_weight=weight)
        weight = np.ones(N) if weight is None else weight
        pi = np.array([weight[labels == k].sum() for k in fitted.classes_]) / weight.sum()
        wanted = 2 * pi - 1 if len(pi) > 2 else 2 * pi[1] - 1
        np.testing.assert_allclose(
            fitted.decision_function(nothing), np.broadcast_to(wanted, (N, *np.shape(wanted)))
        )
        assert fitted.unusable(nothing).all()
        assert (fitted.predict(nothing) == fitted.classes_[pi.argmax()]).all()


# ------------------------------------------------------------------------------------------ probabilities


@register("probabilities")
def _probabilities_are_probabilities_and_better_than_the_prior(classifier: Any) -> None:
    X, y = data(classifier, 200)
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)
    for labels in (y < 5, y % 3):
        machine = clone(classifier).set_params(probability=True)
        machine.fit(select_samples(X, train), labels[train])
        probabilities = machine.predict_proba(select_samples(X, test, train))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (probabilities >= 0).all()
        true = probabilities[np.arange(100), labels[test].astype(int)]
        prior = np.bincount(labels) / 200
        assert true.mean() > (prior**2).sum() + 0.05  # what the prior gives, on average


@register("probabilities")
def _calibration_changes_no_score(classifier: Any) -> None:
    X, y = data(classifier)
    plain = clone(classifier).set_params(probability=False).fit(X, y < 5)
    calibrated = clone(classifier).set_params(probability=True).fit(X, y < 5)
    np.testing.assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))


@register("probabilities")
def _without_any_view_probabilities_are_the_frequencies(classifier: Any) -> None:
    X, y = data(classifier)
    nothing = hide_all(X)
    fitted = classifier.set_params(probability=True).fit(X, y % 3)
    np.testing.assert_allclose(fitted.predict_proba(nothing), np.tile(np.bincount(y % 3) / N, (N, 1)))


@register("probabilities")
def _the_order_of_samples_changes_no_probability(classifier: Any) -> None:
    """Folds are cut by what the samples are; where rounding turns a branch, many fits may move a little."""
    X, y = data(classifier)
    order = np.random.default_rng(0).permutation(N)
    permuted = select_samples(X, order)
    machine = clone(classifier).set_params(probability=True)
    fitted, other = clone(machine).fit(X, y % 3), clone(machine).fit(permuted, y[order] % 3)
    np.testing.assert_allclose(other.predict_proba(permuted), fitted.predict_proba(X)[order], atol=1e-5)


@register("probabilities")
def _without_probability_there_is_no_predict_proba(classifier: Any) -> None:
    X, y = data(classifier)
    assert not hasattr(clone(classifier).set_params(probability=False).fit(X, y < 5), "predict_proba")
    with refused(NotFittedError, "not fitted"):
        clone(classifier).set_params(probability=True).predict_proba(X)
    again = clone(classifier).set_params(probability=True).fit(X, y < 5)
    again.set_params(probability=False).fit(X, y % 3)  # the probabilities of the first fit are gone
    with refused(NotFittedError, "was fitted without probability; fit it again"):
        again.set_params(probability=True).predict_proba(X)
    with refused(ValueError, "probability must be True or False, not 'platt'"):
        clone(classifier).set_params(probability="platt").fit(X, y < 5)


@register("probabilities")
def _probabilities_want_two_samples_of_every_class(classifier: Any) -> None:
    X, _ = data(classifier)
    with refused(ValueError, "at least two samples with a view of every class"):
        classifier.set_params(probability=True).fit(X, np.arange(N) == 3)


# ------------------------------------------------------------------------------------------- iterative


@register("iterative")
def _how_it_ended_is_said(classifier: Any) -> None:
    X, y = data(classifier)
    classifier.fit(X, y < 5)
    assert classifier.n_iter_ >= 1
    assert len(classifier.objective_) == classifier.n_iter_
    assert np.isfinite(classifier.objective_).all()
    assert isinstance(classifier.status_, str)
    assert classifier.converged_ == classifier.status_.startswith("converged")


@register("iterative")
def _a_callback_sees_every_step_and_can_stop(classifier: Any) -> None:
    if "callback" not in classifier.get_params():
        return
    X, y = data(classifier)
    seen: list[Any] = []
    fitted = clone(classifier).set_params(callback=seen.append).fit(X, y < 5)
    assert [progress.iteration for progress in seen] == list(range(1, fitted.n_iter_ + 1))
    np.testing.assert_array_equal([progress.objective for progress in seen], fitted.objective_)
    stopped = exact(classifier).set_params(callback=lambda progress: True).fit(X, y < 5)
    assert stopped.n_iter_ == 1
    assert "callback" in stopped.status_
    assert not stopped.converged_
