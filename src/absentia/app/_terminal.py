"""The terminal: two consoles, sentences and tables, warnings as one line each."""

from __future__ import annotations

import json
import os
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

try:
    import cyclopts  # noqa: F401 - the command line needs both
    from rich.console import Console
    from rich.markup import escape
except ImportError as _error:
    raise SystemExit(
        "absentia: the command line needs cyclopts and rich; install them with  pip install cyclopts rich"
    ) from _error


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read has gone: what that means is not the console's to say."""
        raise


_LINE_WIDTH, _HELP_WIDTH = 4000, 100  # characters of a line where there is no terminal


def _console(stderr: bool = False, width: int = _LINE_WIDTH) -> _Console:
    """Plain text where NO_COLOR says so or nobody looks; piped lines are as long as they are."""
    plain = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    console = _Console(stderr=stderr, highlight=False, **plain)  # type: ignore[arg-type]
    if not console.is_terminal:
        console.width = width
    return console


out, err = _console(), _console(stderr=True)
help_console = _console(width=_HELP_WIDTH)


def escape_unencodable() -> None:
    """Characters that the terminal does not have are shown by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """Text as it is, without markup, line breaks or anything else that moves the cursor."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def say(sentence: str) -> None:
    """A line on standard output, not wrapped."""
    out.print(sentence, soft_wrap=True)


def say_json(document: Any) -> None:
    """A JSON document on standard output, whatever else is to be quiet."""
    sys.stdout.write(json.dumps(document, indent=2, default=str, allow_nan=False) + "\n")


def say_where(**places: Path | None) -> None:
    """Where files are, those that were written."""
    for what, path in places.items():
        if path is not None:
            say(f"[bold]{what.replace('_', ' ')}[/]: {escape(str(path))}")


def format_command(*words: str | Path) -> str:
    """A command to go on with, as it is typed."""
    return escape(shlex.join(["absentia", *map(str, words)]))


# -------------------------------------------------------------------------------------------- warnings


_said: set[str] = set()


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as one line, each sentence once."""
    if str(message) in _said:
        return
    _said.add(str(message))
    err.print(f"[yellow]warning[/]: {printable(str(message))}", soft_wrap=True)


@contextmanager
def keep_warnings() -> Iterator[list[str]]:
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
