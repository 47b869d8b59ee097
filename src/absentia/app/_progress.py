"""Progress on the terminal: of iterations, of steps, and of trials (done, running, failed, time left)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

from absentia.app._terminal import err, out

# isort: split
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from absentia.core.optimize import Callback
    from absentia.core.optimize import Progress as Iteration
    from absentia.experiment.engine import Record, Trial

_STEP_SECONDS, _TRIAL_SECONDS = 10.0, 15.0  # between lines where there is no terminal

#: Seconds; progress lines go by it.
_clock: Callable[[], float] = time.monotonic


def _make_pace(seconds: float) -> Callable[[], bool]:
    """A function that is True when so many seconds have passed since it last was, or was made."""
    last = _clock()

    def is_due() -> bool:
        nonlocal last
        now = _clock()
        if now - last < seconds:
            return False
        last = now
        return True

    return is_due


@contextmanager
def _show_bar(
    name: str, total: int | None, *columns: str, seconds: float = _STEP_SECONDS
) -> Iterator[Callable[..., None]]:
    """A bar on a terminal, elsewhere a line now and then.

    The yielded function takes that line, and what is new of the bar.
    """
    if err.is_terminal:
        texts = [TextColumn(column) for column in columns]
        parts = (TextColumn("{task.description}"), BarColumn(), *texts, TimeElapsedColumn())
        with Progress(*parts, console=err, transient=True) as bar:
            task = bar.add_task(escape(name), total=total, state="")
            yield lambda line, **news: bar.update(task, **news)
        return
    is_due = _make_pace(seconds)

    def say_now_and_then(line: str, **news: Any) -> None:
        if is_due():
            err.print(escape(f"{name}: {line}"), soft_wrap=True)

    yield say_now_and_then


@contextmanager
def iteration_bar(name: str) -> Iterator[Callback]:
    """Progress of iterations; the yielded callback shows one."""
    with _show_bar(name, None, "iteration {task.completed:>4}", "{task.fields[state]}") as show:

        def callback(now: Iteration) -> None:
            state = f"objective {now.objective:.6g}, change {now.change:.1e}"
            line = f"iteration {now.iteration} of at most {now.max_iter}, {state}"
            show(line, total=now.max_iter, completed=now.iteration, state=state)

        yield callback


@contextmanager
def step_bar(name: str, total: int) -> Iterator[Callable[[], None]]:
    """Progress of so many steps; each call of the yielded function is one done."""
    done = 0
    with _show_bar(name, total, "step {task.completed} of {task.total}") as show:

        def step() -> None:
            nonlocal done
            done += 1
            show(f"step {done} of {total}", completed=min(done, total))

        yield step


# ---------------------------------------------------------------------------------------------- trials


class TrialProgress:
    """What there is to say of trials while they run; `measured` are seconds that methods took before."""

    def __init__(
        self, todo: Sequence[Trial], jobs: int, measured: Mapping[str, float] | None = None
    ) -> None:
        self.jobs, self.total = max(1, jobs), len(todo)
        self.done = self.failed = 0
        self.listeners: list[Callable[[Record], None]] = []
        self.show: Callable[[], None] = lambda: None
        self._running: dict[str, str] = {}
        self._left = [str(trial.key["method"]) for trial in todo]
        self._spent: dict[str, list[float]] = {}
        self._measured = measured or {}

    def begin(self, trial: Trial) -> None:
        """A trial runs."""
        self._running[trial.hash] = str(trial.key["method"])
        self.show()

    def tell(self, record: Record) -> None:
        """A trial is over."""
        method = str(record.trial["method"])
        self._running.pop(record.hash, None)
        self.done += 1
        self.failed += not record.done
        if method in self._left:
            self._left.remove(method)
        seconds = record.cost.get("wall")
        if seconds is not None:  # of those that died nobody knows
            self._spent.setdefault(method, []).append(seconds)
        for listener in self.listeners:
            listener(record)
        self.show()

    def seconds_left(self) -> float | None:
        """By what fits of the same methods took, and others like them; None: nothing is known."""
        spent = {name: median(seconds) for name, seconds in self._spent.items()}  # the first may be slow
        known = {**self._measured, **spent}
        if not known:
            return None
        mean = sum(known.values()) / len(known)
        return sum(known.get(name, mean) for name in self._left) / self.jobs

    def line(self) -> str:
        """All of it in one line."""
        from absentia.core import format_seconds

        names = sorted(set(self._running.values()))
        parts = [f"{self.done} of {self.total} done"]
        if names:
            parts.append(f"running {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}")
        if self.failed:
            parts.append(f"{self.failed} failed")
        seconds = self.seconds_left()
        if self._left and seconds is not None:
            parts.append(f"about {format_seconds(seconds)} left")
        return " · ".join(parts)


@contextmanager
def show_trials(progress: TrialProgress) -> Iterator[None]:
    """Shows trials while they run: a bar on a terminal, elsewhere a line now and then."""
    if out.quiet:
        yield
        return
    with _show_bar("trials", progress.total, "{task.fields[state]}", seconds=_TRIAL_SECONDS) as show:
        progress.show = lambda: show(progress.line(), completed=progress.done, state=progress.line())
        yield
