"""``absentia inspect``: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from absentia.app._terminal import out, printable, show_warning
from absentia.app.cli._words import concerns, say

# isort: split
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from absentia.data import Presence


def inspect(file: Path, /) -> None:
    """Show the views of a file: sizes, share present, missing patterns, groups, warnings.

    Example: absentia inspect patients.npz

    Parameters
    ----------
    file
        An .npz file with keys `view_<name>` or K, and optionally mask, ids, names.
    """
    from absentia import files
    from absentia.core import at_most

    data = files.read(file)
    say(f"[bold]{escape(str(file))}[/]  {escape(data._headline())}")
    out.print(view_table(data))
    out.print(pattern_table(data))
    out.print(group_sentence(data))
    with at_most(None, len(data)):
        sentences = concerns(data)
    for sentence in sentences:
        show_warning(sentence)


def view_table(data: Presence) -> Table:
    table = Table("view", "size", "present", "samples", box=None, pad_edge=False)
    for name, present in zip(data.names, data.observed.T, strict=True):
        share = f"{present.mean():.0%}" if len(present) else "-"
        table.add_row(printable(name), data._size_of(name), share, f"{present.sum()} of {len(present)}")
    return table


def pattern_table(data: Presence, most: int = 10) -> Table:
    found, counts = data.patterns()
    table = Table(
        "samples", "share", "have", title="patterns", title_justify="left", box=None, pad_edge=False
    )
    for pattern, count in list(zip(found, counts, strict=True))[:most]:
        present = [name for name, has in zip(data.names, pattern, strict=True) if has]
        have = "every view" if len(present) == data.n_views else ", ".join(present) or "no view"
        table.add_row(str(count), f"{count / len(data):.0%}", printable(have))
    if len(counts) > most:
        table.add_row(str(counts[most:].sum()), "", f"one of {len(counts) - most} further patterns")
    return table


def group_sentence(data: Presence) -> str:
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
