import math

import numpy as np
import pytest

from absentia.core._loop import Progress, Status, Stop, iterate, relative_change


def halve(x):
    return x / 2


def test_converges_and_keeps_the_objective_after_each_step():
    solution = iterate(halve, lambda x: 1 + x, 1.0, stop=Stop(1e-3), max_iter=100)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.trace, 1 + 0.5 ** np.arange(1, solution.n_iter + 1))
    assert relative_change(*solution.trace[-2:]) < 1e-3
    assert relative_change(*solution.trace[-3:-1]) >= 1e-3


def test_the_tolerance_is_relative():
    small = iterate(halve, lambda x: 1 + x, 1.0, stop=Stop(1e-4), max_iter=100)
    large = iterate(halve, lambda x: 1e9 * (1 + x), 1.0, stop=Stop(1e-4), max_iter=100)
    assert small.n_iter == large.n_iter


def test_patience_outlasts_a_single_short_step():
    uneven = {0: 8.0, 1: 4.0, 2: 4.0, 3: 2.0, 4: 2.0, 5: 2.0, 6: 2.0}
    runs = [
        iterate(lambda i: i + 1, uneven.get, 0, stop=Stop(1e-3, patience=p), max_iter=6).state
        for p in (1, 2)
    ]
    assert runs == [2, 5]


def test_max_iter_is_reported_and_zero_tolerance_runs_them_all():
    assert iterate(halve, lambda x: x, 1.0, stop=Stop(1e-9), max_iter=3).status is Status.MAX_ITER
    solution = iterate(lambda x: x, lambda x: x, 1.0, stop=Stop(0), max_iter=3)
    assert solution.status is Status.FINISHED
    assert solution.n_iter == 3


def test_a_non_finite_objective_keeps_the_last_good_state():
    solution = iterate(lambda x: x + 1, lambda x: math.nan if x > 3 else x, 0, stop=Stop(1e-9), max_iter=10)
    assert solution.status is Status.NOT_FINITE
    assert solution.state == 3
    np.testing.assert_array_equal(solution.trace, [1, 2, 3])


def test_the_callback_sees_progress_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == 2

    solution = iterate(halve, lambda x: x, 1.0, stop=Stop(1e-9), max_iter=10, callback=callback)
    assert solution.status is Status.STOPPED
    assert seen == [Progress(1, 0.5, math.inf, 10), Progress(2, 0.25, 0.5, 10)]


@pytest.mark.parametrize("status", Status)
def test_every_ending_is_a_sentence_about_what_was_measured(status):
    sentence = Stop(1e-3, "the duality gap").sentence(status)
    assert len(sentence.split()) > 4
    assert ("the duality gap" in sentence) == (status in (Status.CONVERGED, Status.MAX_ITER))


def test_a_rule_may_measure_the_state_itself():
    seen = []
    solution = iterate(
        halve,
        lambda x: 7.0,  # an objective that never changes is no sign of an end
        1.0,
        stop=Stop(0.1, "the size", lambda x: x),
        max_iter=10,
        callback=lambda progress: seen.append(progress.change),
    )
    assert solution.converged
    assert solution.sentence == "converged: the size fell below tol"
    assert seen == [0.5, 0.25, 0.125, 0.0625]


def test_without_an_objective_the_trace_is_of_what_is_measured():
    solution = iterate(halve, None, 1.0, stop=Stop(0.2, "the size", lambda x: x), max_iter=10)
    np.testing.assert_array_equal(solution.trace, [0.5, 0.25, 0.125])
    broken = iterate(lambda x: math.nan, None, 1.0, stop=Stop(0.2, "the size", lambda x: x), max_iter=10)
    assert broken.status is Status.NOT_FINITE
    assert broken.state == 1.0
