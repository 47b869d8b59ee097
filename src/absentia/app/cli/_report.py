"""``absentia report``: the page of a comparison, drawn again from its records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from absentia.app._terminal import printable
from absentia.app.cli._compare import PAGE, finish
from absentia.app.cli._inspect import JSON
from absentia.app.cli._words import say

# isort: split
from cyclopts import Parameter

from absentia.app._checks import check_report
from absentia.core import warn
from absentia.data import AbsenceWarning
from absentia.experiment.comparison import open_study


def report(
    folder: Annotated[Path, Parameter(name="FOLDER", help="A folder of absentia compare.")],
    /,
    *,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Draw the page and the table of a comparison again, of whatever trials are done.

    Example: absentia report compared/
    """
    check_report(folder / PAGE)
    study = open_study(folder)
    left = study.outstanding()
    if not left.reused and study.records.hashes():
        raise ValueError(
            f"{folder}: its records are all of other data, folds or versions than the design asks for; the "
            f"page is left as it is: run the trials again with absentia work {folder}"
        )
    for path, why in study.records.damaged.items():
        told = f"{path}: is no whole record and is left out ({why})"
        warn(f"{told}; absentia work {folder} makes it again", AbsenceWarning)
    if left.todo and not json:
        say(printable(left.sentence))
    finish(study, json)
