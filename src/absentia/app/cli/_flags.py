"""Parameters of methods as flags: made from what they declare, read as the chosen method has them."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Annotated, Any, get_type_hints

from absentia.app._terminal import printable

# isort: split
from cyclopts import Group, Parameter
from rich.console import Group as Lines
from rich.table import Table

from absentia.methods.catalogue import Entry, variants_of

#: A flag that verbs with methods have.
List = Annotated[
    bool,
    Parameter(name="--list", negative="", help="List the methods with their flags, and do nothing else."),
]
#: One that verbs with output have.
Force = Annotated[
    bool,
    Parameter(
        name="--force", negative="", help="Replace files that are there and not written by absentia."
    ),
]
GROUP = Group("Parameters of methods", sort_key=10)


def with_flags(entries: Iterable[Entry]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that also has a flag for every parameter of these methods.

    They come to the function as one dict `flags` of texts, those that were given; a flag that the function
    has itself is its own.
    """
    methods: dict[str, list[Entry]] = {}
    for entry in entries:
        for flag in entry.parameters():
            methods.setdefault(flag, []).append(entry)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = [p for p in inspect.signature(function).parameters.values() if p.name != "flags"]
        own = [p.replace(annotation=hints[p.name]) for p in own]
        taken = {f"--{p.name.replace('_', '-')}" for p in own} | {"--C"}
        more = {_identifier(flag): flag for flag in methods if flag not in taken}

        @wraps(function)
        def command(*args: Any, **given: Any) -> None:
            texts = {more[name]: given.pop(name) for name in list(given) if name in more}
            function(*args, **given, flags={flag: text for flag, text in texts.items() if text is not None})

        extra = [_parameter(name, flag, methods[flag]) for name, flag in more.items()]
        command.__signature__ = inspect.Signature([*own, *extra])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in [*own, *extra]}
        return command

    return decorate


def _identifier(flag: str) -> str:
    return "flag_" + flag.removeprefix("--").replace("-", "_")


def _parameter(name: str, flag: str, entries: list[Entry]) -> inspect.Parameter:
    """A flag that takes a text, with the words of the first method that has it."""
    note = Parameter(name=flag, help=_help(flag, entries), group=GROUP, show_default=False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, note]
    )


def _help(flag: str, entries: list[Entry]) -> str:
    parameter = entries[0].parameters()[flag]
    sentence = re.split(r"(?<=\.)\s", _plain(parameter.words))[0].rstrip(".")
    names, default = ", ".join(entry.name for entry in entries), parameter.default
    usual = "" if default is None else f"; default {'yes' if default is True else default or 'no'}"
    return f"{sentence} ({names}): {parameter.said}{usual}."


def _plain(words: str) -> str:
    """Words without the marks of reStructuredText."""
    words = re.sub(r":\w+:`~?([^`]*)`", r"\1", words)
    return re.sub(r"``?([^`]*)``?", r"\1", words)


def method_groups(groups: Mapping[str, Mapping[str, Entry]]) -> Lines:
    """Methods by what they learn, each group under a heading."""
    parts: list[Any] = []
    for heading, entries in groups.items():
        parts += [f"[bold]{heading}[/]" if not parts else f"\n[bold]{heading}[/]", method_table(entries)]
    return Lines(*parts)


def method_table(entries: Mapping[str, Entry]) -> Table:
    """Methods that are offered by name: when to use them, what they cannot do, their flags."""
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
