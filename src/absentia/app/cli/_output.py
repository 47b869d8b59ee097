"""Tables and sentences that several verbs say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.app._terminal import out

# isort: split
from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Mapping


#: ``-o -``: standard output.
STANDARD = Path("-")


def say(sentence: str) -> None:
    """A line on standard output, not wrapped."""
    out.print(sentence, soft_wrap=True)


def say_json(document: Any) -> None:
    """A JSON document on standard output, whatever else is to be quiet."""
    import json
    import sys

    sys.stdout.write(json.dumps(document, indent=2, default=str, allow_nan=False) + "\n")


def program() -> str:
    """How this command line is called from here: by its name if that is found, else by its place."""
    import shutil
    import sys

    place = Path(sys.argv[0])
    if place.name != "absentia" or shutil.which("absentia"):
        return "absentia"
    near = place.absolute()
    return str(near.relative_to(Path.cwd()) if near.is_relative_to(Path.cwd()) else near)


def call(verb: str, *places: Path, **flags: str | None) -> str:
    """A command to go on with, as it is typed."""
    import shlex

    given = [word for flag, value in flags.items() if value is not None for word in (f"--{flag}", value)]
    words = shlex.join([program(), verb, *map(str, places), *given])
    return escape(words)


def say_where(**places: Path | None) -> None:
    """Where files are, those that were written."""
    for what, path in places.items():
        if path is not None:
            say(f"[bold]{what.replace('_', ' ')}[/]: {escape(str(path))}")


def say_what_is_next(model: Path, report: Path | None) -> None:
    """Where a model and its report are, and what to do with it."""
    say_where(model=model, report=report)
    say(f"next:  {call('predict', model)} NEW -o predicted.csv")


def made_with() -> str:
    """What a report was made with."""
    import numpy as np

    import absentia

    return f"absentia {absentia.__version__}, NumPy {np.__version__}"


def parameters_in_words(parameters: Mapping[str, Any]) -> str:
    given = {name: value for name, value in parameters.items() if name not in ("callback", "verbose")}
    return ", ".join(f"{name}={value!r}" for name, value in given.items()) or "as they are"
