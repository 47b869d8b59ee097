"""Laws of classifiers that have probabilities, of those that iterate, and of kernel machines."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia.testing._tools import N, assert_close, data, exact, law, refused, subset

# ------------------------------------------------------------------------------------------ probabilities


@law("probabilities")
def probabilities_are_probabilities_and_better_than_the_prior(classifier: Any) -> None:
    X, y = data(classifier, 200)
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)
    for labels in (y < 5, y % 3):
        machine = clone(classifier).set_params(probability=True)
        machine.fit(subset(X, train), labels[train])
        probabilities = machine.predict_proba(subset(X, test, train))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (probabilities >= 0).all()
        own, prior = probabilities[np.arange(100), labels[test].astype(int)], np.bincount(labels) / 200
        assert own.mean() > (prior**2).sum() + 0.05  # what the prior gives, on average


@law("probabilities")
def calibration_changes_no_score(classifier: Any) -> None:
    X, y = data(classifier)
    plain = clone(classifier).set_params(probability=False).fit(X, y < 5)
    calibrated = clone(classifier).set_params(probability=True).fit(X, y < 5)
    np.testing.assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))


@law("probabilities")
def without_any_view_probabilities_are_the_frequencies(classifier: Any) -> None:
    X, y = data(classifier)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    fitted = classifier.set_params(probability=True).fit(X, y % 3)
    np.testing.assert_allclose(fitted.predict_proba(nothing), np.tile(np.bincount(y % 3) / N, (N, 1)))


@law("probabilities")
def the_order_of_samples_changes_no_chance(classifier: Any) -> None:
    """Folds are cut by what the samples are; where rounding turns a branch, many fits may move a little."""
    X, y = data(classifier)
    order = np.random.default_rng(0).permutation(N)
    permuted = subset(X, order)
    machine = clone(classifier).set_params(probability=True)
    straight, other = clone(machine).fit(X, y % 3), clone(machine).fit(permuted, y[order] % 3)
    np.testing.assert_allclose(other.predict_proba(permuted), straight.predict_proba(X)[order], atol=1e-5)


@law("probabilities")
def without_probability_there_is_no_predict_proba(classifier: Any) -> None:
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


@law("probabilities")
def probabilities_want_two_samples_of_every_class(classifier: Any) -> None:
    X, _ = data(classifier)
    with refused(ValueError, "at least two samples with a view of every class"):
        classifier.set_params(probability=True).fit(X, np.arange(N) == 3)


# ------------------------------------------------------------------------------------------- iterative


@law("iterative")
def how_it_ended_is_said(classifier: Any) -> None:
    X, y = data(classifier)
    classifier.fit(X, y < 5)
    assert classifier.n_iter_ >= 1
    assert len(classifier.objective_) == classifier.n_iter_
    assert np.isfinite(classifier.objective_).all()
    assert isinstance(classifier.status_, str)
    assert classifier.converged_ == classifier.status_.startswith("converged")


@law("iterative")
def a_callback_sees_every_step_and_can_stop(classifier: Any) -> None:
    if "callback" not in classifier.get_params():
        return
    X, y = data(classifier)
    seen: list[Any] = []
    fitted = clone(classifier).set_params(callback=seen.append).fit(X, y < 5)
    assert [one.iteration for one in seen] == list(range(1, fitted.n_iter_ + 1))
    np.testing.assert_array_equal([one.objective for one in seen], fitted.objective_)
    stopped = exact(classifier).set_params(callback=lambda progress: True).fit(X, y < 5)
    assert stopped.n_iter_ == 1
    assert "callback" in stopped.status_
    assert not stopped.converged_


# --------------------------------------------------------------------------------------- kernel machines


@law("machine")
def what_a_machine_learned_is_said(classifier: Any) -> None:
    X, y = data(classifier)
    classifier.fit(X, y < 5)
    assert classifier.weights_.shape == (6,)
    assert (classifier.weights_ >= 0).all()
    assert classifier.gap_ <= classifier.tol
    assert set(classifier.support_) == set(np.flatnonzero(classifier.dual_coef_[0]))
    np.testing.assert_array_equal(classifier.usable_, ~classifier.unusable(X))
    assert list(classifier.weight_table().keys()) == list(X.names)
    classifier.fit(X, y % 3)
    assert classifier.weights_.shape == (3, 6)
    assert classifier._reach(X).shape == (N, 3)
    assert len(classifier.objective_) == 3
    assert list(classifier.weight_table().columns) == [0, 1, 2]


@law("machine")
def a_machine_rests_on_what_it_carries(classifier: Any) -> None:
    """Training samples without a coefficient, and views without a weight, can be left out."""
    X, y = data(classifier)
    fitted = classifier.fit(X, y < 5)
    rests = fitted.carried()
    assert not rests[:, fitted.weights_ == 0].any()
    some = np.flatnonzero(rests.any(axis=1))
    np.testing.assert_array_equal(some, np.intersect1d(some, fitted.support_))
    small = fitted.restricted(some)
    rows = subset(X, np.arange(N), some)
    np.testing.assert_array_equal(small.ids_, X.ids[some])
    assert small.n_features_in_ == len(some)
    assert_close(small.decision_function(rows), fitted.decision_function(X), 1e-12)
    assert fitted.n_features_in_ == N
