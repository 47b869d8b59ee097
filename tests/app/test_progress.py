"""What is said of steps, iterations and trials while they run."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from absentia.app import _terminal
from absentia.app._terminal import TrialProgress, show_trials
from absentia.experiment.engine import Record, Trial

MEASURED = {"mean": 1.0, "svt": 10.0, "cvkt": 100.0}


def trial(method, fold=0, kind="predict"):
    return Trial({"kind": kind, "method": method, "fold": fold})


def record(one, wall=1.0, score=0.5, status="done"):
    result = {"scores": {"score": score}} if status == "done" else {}
    return Record(dict(one.key), status, result, "", {} if wall is None else {"wall": wall})


TODO = [trial(method, fold) for fold in range(4) for method in ("mean", "svt")]


def test_counts_and_names_of_what_is_under_way():
    progress = TrialProgress(TODO, 2, MEASURED)
    for one in TODO[:3]:
        progress.begin(one)
    assert progress.line().startswith("0 of 8 done · running mean, svt · about ")
    progress.tell(record(TODO[0]))
    progress.tell(record(TODO[1], status="time"))
    assert progress.line().startswith("2 of 8 done · running mean · 1 failed · about ")
    for one in TODO[2:]:
        progress.tell(record(one))
    assert progress.line() == "8 of 8 done · 1 failed"


def test_no_more_than_four_names_are_shown():
    progress = TrialProgress([], 1, MEASURED)
    for number in range(6):
        progress.begin(trial(f"m{number}"))
    assert progress.line() == "0 of 0 done · running m0, m1, m2, m3, ..."


def test_time_left_is_by_what_fits_took_here_or_before():
    progress = TrialProgress(TODO, 2, MEASURED)
    assert progress.seconds_left() == pytest.approx((4 * 1 + 4 * 10) / 2)
    progress.tell(record(TODO[0], wall=3.0))
    assert progress.seconds_left() == pytest.approx((3 * 3.0 + 4 * 10) / 2)
    progress.tell(record(TODO[1], wall=2.0))
    assert progress.seconds_left() == pytest.approx((3 * 3.0 + 3 * 2.0) / 2)


def test_nothing_is_said_of_time_before_the_first_fit_and_others_are_like_those_that_are_known():
    progress = TrialProgress(TODO, 1)
    assert progress.seconds_left() is None
    assert progress.line() == "0 of 8 done"
    progress.tell(record(TODO[0], wall=3.0))
    assert progress.seconds_left() == pytest.approx(7 * 3.0)


def test_neither_a_slow_start_nor_a_death_spoils_the_time_left():
    todo = [trial("mean", fold) for fold in range(10)]
    progress = TrialProgress(todo, 1, MEASURED)
    for one, wall in zip(todo, [60.0, 1.0, 1.0, None], strict=False):
        progress.tell(record(one, wall, status="died" if wall is None else "done"))
    assert progress.seconds_left() == pytest.approx(6.0)


def shown(monkeypatch, terminal, todo, tick=1000.0, quiet=False):
    """What stands on standard error after all of these were told."""
    clock = iter(range(0, 10_000_000, int(tick)))
    console = Console(file=StringIO(), force_terminal=terminal, width=120, color_system=None)
    monkeypatch.setattr(_terminal, "err", console)
    monkeypatch.setattr(_terminal.out, "quiet", quiet)
    monkeypatch.setattr(_terminal, "_clock", lambda: next(clock))
    progress = TrialProgress(todo, 1, MEASURED)
    with show_trials(progress):
        for one in todo:
            progress.begin(one)
            progress.tell(record(one))
    assert progress.done == len(todo)
    return console.file.getvalue()


def test_where_there_is_no_terminal_there_is_a_line_now_and_then(monkeypatch):
    lines = shown(monkeypatch, False, TODO).splitlines()
    counts = [int(line.removeprefix("trials: ").split(" of 8 done")[0]) for line in lines]
    assert counts == sorted([*range(8), *range(1, 9)])  # when a trial begins, and when it is over
    assert (
        shown(monkeypatch, False, TODO[:6], tick=1.0).splitlines() == []
    )  # twelve seconds: nothing to say yet


def test_on_a_terminal_there_is_a_bar_that_vanishes(monkeypatch):
    text = shown(monkeypatch, True, TODO)
    assert "trials" in text
    assert "8 of 8 done" in text
    assert "\x1b[2K" in text  # wiped


def test_quiet_is_quiet(monkeypatch):
    assert shown(monkeypatch, True, TODO, quiet=True) == ""
    assert shown(monkeypatch, False, TODO, quiet=True) == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_steps_and_iterations_are_a_bar_or_a_line_now_and_then(monkeypatch, terminal):
    console = Console(file=StringIO(), force_terminal=terminal, width=120, color_system=None)
    clock = iter(range(0, 1000, 7))  # seconds: every second line is due
    monkeypatch.setattr(_terminal, "err", console)
    monkeypatch.setattr(_terminal, "_clock", lambda: next(clock))
    with _terminal.step_bar("[fit]", 4) as step:
        for _ in range(4):
            step()
    with _terminal.iteration_bar("mkmc") as show:
        for k in range(1, 4):
            show(SimpleNamespace(iteration=k, max_iter=9, objective=1.5, change=0.25))
    text = console.file.getvalue()
    if terminal:
        assert "step 4 of 4" in text
        assert "objective 1.5, change 2.5e-01" in text
        return
    state = "objective 1.5, change 2.5e-01"
    lines = ["[fit]: step 2 of 4", "[fit]: step 4 of 4", f"mkmc: iteration 2 of at most 9, {state}"]
    assert text.splitlines() == lines
