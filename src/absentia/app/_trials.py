"""Trials under way, on the terminal: done, running, failed, time left, best so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

from absentia.app._terminal import err, make_pace, out

# isort: split
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from absentia.experiment.comparison import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from absentia.experiment.comparison import Study
    from absentia.experiment.engine import Record, Trial

EVERY = 15.0  # seconds between lines where there is no terminal


class Watch:
    """What there is to say of trials while they run; `measured` are seconds that methods took before."""

    def __init__(
        self, todo: Sequence[Trial], jobs: int, measured: Mapping[str, float] | None = None
    ) -> None:
        self.jobs, self.total = max(1, jobs), len(todo)
        self.done = self.failed = 0
        self.running: dict[str, str] = {}
        self.left = [self.named(trial.key) for trial in todo]
        self.spent: dict[str, list[float]] = {}
        self.measured = measured or {}

    def named(self, key: Mapping[str, Any]) -> str:
        """What a trial's method is called: times are told apart by it."""
        given = ", ".join(f"{name}={value}" for name, value in key.get("parameters", {}).items())
        return f"{key['method']}({given})"

    def begin(self, trial: Trial) -> None:
        self.running[trial.hash] = self.named(trial.key)

    def tell(self, record: Record) -> None:
        method = self.named(record.trial)
        self.running.pop(record.hash, None)
        self.done += 1
        self.failed += not record.done
        if method in self.left:
            self.left.remove(method)
        seconds = record.cost.get("wall")
        if seconds is not None:  # of those that died nobody knows
            self.spent.setdefault(method, []).append(seconds)

    def seconds_left(self) -> float | None:
        """By what fits of the same methods took, and others like them; None: nothing is known."""
        spent = {name: median(seconds) for name, seconds in self.spent.items()}  # the first may be slow
        known = {**self.measured, **spent}
        if not known:
            return None
        mean = sum(known.values()) / len(known)
        return sum(known.get(name, mean) for name in self.left) / self.jobs

    def best(self) -> str:
        """Which method is best so far, where that can be said."""
        return ""

    def line(self) -> str:
        """All of it in one line."""
        names = sorted(set(self.running.values()))
        parts = [f"{self.done} of {self.total} done"]
        parts += [f"running {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"] if names else []
        parts += [f"{self.failed} failed"] if self.failed else []
        seconds = self.seconds_left()
        parts += [f"about {format_seconds(seconds)} left"] if self.left and seconds is not None else []
        parts += [best] if (best := self.best()) else []
        return " · ".join(parts)


class StudyWatch(Watch):
    """Of a comparison, whose methods can be ranked on the way."""

    def __init__(
        self,
        study: Study,
        todo: Sequence[Trial],
        jobs: int,
        listener: Callable[[Record], None] = lambda record: None,
    ) -> None:
        super().__init__(todo, jobs, study.measured_seconds())
        self.study, self.metric = study, study.metric
        self.scores: dict[str, list[float]] = {}
        self.listener = listener

    def named(self, key: Mapping[str, Any]) -> str:
        return str(key["method"])

    def tell(self, record: Record) -> None:
        super().tell(record)
        self.listener(record)
        value = record.result.get("scores", {}).get(self.metric.name) if record.done else None
        if value is not None and record.trial["kind"] in ("predict", "complete"):
            self.scores.setdefault(str(record.trial["method"]), []).append(float(value))

    def best(self) -> str:
        means = {name: sum(x) / len(x) for name, x in self.scores.items()}
        if not means:
            return ""
        pick = max if self.metric.higher else min
        name = pick(means, key=lambda one: means[one])
        return f"best so far {name} ({self.study.format_score(means[name])})"


@contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Shows trials while they run: live on a terminal, elsewhere a line now and then."""
    if out.quiet:
        yield watch
    elif err.is_terminal:
        with _live(watch):
            yield watch
    else:
        is_due, tell = make_pace(EVERY), watch.tell

        def say(record: Record) -> None:
            tell(record)
            if watch.done < watch.total and is_due():
                err.print(escape(watch.line()), soft_wrap=True)

        watch.tell = say  # type: ignore[method-assign]
        yield watch


@contextmanager
def _live(watch: Watch) -> Iterator[None]:
    bar = Progress(TextColumn("trials"), BarColumn(), TimeElapsedColumn(), console=err)
    task = bar.add_task("trials", total=watch.total)

    def picture() -> Table:
        bar.update(task, completed=watch.done)
        grid = Table.grid()
        grid.add_row(bar)
        grid.add_row(escape(watch.line()))
        return grid

    with Live(get_renderable=picture, console=err, transient=True, refresh_per_second=4):
        yield
