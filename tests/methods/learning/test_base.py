"""The base of classifiers: laws that all obey (tests/market.py), and that next to nothing has to be brought."""

import numpy as np
import pytest

from absentia.datasets import load_digit_views
from absentia.methods import learning
from absentia.methods.catalogue import Entry, find, offered
from absentia.methods.learning._base import FAINT, mixed, trust
from absentia.testing import _classifiers as laws
from absentia.testing import _kinds as laws_of_kinds
from absentia.testing import _tools as laws_tools
from market import CLASSIFIERS, cases, is_slow
from nearest import NearestMean, Widest

CASES = [
    pytest.param(*case, id=name, marks=pytest.mark.slow if is_slow(case[0], case[1].__name__) else ())
    for name, case in cases("every", "probabilities").items()
]


@pytest.mark.parametrize(("name", "law"), CASES)
def test_every_classifier_obeys(name, law):
    law(CLASSIFIERS[name])


# ------------------------------------------------------------------------------ what the base does alone


def test_a_law_can_fail():
    """A classifier that reads the order of its samples, and one that forgets the prior, are found out."""

    class Forgetful(NearestMean):
        def _score(self, X):
            return super()._score(X) + np.arange(len(X))[:, None]

        def _reach(self, X):
            return np.ones((len(X), 1))

    for law in (
        laws.permuting_samples_permutes_the_answers,
        laws.without_any_view_there_is_the_prior,
        laws.a_sample_without_any_view_is_named_flagged_and_changes_nothing,
        laws_of_kinds.without_any_view_probabilities_are_the_frequencies,
    ):
        with pytest.raises(AssertionError):
            law(Forgetful())


def test_every_kind_of_law_has_someone_to_obey_it():
    obeyed = {kind for classifier in CLASSIFIERS.values() for kind in laws_tools.kinds(classifier)}
    assert obeyed == set(laws_tools.LAWS)
    assert laws_tools.kinds(NearestMean()) == ["every", "probabilities"]
    for law in (law for kind in laws_tools.LAWS.values() for law in kind):
        assert len(law.__name__.split("_")) > 3, "a law is a sentence"


def test_the_nearest_mean_is_the_one_of_the_equation():
    kernels, y = laws_tools.digit_kernels(), laws_tools.digits()[1] % 3
    fitted = NearestMean().fit(kernels, y)
    K = kernels.to_dense()
    near = np.zeros((laws_tools.N, 3))
    for t in range(laws_tools.N):
        for k in range(3):
            values = []
            for v in np.flatnonzero(kernels.observed[t]):
                own = np.flatnonzero((y == k) & kernels.observed[:, v])
                values.append(2 * K[v][t, own].mean() - K[v][np.ix_(own, own)].mean())
            near[t, k] = np.mean(values)
    wanted = near - near.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.decision_function(kernels), wanted, atol=1e-12)


def test_features_without_a_single_parameter_will_do():
    """No weights of classes, no probabilities: the base asks for nothing."""
    views, y = laws_tools.digits()
    fitted = Widest().fit(views, y < 5)
    assert set(fitted.predict(views).tolist()) <= {True, False}
    assert fitted.n_features_in_ == sum(views.block(name).shape[1] for name in views.names)
    assert not hasattr(fitted, "predict_proba")
    back = Widest.from_state(fitted.state())
    np.testing.assert_array_equal(back.decision_function(views), fitted.decision_function(views))


def test_a_view_that_training_has_not_seen_reaches_nothing():
    views, y = laws_tools.digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:30, 5] = False
    fitted = Widest().fit(views.hide(keep)[:30], y[:30] < 5)
    only = views[30:].hide(np.arange(6) == 5 * np.ones((30, 1)))
    assert only.observed.any()
    assert fitted.unusable(only).all()


def test_faint_evidence_is_mixed_with_the_prior_and_none_is_not_read():
    reach = np.array([[0.0], [FAINT / 4], [FAINT], [1.0]])
    np.testing.assert_allclose(trust(reach)[:, 0], [0, 0.25, 1, 1])
    scores = np.array([[np.nan], [2.0], [2.0], [2.0]])
    np.testing.assert_allclose(mixed(reach, scores, -1.0)[:, 0], [-1, 0.25 * 2 - 0.75, 2, 2])


# ----------------------------------------------------------------------------------- by name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "auto" else ()) for n in offered("classifier")]
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
    X, y = laws_tools.data(classifier)
    if getattr(classifier, "complete_cases", False):
        X = load_digit_views(n_samples=laws_tools.N).views
    takes = "kernels" if laws_tools.takes_kernels(classifier) else "features"
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
    assert made.fit(laws_tools.digit_kernels(), laws_tools.digits()[1]).predict_proba(
        laws_tools.digit_kernels()
    ).shape == (60, 10)
