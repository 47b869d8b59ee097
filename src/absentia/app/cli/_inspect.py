"""``absentia inspect``: what is in a file or folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from absentia.app._terminal import format_command, out, printable, say, say_json, show_warning
from absentia.app.cli._flags import DATA_HELP, JSON, LabelledReadOptions, LabelsFlag, flag_words, make_table

# isort: split
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from absentia.data import Presence
    from absentia.files import Labels, LoadedData


def inspect(
    data: Annotated[Path, Parameter(help=f"{DATA_HELP} Or a model written by absentia fit.")],
    /,
    *,
    labels: LabelsFlag = None,
    source: LabelledReadOptions = LabelledReadOptions(),  # noqa: B008 - it is frozen
    json: JSON = False,
) -> None:
    """Show what is there: views, columns, who has what, labels, what is worth a warning; or a model.

    Example: absentia inspect breast/ --labels labels.csv:subtype
    """
    from absentia import files

    if data.suffix.lower() == ".absentia" or files.holds_model(data):
        from absentia.methods import models

        _show_model(data, models.describe(data), json)
        return
    from absentia.app.cli._data import find_labels

    opened = source.open(data, labels)
    found = None
    if labels is not None or opened.labels is not None:
        found = find_labels(data, source, opened, labels)
    if json:
        say_json(_as_json(opened, found))
        return
    _show(data, opened, found)
    if found is not None:
        say(_next(data, labels, source, found, opened))


def _next(
    path: Path, labels: str | None, source: LabelledReadOptions, found: Labels, opened: LoadedData
) -> str:
    """The command to go on with, or why there is none."""
    from absentia.app.cli._data import explain_refusal

    words = [str(path), *([] if labels is None else ["--labels", labels]), *flag_words(source)]
    if found.kind == "multilabel":
        return f"next:  {format_command('compare', *words, '-o', 'compared')}"
    why = explain_refusal(found.without(opened.data), found, labels or "the labels of the manifest")
    if why:
        return f"absentia fit would refuse: {escape(why)}"
    return f"next:  {format_command('fit', *words, '-o', 'model.absentia')}"


def _show(path: Path, opened: LoadedData, labels: Labels | None) -> None:
    from absentia.app.cli._data import list_advice, list_concerns
    from absentia.core import limit_threads

    data = opened.data if labels is None else labels.without(opened.data)
    say(f"[bold]{escape(str(path))}[/]  {escape(data._headline())}")
    out.print(_view_table(data, labels))
    out.print(_pattern_table(data))
    say(_group_sentence(data))
    for note in opened.notes:
        say(f"note: {printable(note)}")
    with limit_threads(None, len(data)):
        sentences = [*list_concerns(data), *list_advice(data, labels)]
    for sentence in sentences:
        show_warning(sentence)


def _view_table(data: Presence, labels: Labels | None = None) -> Table:
    table = make_table("view", "samples", "present", "columns")
    for name, present in zip(data.names, data.observed.T, strict=True):
        share = f"{present.mean():.0%}" if len(present) else "-"
        count = f"{present.sum()} of {len(present)}"
        table.add_row(printable(name), count, share, printable(_describe_columns(data, name)))
    if labels is not None:
        from absentia.app.cli._data import describe_labels

        table.add_row("labels", "", "", printable(describe_labels(labels)))
    return table


def _describe_columns(data: Any, name: str) -> str:
    """What a view holds."""
    from absentia.data import Views, describe_columns

    if not isinstance(data, Views):
        return str(data._size_of(name))
    missing = data.missing_values[name]
    plural = "" if missing == 1 else "s"
    return describe_columns(data, name) + (f", {missing} value{plural} missing" if missing else "")


def _pattern_table(data: Presence, most: int = 10) -> Table:
    found, counts = data.patterns()
    table = make_table("samples", "share", "have")
    table.title, table.title_justify = "patterns", "left"
    for pattern, count in list(zip(found, counts, strict=True))[:most]:
        present = [name for name, has in zip(data.names, pattern, strict=True) if has]
        have = "every view" if len(present) == data.n_views else ", ".join(present) or "no view"
        table.add_row(str(count), f"{count / len(data):.0%}", printable(have))
    if len(counts) > most:
        table.add_row(str(counts[most:].sum()), "", f"one of {len(counts) - most} further patterns")
    return table


def _group_sentence(data: Presence) -> str:
    """What the connected components of co-observation mean for the user."""
    groups = data.components()
    import numpy as np

    sizes = np.bincount(groups[groups >= 0]).tolist()
    if len(sizes) <= 1:
        return "Some view or chain of views links every two samples that have any: one group."
    return (
        f"The samples fall into {len(sizes)} groups that no view ever sees together (sizes "
        f"{', '.join(str(s) for s in sizes[:8])}{', ...' if len(sizes) > 8 else ''}): "
        "kernel values between groups cannot be learned."
    )


def _as_json(opened: LoadedData, labels: Labels | None) -> dict[str, Any]:
    from absentia.app.cli._data import list_advice, list_concerns

    data = opened.data if labels is None else labels.without(opened.data)
    found: dict[str, Any] = {
        "kind": type(data).__name__,
        "samples": len(data),
        "views": [
            {"name": name, "samples": int(present.sum()), "columns": _describe_columns(data, name)}
            for name, present in zip(data.names, data.observed.T, strict=True)
        ],
        "notes": list(opened.notes),
        "warnings": [*list_concerns(data), *list_advice(data, labels)],
    }
    if labels is not None:
        found["labels"] = {
            "kind": labels.kind,
            "columns": list(labels.columns),
            "usable": int(labels.known.sum()),
            "empty": labels.empty,
            "unlabelled": labels.unlabelled,
            "in no view": list(labels.foreign),
        }
    return found


def _show_model(path: Path, described: dict[str, Any], json: bool) -> None:
    if json:
        say_json(described)
        return
    say(f"[bold]{escape(str(path))}[/]  a model: {printable(str(described['class']))}")
    table = make_table("", "")
    table.show_header = False
    for what, value in described.items():
        if what not in ("class", "features") and value not in (None, [], {}):
            table.add_row(what, printable(_short(value)))
    for view, names in (described.get("features") or {}).items():
        count = names if isinstance(names, int) else len(names)
        table.add_row(f"features of {printable(view)}", str(count))
    out.print(table)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
