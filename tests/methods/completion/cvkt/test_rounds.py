"""Rounds by solving, against rounds by axes."""

import numpy as np
import pytest

from absentia import CVKT, ViewKernels, missingness
from absentia.methods.completion.cvkt import _rounds
from absentia.methods.completion.cvkt._features import has_other_view, stack_other_views
from absentia.methods.completion.cvkt._ridge import RidgeOptions, RidgeSolve, RoundFeatures
from absentia.methods.completion.cvkt._rounds import (
    CrossViewRegression,
    TransferData,
    locate_hidden,
    refill_features,
)
from conftest import random_problem


@pytest.fixture(params=["more features than samples", "fewer"])
def start(request):
    kv = random_problem(60, 4, 0.4)
    few = [np.arange(5)] * 4 if request.param == "fewer" else [None] * 4
    return TransferData.of(kv, few)


@pytest.fixture
def by_axes(monkeypatch):
    """As if every round needed its axes."""
    monkeypatch.setattr(_rounds, "MIN_SOLVE_RIDGE", np.inf)


def nth_round(data, number, easing=1.0):
    rounds = data.rounds(RidgeOptions("ridge", "loo", None, easing))
    return [next(rounds) for _ in range(number)][-1]


def test_a_round_by_solving_fills_in_what_a_round_by_axes_does(start):
    second = nth_round(start, 2)
    observed = start.X.observed
    slow = refill_features([x.refill() for x in second.transfers], second.features, observed)
    new = refill_features(second.refills, second.features, observed)  # as new samples are filled in
    for v, solved in enumerate(second.solves):
        assert solved.primal == (start.features[0].shape[1] == 5)
        np.testing.assert_allclose(solved.fill_absent(), slow[v], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(new[v], slow[v], rtol=1e-8, atol=1e-10)


def test_weights_by_solving_are_those_by_axes(start):
    second, everyone = nth_round(start, 2), np.arange(len(start.X))
    for v, (solved, transfer) in enumerate(zip(second.solves, second.transfers, strict=True)):
        Psi = stack_other_views(second.features, v, everyone >= 0)
        rows = transfer.rows(Psi, has_other_view(start.X.observed, v))
        np.testing.assert_allclose(
            solved.weights(everyone), rows @ transfer.weights.T, rtol=1e-8, atol=1e-10
        )


@pytest.mark.slow_params("heldout-None")
@pytest.mark.parametrize("landmarks", [None, 6])
@pytest.mark.parametrize("wanted", [4, "heldout"])
def test_everything_is_as_it_was_with_axes_in_every_round(digits, request, landmarks, wanted):
    kv = ViewKernels().fit_transform(digits[0])
    new = kv[np.ix_(np.arange(20), np.arange(len(kv)))]
    found = CVKT(rounds=wanted, n_landmarks=landmarks).fit(kv)
    fast = found.transform(kv).to_dense(), found.transform(new).to_dense()
    request.getfixturevalue("by_axes")
    slow = CVKT(rounds=wanted, n_landmarks=landmarks).fit(kv)
    assert (found.rounds_, found.easing_) == (slow.rounds_, slow.easing_)
    for mine, theirs in zip(
        fast, (slow.transform(kv).to_dense(), slow.transform(new).to_dense()), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)
    if wanted == "heldout":
        assert list(found.heldout_curve_) == list(slow.heldout_curve_)
        np.testing.assert_allclose(
            list(found.heldout_curve_.values()), list(slow.heldout_curve_.values()), rtol=1e-8
        )


def test_a_rank_or_hardly_any_ridge_needs_axes():
    start = TransferData.of(random_problem(40, 3, 0.3), [None] * 3)
    for options in (RidgeOptions("ridge", 0.1, 2), RidgeOptions("ridge", 1e-9, None)):
        rounds = start.rounds(options)
        assert [next(rounds).solves for _ in range(2)] == [None, None]
    rounds = start.rounds(RidgeOptions("ridge", 0.1, None))
    assert next(rounds).solves is None  # the first has them anyway
    assert len(next(rounds).solves) == 3


def test_views_that_nothing_can_be_learned_of_get_their_mean():
    current, observed = [np.zeros((6, 2)), np.arange(12.0).reshape(6, 2)], np.ones((6, 2), bool)
    observed[0, 1] = False
    solved = RidgeSolve(RoundFeatures(current, observed), 1, 0.1)
    assert solved.empty
    mean = current[1][1:].mean(axis=0)
    np.testing.assert_allclose(solved.fill_absent()[0], mean)
    np.testing.assert_allclose(solved.refill().features(np.ones((1, 2)), np.array([True])), mean[None])
    np.testing.assert_allclose(solved.weights(np.arange(6)), 1 / 5)


def test_samples_without_another_view_get_the_mean_of_all():
    kv = random_problem(30, 3, 0.3)
    keep, lonely = np.ones((30, 3), bool), np.flatnonzero(kv.observed[:, 0])[:2]
    keep[lonely, 1:] = False
    kv = kv.hide(keep)
    second = nth_round(TransferData.of(kv, [None] * 3), 2)
    np.testing.assert_allclose(second.solves[0].weights(lonely), 1 / kv.observed[:, 0].sum())
    others = np.flatnonzero(has_other_view(kv.observed, 0))
    assert np.ptp(second.solves[0].weights(others)) > 0.01


def test_hidden_samples_are_placed_as_all_are():
    kv = random_problem(50, 3, 0.2)
    keep = missingness.mcar((50, 3), 0.2, random_state=1) | ~kv.observed
    part = kv.hide(keep)
    start, hidden = TransferData.of(part, [None] * 3), kv.observed & ~part.observed
    second, cvkt = nth_round(start, 2), CVKT()
    at, coordinates = CrossViewRegression.of_round(second, [], np.zeros(0), keep=True)
    slow = part.completed(cvkt._complete_square(part, at.bases, coordinates)).to_dense()
    fast = part.completed(cvkt._complete_square(part, *locate_hidden(second, hidden))).to_dense()
    for v in range(3):
        rows, seen = np.flatnonzero(hidden[:, v]), np.flatnonzero(kv.observed[:, v])
        np.testing.assert_allclose(
            fast[v][np.ix_(rows, seen)], slow[v][np.ix_(rows, seen)], rtol=1e-8, atol=1e-10
        )
