"""``absentia inspect``, ``cite``: what is in a file or folder, and what to cite of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import absentia
from absentia.app._terminal import escape_text, format_command, out, say, say_json, show_warning
from absentia.app.cli import _flags as flag

# isort: split
from cyclopts import Parameter
from rich.markup import escape

if TYPE_CHECKING:
    from absentia.app.cli._data import DescribedData
    from absentia.data import Presence
    from absentia.methods.inspection import Absence

_MAX_PATTERNS = 10  # that have a row of their own


def inspect(
    data: Annotated[Path, Parameter(help=f"{flag.DATA_HELP} Or a model written by absentia fit.")],
    /,
    *,
    labels: flag.Labels = None,
    covariates: flag.Covariates = (),
    source: flag.LabelledReadOptions = flag.LabelledReadOptions(),  # noqa: B008 - it is frozen
    json: flag.JSON = False,
) -> None:
    """Show what is there: views, columns, who has what, why, labels, what is worth a warning; or a model.

    Example: absentia inspect breast/ --labels labels.csv:subtype
    """
    if data.suffix.lower() == ".absentia" or absentia.io.holds_model(data):
        _show_model(data, absentia.models.describe(data), json)
        return
    from absentia.app.cli._data import (
        describe_samples,
        explain_labelled_absence,
        list_advice,
        list_concerns,
        read_some,
    )
    from absentia.core import limit_threads

    samples = describe_samples(data, source, source.open(data, labels), labels, covariates)
    features, some_labels, looked_at = read_some(samples.data, samples.labels)
    with limit_threads(None, len(features)):
        absence = explain_labelled_absence(features, some_labels, samples.covariates)
        advice = [*list_concerns(samples.data), *list_advice(features, some_labels)]
    notes = [*samples.notes, *([looked_at] if looked_at else [])]
    document = _describe_data(samples, notes, advice)
    if json:
        say_json(document | {"absence": absence.to_dict()})
        return
    _show_data(data, samples, document)
    if not features.observed.all():
        _show_absence(absence)
    if labels is not None:
        say(_suggest_command(data, labels, covariates, source, samples))


def _suggest_command(
    path: Path,
    labels_flag: str,
    covariates: Sequence[str],
    source: flag.LabelledReadOptions,
    samples: DescribedData,
) -> str:
    """Return a line with the command that learns these labels, or with the reason why ``fit`` would not."""
    from absentia.app.cli._data import explain_refusal

    arguments = [str(path), "--labels", labels_flag, *flag.flag_words(source)]
    covariates_words = ["--covariates", *covariates] if covariates else []
    labels = samples.labels
    assert labels is not None
    if labels.kind == "multilabel":
        return f"next:  {format_command('compare', *arguments, '-o', 'compared')}"
    reason = explain_refusal(samples.data, labels, labels_flag)
    if reason:
        return f"absentia fit would refuse: {escape(reason)}"
    return f"next:  {format_command('fit', *arguments, *covariates_words, '-o', 'model.absentia')}"


def _show_data(path: Path, samples: DescribedData, document: dict[str, Any]) -> None:
    """Print tables of the views and of who has which, then notes, then warnings."""
    data, n = samples.data, document["samples"]
    say(f"[bold]{escape(str(path))}[/]  {escape(data._headline())}")
    table = flag.make_table("view", "samples", "present", "columns")
    for name, count, columns in (view.values() for view in document["views"]):
        share = f"{count / n:.0%}" if n else "-"
        table.add_row(escape_text(name), f"{count} of {n}", share, escape_text(columns))
    if samples.labels is not None:
        from absentia.app.cli._data import describe_labels

        table.add_row("labels", "", "", escape_text(describe_labels(samples.labels)))
    out.print(table)
    table = flag.make_table("samples", "share", "have")
    table.title, table.title_justify = "patterns", "left"
    patterns = [tuple(pattern.values()) for pattern in document["patterns"]]
    for count, have in patterns[:_MAX_PATTERNS]:
        views = "every view" if len(have) == data.n_views else ", ".join(have) or "no view"
        table.add_row(str(count), f"{count / n:.0%}", escape_text(views))
    if rest := patterns[_MAX_PATTERNS:]:
        table.add_row(str(sum(count for count, _ in rest)), "", f"one of {len(rest)} further patterns")
    out.print(table)
    say(_describe_groups(data))
    for note in document["notes"]:
        say(f"note: {escape_text(note)}")
    for sentence in document["warnings"]:
        show_warning(sentence)


def _describe_columns(data: Any, name: str) -> str:
    """Describe the columns of a view, missing values included; of a kernel, its size."""
    if not isinstance(data, absentia.Views):
        return str(data._size_of(name))
    levels, missing = list(data.levels(name)), data.missing_values[name]
    numbers = data.block(name).shape[1] - len(levels)
    parts = [f"{numbers} numeric"] if numbers or not levels else []
    if levels:
        examples = ", ".join(levels[:5]) + (", ..." if len(levels) > 5 else "")
        parts.append(f"{len(levels)} categorical ({examples}) -> one-hot")
    if missing:
        parts.append(f"{missing} value{'' if missing == 1 else 's'} missing")
    return ", ".join(parts)


def _show_absence(absence: Absence) -> None:
    """Print how well it can be told who lacks which view, where it can be, and what that means."""
    table = flag.make_table("view", "absent", "told from", "AUC", "95% interval", "p, corrected")
    table.title, table.title_justify = "why absent", "left"
    for row in absence.notable.to_dict("records"):
        numbers = [f"{row['AUC']:.2f}", f"{row['low']:.2f} to {row['high']:.2f}"]
        cells = [escape_text(row["view"]), str(row["n absent"]), escape_text(row["from"])]
        p = row["p corrected"]
        table.add_row(*cells, *numbers, "<0.001" if p < 0.001 else f"{p:.3f}")
    if table.row_count:
        out.print(table)
    n_untold = int((absence.table["why not"] != "").sum())
    n_chance = len(absence.table) - len(absence.notable) - n_untold
    if n_chance + n_untold:
        which = "further tests" if table.row_count else "why absent: nothing is shown to tell it; tests"
        untold = f", {n_untold} with too little to tell by" if n_untold else ""
        say(f"{which}: {n_chance} that could be chance{untold} (--json has them all)")
    for note in absence.notes:
        say(f"note: {escape_text(note)}")
    if absence.pattern is not None:
        say(f"who has which view alone: {escape_text(absence.pattern.words)}")
    for sentence in absence.row_sentences:
        say(escape_text(sentence))
    if absence.pattern_sentence:
        show_warning(absence.pattern_sentence)


def _describe_groups(data: Presence) -> str:
    """Say into how many groups the samples fall that no chain of shared views links."""
    import numpy as np

    groups = data.components()  # number of each sample's group, -1 of those without any view
    sizes = np.bincount(groups[groups >= 0]).tolist()
    if len(sizes) <= 1:
        return "Some view or chain of views links every two samples that have any: one group."
    return (
        f"The samples fall into {len(sizes)} groups that no view ever sees together (sizes "
        f"{', '.join(str(s) for s in sizes[:8])}{', ...' if len(sizes) > 8 else ''}): "
        "kernel values between groups cannot be learned."
    )


def _describe_data(samples: DescribedData, notes: Sequence[str], advice: Sequence[str]) -> dict[str, Any]:
    """What there is, as ``--json`` prints it."""
    import numpy as np

    data, labels = samples.data, samples.labels
    document: dict[str, Any] = {
        "kind": type(data).__name__,
        "samples": len(data),
        "views": [
            {"name": name, "samples": int(present.sum()), "columns": _describe_columns(data, name)}
            for name, present in zip(data.names, data.observed.T, strict=True)
        ],
        "patterns": [
            {"samples": int(count), "have": np.array(data.names)[row].tolist()}
            for row, count in zip(*data.patterns(), strict=True)
        ],
        "notes": list(notes),
        "warnings": list(advice),
    }
    if labels is not None:
        document["labels"] = {
            "kind": labels.kind,
            "columns": list(labels.columns),
            "usable": int(labels.known.sum()),
            "empty": labels.empty,
            "unlabelled": labels.unlabelled,
            "in no view": list(labels.foreign),
        }
    return document


def _show_model(path: Path, description: dict[str, Any], json: bool) -> None:
    """Print what is in the file of a model: its class, parameters and training data."""
    if json:
        say_json(description)
        return
    say(f"[bold]{escape(str(path))}[/]  a model: {escape_text(str(description['class']))}")
    table = flag.make_table("", "")
    table.show_header = False
    for field, value in description.items():
        if field not in ("class", "features") and value not in (None, [], {}):
            table.add_row(field, escape_text(_format_value(value)))
    for view, names in (description.get("features") or {}).items():
        count = names if isinstance(names, int) else len(names)
        table.add_row(f"features of {escape_text(view)}", str(count))
    out.print(table)


def _format_value(value: Any) -> str:
    """Write a dict as ``key value, key value`` and a list as ``item, item``."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# ------------------------------------------------------------------------------------------------- papers


def cite(*methods: str) -> None:
    """Print BibTeX of the papers that methods are from, and of absentia.

    Example: absentia cite C-AMKL cvkt

    Example: absentia cite model.absentia

    Parameters
    ----------
    methods
        Names of methods, as commands or papers have them, or files of models.
    """
    models = [absentia.load(name) if Path(name).is_file() else name for name in methods]
    out.file.write(absentia.cite(*(getattr(model, "classifier", model) for model in models)))
