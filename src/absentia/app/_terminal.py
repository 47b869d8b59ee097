"""Output of the command line: consoles for standard output and standard error, warnings, progress.

Progress is of iterations, of steps, and of trials (done, running, failed, time left).
"""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from io import TextIOWrapper
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absentia.core.optimize import Callback
    from absentia.core.optimize import Progress as Iteration
    from absentia.experiment.engine import Record, Trial

try:
    import cyclopts  # noqa: F401 - the command line needs both
    from rich.console import Console
    from rich.markup import escape
except ImportError as _import_error:
    raise SystemExit(
        "absentia: the command line needs cyclopts and rich; install them with  pip install cyclopts rich"
    ) from _import_error


class _Console(Console):
    """A console of rich that leaves broken pipes (``absentia ... | head``) to the caller."""

    def on_broken_pipe(self) -> None:
        """Let BrokenPipeError through: rich calls this while handling it, and would end the process."""
        raise  # the error that the caller is handling


_LINE_WIDTH, _HELP_WIDTH = 4000, 100  # characters of a line where there is no terminal


def _make_console(stderr: bool = False, width: int = _LINE_WIDTH) -> _Console:
    """Make a console: no colours under NO_COLOR, lines of `width` characters where there is no terminal.

    Notebooks count as no terminal: progress bars would move the cursor, or need rich's widgets.
    """
    plain = {"force_jupyter": False, "force_terminal": False} if Console().is_jupyter else {}
    no_color = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    console = _Console(stderr=stderr, highlight=False, **plain, **no_color)  # type: ignore[arg-type]
    if not console.is_terminal:
        console.width = width
    return console


out, err = _make_console(), _make_console(stderr=True)
help_console = _make_console(width=_HELP_WIDTH)


def escape_unencodable() -> None:
    r"""Write characters that the terminal cannot encode as escapes (``\u2713``) instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def escape_text(text: str) -> str:
    """Escape rich's markup in `text`, and replace line breaks and control characters."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def say(line: str) -> None:
    """Print a line, with rich's markup, on standard output without wrapping it."""
    out.print(line, soft_wrap=True)


def say_json(document: Any) -> None:
    """Print a JSON document on standard output.

    Data classes and named tuples become objects, NaN and infinity null, and values of other types texts.
    """
    sys.stdout.write(json.dumps(_to_json_types(document), indent=2, default=str, allow_nan=False) + "\n")


def _to_json_types(value: Any) -> Any:
    """`value` as dicts, lists and scalars, with None for numbers that are not finite."""
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {key: _to_json_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_types(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say_paths(**paths: Path | None) -> None:
    """Print a line ``completed kernels: k.npz`` for each ``completed_kernels=path`` that is not None."""
    for content, path in paths.items():
        if path is not None:
            say(f"[bold]{content.replace('_', ' ')}[/]: {escape(str(path))}")


def format_command(*words: str | Path) -> str:
    """Return ``absentia`` with these arguments, quoted for a shell and escaped for :func:`say`."""
    return escape(shlex.join(["absentia", *map(str, words)]))


# -------------------------------------------------------------------------------------------- warnings


_shown_warnings: set[str] = set()


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line on standard error, once; stands in for :func:`warnings.showwarning`."""
    text = str(message)
    if text in _shown_warnings:
        return
    _shown_warnings.add(text)
    err.print(f"[yellow]warning[/]: {escape_text(text)}", soft_wrap=True)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the texts of absentia's own warnings for a report; all warnings are shown as before."""
    from absentia.core import is_absentia_warning

    texts: list[str] = []
    show = warnings.showwarning

    def collect_and_show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if is_absentia_warning(message):
            texts.append(str(message))
        show(message, *args, **kwargs)

    warnings.showwarning = collect_and_show
    try:
        yield texts
    finally:
        warnings.showwarning = show


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
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

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
