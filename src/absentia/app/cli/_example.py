"""``absentia example``: a small cohort to try everything on."""

from __future__ import annotations

import shlex
from pathlib import Path

from absentia.app import _endings as endings
from absentia.app._checks import check_folder
from absentia.app._terminal import Whole
from absentia.app.cli._words import say, say_where


def example(folder: Path, /, *, seed: Whole = 0) -> None:
    """Write a made-up cohort of patients: three tables with patients missing, labels, new patients.

    Example: absentia example breast/

    Parameters
    ----------
    folder
        Where to write the tables and labels.csv; the new patients go into newpatients beside it. Neither
        may be there yet.
    seed
        Seed of the made-up numbers.
    """
    new = folder.absolute().parent / "newpatients"
    for place in (folder, new):
        check_folder(place)
    endings.ledger.expect(folder / "labels.csv", new / "labels.csv")
    from absentia import datasets

    datasets.write_cohort(folder, new, seed)
    say("made-up patients of three subtypes: expression, methylation, clinical; some lack views or a label")
    say_where(cohort=folder, new_patients=_near(new))
    where = shlex.quote(str(folder))
    say(f"next:  absentia inspect {where} --labels labels.csv:subtype")
    say(f"       absentia compare {where} --labels labels.csv:subtype -o compared")
    say(f"       absentia fit {where} --labels labels.csv:subtype -o model.absentia")
    say(f"       absentia predict model.absentia {shlex.quote(str(_near(new)))} -o predicted.csv")


def _near(path: Path) -> Path:
    """As it is called from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
