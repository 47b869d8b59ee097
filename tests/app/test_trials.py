"""What is said of trials while they run."""

from dataclasses import dataclass
from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from absentia.app import _trials as trials
from absentia.app._trials import StudyWatch, watched
from absentia.experiment.engine import Record, Trial

MEASURED = {"mean": 1.0, "svt": 10.0, "cvkt": 100.0}


@dataclass
class Study:
    """As much of one as is looked at."""

    higher: bool = True
    measured: bool = True

    @property
    def metric(self):
        return SimpleNamespace(name="score", higher=self.higher)

    def format_score(self, value):
        return f"{value:.2f}"

    def measured_seconds(self):
        return MEASURED if self.measured else {}


def trial(method, fold=0, kind="predict"):
    return Trial({"kind": kind, "method": method, "fold": fold})


def record(one, wall=1.0, score=0.5, status="done"):
    result = {"scores": {"score": score}} if status == "done" else {}
    return Record(dict(one.key), status, result, "", {} if wall is None else {"wall": wall})


TODO = [trial(method, fold) for fold in range(4) for method in ("mean", "svt")]


def test_counts_and_names_of_what_is_under_way():
    watch = StudyWatch(Study(), TODO, 2)
    for one in TODO[:3]:
        watch.begin(one)
    assert watch.line().startswith("0 of 8 done · running mean, svt · about ")
    watch.tell(record(TODO[0]))
    watch.tell(record(TODO[1], status="time"))
    assert watch.line().startswith("2 of 8 done · running mean · 1 failed · about ")
    for one in TODO[2:]:
        watch.tell(record(one))
    assert watch.line() == "8 of 8 done · 1 failed · best so far mean (0.50)"


def test_no_more_than_four_names_are_shown():
    watch = StudyWatch(Study(), [], 1)
    for number in range(6):
        watch.begin(trial(f"m{number}"))
    assert watch.line() == "0 of 0 done · running m0, m1, m2, m3, ..."


def test_time_left_is_by_what_fits_took_here_or_before():
    watch = StudyWatch(Study(), TODO, 2)
    assert watch.seconds_left() == pytest.approx((4 * 1 + 4 * 10) / 2)
    watch.tell(record(TODO[0], wall=3.0))
    assert watch.seconds_left() == pytest.approx((3 * 3.0 + 4 * 10) / 2)
    watch.tell(record(TODO[1], wall=2.0))
    assert watch.seconds_left() == pytest.approx((3 * 3.0 + 3 * 2.0) / 2)


def test_nothing_is_said_of_time_before_the_first_fit_and_others_are_like_those_that_are_known():
    watch = StudyWatch(Study(measured=False), TODO, 1)
    assert watch.seconds_left() is None
    assert watch.line() == "0 of 8 done"
    watch.tell(record(TODO[0], wall=3.0))
    assert watch.seconds_left() == pytest.approx(7 * 3.0)


def test_neither_a_slow_start_nor_a_death_spoils_the_time_left():
    todo = [trial("mean", fold) for fold in range(10)]
    watch = StudyWatch(Study(), todo, 1)
    for one, wall in zip(todo, [60.0, 1.0, 1.0, None], strict=False):
        watch.tell(record(one, wall, status="died" if wall is None else "done"))
    assert watch.seconds_left() == pytest.approx(6.0)


@pytest.mark.parametrize(("higher", "best"), [(True, "svt (0.60)"), (False, "mean (0.50)")])
def test_the_best_so_far_is_by_the_mean(higher, best):
    watch = StudyWatch(Study(higher), TODO, 1)
    assert watch.best() == ""
    for one, score in zip(TODO[:4], [0.9, 0.6, 0.1, 0.6], strict=True):
        watch.tell(record(one, score=score))
    assert watch.best() == f"best so far {best}"


def test_trials_that_answer_another_question_are_not_in_the_best():
    watch = StudyWatch(Study(), TODO, 1)
    watch.tell(record(TODO[0], score=0.5))
    for kind in ("views", "rates"):
        watch.tell(record(trial("mean", kind=kind), score=1.0))
    watch.tell(record(trial("mean"), score=1.0, status="failed"))
    assert watch.best() == "best so far mean (0.50)"
    assert watch.failed == 1


def shown(monkeypatch, terminal, todo, tick=1000.0, quiet=False):
    """What stands on standard error after all of these were told."""
    clock = iter(range(0, 10_000_000, int(tick)))
    console = Console(file=StringIO(), force_terminal=terminal, width=120, color_system=None)
    monkeypatch.setattr(trials, "err", console)
    monkeypatch.setattr(trials.out, "quiet", quiet)
    monkeypatch.setattr("absentia.app._terminal.clock", lambda: next(clock))
    with watched(StudyWatch(Study(), todo, 1)) as watch:
        for one in todo:
            watch.begin(one)
            watch.tell(record(one))
    assert watch.done == len(todo)
    return console.file.getvalue()


def test_where_there_is_no_terminal_there_is_a_line_now_and_then(monkeypatch):
    lines = shown(monkeypatch, False, TODO).splitlines()
    assert [line.split(" done")[0] for line in lines] == [f"{n} of 8" for n in range(1, 8)]
    assert shown(monkeypatch, False, TODO, tick=1.0).splitlines() == []  # eight seconds: nothing to say yet


def test_on_a_terminal_there_is_a_bar_that_vanishes(monkeypatch):
    text = shown(monkeypatch, True, TODO)
    assert "trials" in text
    assert "8 of 8 done" in text
    assert "\x1b[2K" in text  # wiped


def test_quiet_is_quiet(monkeypatch):
    assert shown(monkeypatch, True, TODO, quiet=True) == ""
    assert shown(monkeypatch, False, TODO, quiet=True) == ""
