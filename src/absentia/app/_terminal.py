"""Output of the command line: consoles for standard output and standard error; warnings, a line each."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

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
