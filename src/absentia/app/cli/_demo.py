"""``absentia example`` and ``demo``: data to try everything on, and the main job on data at hand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import absentia
from absentia.app._terminal import format_command, say, say_paths
from absentia.app.cli._flags import Force, Integer, check_folder, check_number

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.experiment.comparison import Study

#: Some of every kind, quick enough to be tried ten times in a minute.
_METHODS = (
    *("average", "complete-cases", "mean-svm", "linear", "fusion", "forest"),
    *("mkl", "amkl-convex", "amkl-penalized", "knn-svm", "cvkt-svm", "cvkt-linear"),
)
_REPEATS = 2
_MIN_DIGITS, _MAX_DIGITS = 50, 1797  # digits: five of each, and all there are
_DATA_FILE = "digits.npz"


def demo(
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("absentia-demo"),
    n_samples: Integer = 200,
    absent: float = 0.3,
    seed: Integer = 0,
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
    """
    check_number("--n-samples", n_samples, _MIN_DIGITS, _MAX_DIGITS)
    check_number("--absent", absent, 0, 0.8, kind="number")
    check_number("--seed", seed, 0)
    check_folder(output)
    from absentia.app.cli._compare import check_study_folder
    from absentia.app.cli._study import run_trials, write_results
    from absentia.app.comparison import count_jobs
    from absentia.experiment.engine import Pool

    check_study_folder(output, force, _DATA_FILE)
    study = demo_study(n_samples, absent, seed, output)
    study.save()
    data = study.data
    absentia.io.write(output / _DATA_FILE, data.data, digit=data.y)  # each digit is its own code
    run_trials(study, Pool(count_jobs(None, data.data), apart=True), retry=False)
    write_results(study)
    say("more, on the same views and on tables:")
    where = (output / _DATA_FILE, "--labels", "digit")
    say(f"  {format_command('inspect', *where)}")
    say(f"  {format_command('compare', *where, '-o', 'compared')}    # with every method")
    say("  absentia example breast    # a made-up cohort: three tables, labels with gaps")


def demo_study(n_samples: int, absent: float, seed: int, folder: Path) -> Study:
    """The digits with a share of their views hidden, and methods to compare on them."""
    from absentia.experiment.comparison import Design, Study, make_task_data

    views, y = absentia.datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    views = views.hide(absentia.missingness.mcar(views, absent, random_state=seed))
    flags = ("--n-samples", n_samples, "--absent", absent, "--seed", seed)
    design = Design(
        _METHODS,
        repeats=_REPEATS,
        seed=seed,
        title=f"Handwritten digits in six views, {absent:.0%} of them hidden",
        call=shlex.join([str(folder / _DATA_FILE), "--labels", "digit"]),
        command=shlex.join(["absentia", "demo", "-o", str(folder), *map(str, flags)]),
    )
    return Study(make_task_data(views, y), design, folder)


def example(folder: Path, /, *, seed: Integer = 0) -> None:
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
    absentia.datasets.write_cohort(folder, new, seed)
    say("made-up patients of three subtypes: expression, methylation, clinical; some lack views or a label")
    if new.is_relative_to(Path.cwd()):
        new = new.relative_to(Path.cwd())
    say_paths(cohort=folder, new_patients=new)
    data = (folder, "--labels", "labels.csv:subtype")
    say(f"next:  {format_command('inspect', *data)}")
    say(f"       {format_command('compare', *data, '-o', 'compared')}")
    say(f"       {format_command('fit', *data, '-o', 'model.absentia')}")
    say(f"       {format_command('predict', 'model.absentia', new, '-o', 'predicted.csv')}")
