"""``absentia example`` and ``demo``: data to try everything on, and the main job on data at hand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from absentia.app import _exit_codes as exit_codes
from absentia.app._checks import check_folder, check_number, check_report, check_whole
from absentia.app._terminal import Whole
from absentia.app.cli._flags import Force
from absentia.app.cli._output import call, say, say_where

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.experiment.comparison import Study

#: Some of every kind, quick enough to be tried ten times in a minute.
METHODS = (
    *("average", "complete-cases", "mean-svm", "linear", "fusion", "forest"),
    *("mkl", "amkl-convex", "amkl-penalized", "knn-svm", "cvkt-svm", "cvkt-linear"),
)
COMPLETERS = ("mean", "zero", "knn", "cvkt")
REPEATS = 2
_MIN_DIGITS, _MAX_DIGITS = 50, 1797  # digits: five of each, and all there are
DATA = "digits.npz"


def demo(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("absentia-demo"),
    n_samples: Whole = 200,
    absent: float = 0.3,
    seed: Whole = 0,
    force: Force = False,
) -> None:
    """Hide views of handwritten digits, and compare what can be done about it: a page in about a minute.

    Example: absentia demo --absent 0.5

    Parameters
    ----------
    output
        Folder for the page, its records and the views, made if it is not there.
    n_samples
        Number of digits, up to 1797.
    absent
        Share of sample-view pairs to hide, 0 to 0.8.
    seed
        Seed of the random choice of what is hidden, and of the folds.
    force
        Replace files that are there and not written by absentia.
    """
    check_whole("--n-samples", n_samples, _MIN_DIGITS, _MAX_DIGITS)
    check_number("--absent", absent, most=0.8)
    check_whole("--seed", seed, 0)
    check_folder(output)
    check_report(output / "report.html")
    from absentia import files
    from absentia.app.cli._compare import check_study_folder
    from absentia.app.cli._study import finish, run_trials
    from absentia.app.comparison import count_jobs
    from absentia.experiment.engine import Pool

    check_study_folder(output, force, DATA)
    study = demo_study(n_samples, absent, seed, output)
    study.save()
    views, y = _hidden_digits(n_samples, absent, seed)
    files.write(output / DATA, views, digit=y)
    run_trials(study, Pool(count_jobs(None, study.data.data), apart=True), retry=False)
    finish(study)
    say("more, on the same views and on tables:")
    data = output / DATA
    for command in (
        call("inspect", data, labels="digit"),
        f"{call('compare', data, labels='digit')} -o compared    # with every method",
        f"{call('example', Path('breast'))}    # a made-up cohort: three tables, labels with gaps",
    ):
        say(f"  {command}")


def demo_study(n_samples: int, absent: float, seed: int, folder: Path) -> Study:
    """The digits with a share of their views hidden, and methods to compare on them."""
    from absentia.experiment.comparison import Design, Study, make_task_data

    views, y = _hidden_digits(n_samples, absent, seed)
    flags = ("--n-samples", n_samples, "--absent", absent, "--seed", seed)
    design = Design(
        METHODS,
        repeats=REPEATS,
        seed=seed,
        completers=COMPLETERS,
        title=f"Handwritten digits in six views, {absent:.0%} of them hidden",
        call=shlex.join([str(folder / DATA), "--labels", "digit"]),
        command=shlex.join(["absentia", "demo", "-o", str(folder), *map(str, flags)]),
    )
    return Study(make_task_data(views, y), design, folder)


def _hidden_digits(n_samples: int, absent: float, seed: int) -> tuple[Any, Any]:
    """The views as the methods get them, and the digits."""
    from absentia import datasets
    from absentia.data import missingness

    views, y = datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    return views.hide(missingness.mcar(views, absent, random_state=seed)), y


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
    exit_codes.written.expect(folder / "labels.csv", new / "labels.csv")
    from absentia import datasets

    datasets.write_cohort(folder, new, seed)
    say("made-up patients of three subtypes: expression, methylation, clinical; some lack views or a label")
    say_where(cohort=folder, new_patients=_relative(new))
    where = shlex.quote(str(folder))
    say(f"next:  absentia inspect {where} --labels labels.csv:subtype")
    say(f"       absentia compare {where} --labels labels.csv:subtype -o compared")
    say(f"       absentia fit {where} --labels labels.csv:subtype -o model.absentia")
    say(f"       absentia predict model.absentia {shlex.quote(str(_relative(new)))} -o predicted.csv")


def _relative(path: Path) -> Path:
    """As it is called from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
