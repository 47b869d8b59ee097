"""The base of learners: checks that all pass (tests/helpers/registry.py), and that next to nothing has to
be brought."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from absentia.datasets import load_digit_views
from absentia.methods import learning
from absentia.methods.catalogue import Entry, find, list_entries
from absentia.methods.learning import Classifier, shrink_to_prior
from absentia.testing import CHECKS, checks_of
from helpers.digit_samples import half_seen_digits, half_seen_kernels
from helpers.registry import CLASSIFIERS, LEARNERS, REGRESSORS, SURVIVAL_MODELS, cases, is_slow
from helpers.smallest_classifiers import NearestMean, Widest

CASES = [
    pytest.param(*case, id=name, marks=pytest.mark.slow if is_slow(case[0], case[1].__name__) else ())
    for name, case in cases("learner", "weighted", "classifier", "probabilities").items()
]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_every_classifier_passes(name, check):
    check(CLASSIFIERS[name])


def other_cases(task):
    kinds = ("learner", "weighted", "regressor", "survival")
    return [
        pytest.param(*case, id=name, marks=pytest.mark.slow if is_slow(case[0], case[1].__name__) else ())
        for name, case in cases(*kinds, task=task).items()
    ]


@pytest.mark.parametrize(("name", "check"), other_cases("regressor"))
def test_every_regressor_passes(name, check):
    check(REGRESSORS[name])


@pytest.mark.parametrize(("name", "check"), other_cases("survival"))
def test_every_survival_model_passes(name, check):
    check(SURVIVAL_MODELS[name])


# ------------------------------------------------------------------------------ what the base does alone


def test_a_check_can_fail():
    """A classifier that reads the order of its samples, and one that forgets the prior, are found out."""

    class Forgetful(NearestMean):
        def _score(self, X):
            return super()._score(X) + np.arange(len(X))[:, None]

        def _coverage(self, X):
            return np.ones((len(X), 1))

    for check in (
        "permuting_samples_permutes_the_answers",
        "without_any_view_there_is_the_prior",
        "a_sample_without_any_view_is_named_flagged_and_changes_nothing",
        "without_any_view_probabilities_are_the_frequencies",
    ):
        with pytest.raises(AssertionError):
            checks_of(Forgetful())[check](Forgetful())


def test_a_decision_against_the_probabilities_is_found_out():
    class Contrary(NearestMean):
        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmin(axis=1)]

    contrary = Contrary(probability=True)
    with pytest.raises(AssertionError):
        checks_of(contrary)["the_decision_is_the_largest_weighted_probability"](contrary)


def test_every_kind_of_check_has_someone_to_pass_it():
    everyone = [estimator for task in LEARNERS.values() for estimator in task.values()]
    others = {"completer", "imputer", "operator"}
    passed = [checks_of(estimator).items() for estimator in everyone]
    assert {
        kind for kind, checks in CHECKS.items() if any(checks.items() <= own for own in passed)
    } == CHECKS.keys() - others


def test_the_nearest_mean_is_the_one_of_the_equation():
    kernels, y = half_seen_kernels(), half_seen_digits()[1] % 3
    fitted = NearestMean().fit(kernels, y)
    K = kernels.to_dense()
    near = np.zeros((60, 3))
    for t in range(60):
        for k in range(3):
            values = []
            for v in np.flatnonzero(kernels.observed[t]):
                own = np.flatnonzero((y == k) & kernels.observed[:, v])
                values.append(2 * K[v][t, own].mean() - K[v][np.ix_(own, own)].mean())
            near[t, k] = np.mean(values)
    wanted = near - near.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.decision_function(kernels), wanted, atol=1e-12)


def test_a_classifier_without_scores_is_told_what_is_lacking():
    class Silent(NearestMean):
        _score = Classifier._score

    X, y = half_seen_kernels(), half_seen_digits()[1]
    with pytest.raises(NotImplementedError, match="Silent lacks _score"):
        Silent().fit(X, y < 5).predict(X)


def test_features_without_a_single_parameter_will_do():
    """No weights of classes, no probabilities: the base asks for nothing."""
    views, y = half_seen_digits()
    fitted = Widest().fit(views, y < 5)
    assert set(fitted.predict(views).tolist()) <= {True, False}
    assert fitted.n_features_in_ == sum(views.block(name).shape[1] for name in views.names)
    assert not hasattr(fitted, "predict_proba")
    back = Widest.from_state(fitted.state())
    np.testing.assert_array_equal(back.decision_function(views), fitted.decision_function(views))


def test_a_view_that_training_has_not_seen_reaches_nothing():
    views, y = half_seen_digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:30, 5] = False
    fitted = Widest().fit(views.hide(keep)[:30], y[:30] < 5)
    only = views[30:].hide(np.arange(6) == 5 * np.ones((30, 1)))
    assert only.observed.any()
    assert fitted.unusable(only).all()


def test_scores_of_low_coverage_are_shrunk_to_the_prior_and_none_is_not_read():
    coverage = np.array([[0.0], [0.0025], [0.01], [1.0]])
    scores = np.array([[np.nan], [2.0], [2.0], [2.0]])
    shrunk = shrink_to_prior(coverage, scores, -1.0)
    np.testing.assert_allclose(shrunk[:, 0], [-1, 0.25 * 2 - 0.75, 2, 2])


# ----------------------------------------------------------------------------------- by name


@pytest.mark.slow_params("fusion", "forest", "stacking")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n == "auto" else ()) for n in list_entries("classifier")],
)
def test_every_classifier_is_to_be_had_by_name_with_what_it_declares(name):
    entry = find(name, "classifier")
    flags = entry.parameters()
    left_out = {f"--{parameter.replace('_', '-')}" for parameter in entry.without}
    assert not {"--callback", "--class-weight", *left_out} & set(flags)
    given = {"--C": "0.1", "--probability": "true"}
    options = entry.read({flag: text for flag, text in given.items() if flag in flags})
    classifier = entry.make(**options)
    assert classifier.get_params().items() >= {**entry.fixed, **options}.items()
    kernels = get_tags(classifier).input_tags.pairwise
    X, y = half_seen_kernels() if kernels else half_seen_digits()[0], half_seen_digits()[1]
    if getattr(classifier, "complete_cases", False):
        X = load_digit_views(n_samples=60).views
    takes = "kernels" if kernels else "features"
    assert entry.takes in (takes, "views or kernels")
    classifier.fit(X, y < 5)
    if "--probability" in flags:
        np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1)
    if "--C" in flags:
        with pytest.raises(ValueError, match=r"--C is a number above 0.*, not '-1'"):
            entry.read({"--C": "-1"})


def test_an_entry_for_any_class_of_the_base_is_honoured(monkeypatch):
    entry = Entry("classifier", "kernels", "classes", "nearest", "learning:NearestMean", "a test")
    monkeypatch.setattr(learning, "NearestMean", NearestMean, raising=False)
    assert set(entry.parameters()) == {"--probability"}
    made = entry.make(**entry.read({"--probability": "yes"}))
    assert made.fit(half_seen_kernels(), half_seen_digits()[1]).predict_proba(
        half_seen_kernels()
    ).shape == (60, 10)
