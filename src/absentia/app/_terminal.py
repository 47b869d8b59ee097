"""The terminal: two consoles, progress, Ctrl-C, warnings as one line each."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from absentia.core.optimize import Callback, Progress

try:
    from cyclopts import Parameter
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as ProgressBar
except ImportError as _error:
    raise SystemExit(
        "absentia: the command line needs cyclopts and rich; install them with  pip install cyclopts rich"
    ) from _error


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read has gone: what that means is not the console's to say."""
        raise


LONGEST, HELP = 4000, 100  # characters of a line where there is no terminal: of what is said, of help


def _console(stderr: bool = False, wide: bool = True) -> _Console:
    """Plain text where NO_COLOR says so or nobody looks; piped lines are as long as they are."""
    plain = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    console = _Console(stderr=stderr, highlight=False, **plain)  # type: ignore[arg-type]
    if not console.is_terminal:
        console.width = LONGEST if wide else HELP
    return console


out, err = _console(), _console(stderr=True)
helping = _console(wide=False)

#: Seconds; progress lines go by it.
clock: Callable[[], float] = time.monotonic


def make_pace(seconds: float) -> Callable[[], bool]:
    """A function that is True when so many seconds have passed since it last was, or was made."""
    last = clock()

    def is_due() -> bool:
        nonlocal last
        now = clock()
        if now - last < seconds:
            return False
        last = now
        return True

    return is_due


def lenient() -> None:
    """Characters that the terminal does not have are shown by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    """A whole number as it is written; 1.5 is none, and is not rounded to one."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number is wanted, not {text[:30]!r}") from None


#: The type of a flag that takes a whole number.
Whole = Annotated[int, Parameter(converter=_whole)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]


def printable(text: str) -> str:
    """Text as it is, without markup, line breaks or anything else that moves the cursor."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


@contextmanager
def _bar(*columns: ProgressColumn) -> Iterator[ProgressBar]:
    """A bar that moves on a terminal; elsewhere one that is never started, and writes nothing.

    Started though disabled, it ends with an empty line in Rich before 14.3.
    """
    bar = ProgressBar(*columns, console=err, transient=True, disable=not err.is_terminal)
    if not err.is_terminal:
        yield bar
        return
    with bar:
        yield bar


@contextmanager
def iteration_bar() -> Iterator[Callable[[str], Callback]]:
    """Progress of iterations: ``start(name)`` gives the callback that moves that name's bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("iteration {task.completed:>4}"),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with _bar(*columns) as bar:

        def start(name: str) -> Callback:
            if not err.is_terminal:
                return _now_and_then(name)
            task = bar.add_task(escape(name), total=None, state="")

            def show(progress: Progress) -> None:
                state = f"objective {progress.objective:.6g}  change {progress.change:.1e}"
                bar.update(task, total=progress.max_iter, completed=progress.iteration, state=state)

            return show

        yield start


def _now_and_then(name: str, seconds: float = 10.0) -> Callback:
    """Progress for logs: a line at most every so many seconds."""
    is_due = make_pace(seconds)

    def show(progress: Progress) -> None:
        if is_due():
            err.print(
                f"{escape(name)}: iteration {progress.iteration} of at most {progress.max_iter}, "
                f"objective {progress.objective:.6g}, change {progress.change:.1e}",
                soft_wrap=True,
            )

    return show


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C only makes the yielded function return True; the second interrupts."""
    interrupts = 0

    def asked() -> bool:
        if interrupts:
            from absentia.app._exit_codes import patience

            patience.heard()
        return interrupts > 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            raise KeyboardInterrupt
        err.print("stopping after this iteration (Ctrl-C again to give up)")

    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def warnings_kept() -> Iterator[list[str]]:
    """Warnings go to standard error as usual; our own, which are sentences, are kept for the report too."""
    from absentia.core import is_absentia_warning

    kept: list[str] = []
    show = warnings.showwarning

    def keep(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if is_absentia_warning(message):
            kept.append(str(message))
        show(message, *args, **kwargs)

    warnings.showwarning = keep
    try:
        yield kept
    finally:
        warnings.showwarning = show


_said: set[str] = set()


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as one line, each sentence once."""
    if str(message) in _said:
        return
    _said.add(str(message))
    err.print(f"[yellow]warning[/]: {printable(str(message))}", soft_wrap=True)


@contextmanager
def step_bar(name: str, total: int, seconds: float = 10.0) -> Iterator[Callable[[], None]]:
    """Progress of so many steps; each call of the yielded function is one done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("step {task.completed} of {task.total}"),
        TimeElapsedColumn(),
    )
    done, is_due = 0, make_pace(seconds)
    with _bar(*columns) as bar:
        task = bar.add_task(escape(name), total=total)

        def step() -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=min(done, total))
            if not err.is_terminal and is_due():
                err.print(f"{escape(name)}: step {done} of {total}", soft_wrap=True)

        yield step
