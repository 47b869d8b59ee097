"""Flags that several verbs have, and parameters of methods as flags, read as the chosen method has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

from absentia.app._terminal import printable

# isort: split
from cyclopts import Parameter
from rich.console import Group as Lines
from rich.table import Table

if TYPE_CHECKING:
    from absentia.methods.catalogue import Entry

List = Annotated[
    bool,
    Parameter(
        name="--list",
        negative="",
        help="List the methods with their flags, or explain the flags of the one that --method names.",
    ),
]
Force = Annotated[
    bool,
    Parameter(
        name="--force", negative="", help="Replace files that are there and not written by absentia."
    ),
]
JSON = Parameter(name="--json", negative="", help="One JSON document instead of tables.")
#: What else is given is a parameter of the method.
MethodFlags = Annotated[
    str, Parameter(help="A parameter of the method; --list names them, --method NAME --list explains them.")
]


def read_flags(entry: Entry, flags: Mapping[str, str], known: Mapping[str, Entry]) -> dict[str, Any]:
    """Parameters of a method out of flags without dashes; refuse what is none, of no method at all too."""
    given = {f"--{name.replace('_', '-')}": text for name, text in flags.items()}
    strange = [flag for flag in given if flag not in entry.parameters()]
    if strange:
        flags_there = {flag for other in known.values() for flag in other.parameters()}
        if strange[0] not in flags_there:
            near = get_close_matches(strange[0], [*sorted(flags_there), *_VERB_FLAGS], 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f'Unknown option: "{strange[0]}".{hint}')
    return entry.read(given)


#: Flags of verbs that somebody may have meant.
_VERB_FLAGS = [
    *("--labels", "--output", "--method", "--C", "--kernel", "--log", "--probability", "--no-probability"),
    *("--report", "--no-report", "--no-quality", "--threads", "--force", "--json", "--list", "--repair"),
    *("--id", "--views", "--layer", "--use-rep", "--ignore", "--transpose", "--features-from-labels"),
    *("--approx", "--factors", "--std", "--quiet"),
]


def method_groups(groups: Mapping[str, Mapping[str, Entry]]) -> Lines:
    """Methods by what they learn, each group under a heading."""
    parts: list[Any] = []
    for heading, entries in groups.items():
        parts += [f"[bold]{heading}[/]" if not parts else f"\n[bold]{heading}[/]", method_table(entries)]
    return Lines(*parts)


def method_table(entries: Mapping[str, Entry]) -> Table:
    """Methods that are offered by name: when to use them, what they cannot do, their flags."""
    from absentia.methods.catalogue import variants_of

    table = Table("method", "when to use it", box=None, pad_edge=False)
    for name, entry in sorted(entries.items(), key=lambda item: not item[1].default):
        lines = [entry.when]
        if entry.takes == "features":
            lines.append("takes features, not kernels")
        if entry.cannot:
            lines.append(f"cannot {entry.cannot}")
        lines.append(" ".join(entry.parameters()))
        if variants := variants_of(entry):
            lines.append(f"with some of these set: {', '.join(variant.name for variant in variants)}")
        table.add_row(name, "\n".join(printable(line) for line in lines if line))
    return table


def flag_table(entry: Entry) -> Lines:
    """One method and its flags, each with the words of its docstring."""
    table = Table("flag", "what it is", box=None, pad_edge=False)
    for flag, parameter in entry.parameters().items():
        sentence = re.split(r"(?<=\.)\s", _strip_markup(parameter.words))[0].rstrip(".")
        default = "yes" if parameter.default is True else parameter.default or "no"
        words = "" if parameter.default is None else f"; default {default}"
        table.add_row(flag, printable(f"{sentence}: {parameter.said}{words}."))
    return Lines(f"[bold]{entry.name}[/]: {printable(entry.when)}", table)


def _strip_markup(words: str) -> str:
    """Words without the marks of reStructuredText."""
    words = re.sub(r":\w+:`~?([^`]*)`", r"\1", words)
    return re.sub(r"``?([^`]*)``?", r"\1", words)
