"""``absentia compare``, ``work``, ``report``: which method works best on these data, and is it worth it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from absentia.app._exit_codes import explain_kept
from absentia.app._terminal import escape_text, format_command, out, say
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import MAX_PROCESSES, check_folder, check_number, check_replaced

# isort: split
from cyclopts import Parameter

PAGE, TABLE = "report.html", "table.csv"
_KEPT = ("design.json", "data.absentia")  # what else a comparison keeps in its folder
_Folder = Annotated[Path, Parameter(help="A folder of absentia compare.")]
_Jobs = Annotated[
    flag.OptionalInteger,
    Parameter(alias="-j", help="Processes; by default one for each core, if memory allows."),
]
_DASK = Parameter(help="Address of a Dask scheduler whose workers see the same folder.")
_Patterns = Annotated[
    Path | None,
    Parameter(
        help="Also the scores to expect if samples come with other views: new data, whose patterns are "
        "counted, or a table of pattern (views joined by +) and share."
    ),
]
_SEVERAL = Parameter(consume_multiple=True, negative="")


@Parameter(name="*")
@dataclass(frozen=True)
class CompareOptions:
    """What is tried, how often, and what it is judged by.

    Parameters
    ----------
    methods
        auto, or names; see --list.
    score
        What counts, and is ranked by: balanced-accuracy, accuracy, log-loss, auc or cost of classes.
    costs
        Table of costs of mistakes, true classes in rows and predicted ones in columns, by name.
    repeats
        Of the folds, or of the hiding.
    cv
        Folds.
    leave_one_group_out
        Hold out every one of the --groups once, in place of folds and repeats; for up to 30, as sites.
    hide
        Share of the observed cells to hide, without labels.
    mechanism
        How cells are hidden.
    rates
        Also hide these shares of the observed cells, for curves.
    equivalence
        Differences up to this are practically nil.
    seed
        Of folds, of what is hidden, of methods.
    learning_curve
        Also say what more samples would add, or a view for more of them; takes more fits.
    all_repeats
        Try slow methods as often as others, and very slow ones too.
    max_samples
        Of more samples so many are compared on; leading methods are then fitted once to nearly all.
    time_limit
        CPU seconds that a fit may take; more is a failure.
    memory_limit
        Memory that a fit may take, as 4G; more is a failure.
    """

    methods: Annotated[tuple[str, ...], _SEVERAL] = ("auto",)
    score: str | None = None
    costs: Path | None = None
    repeats: flag.Integer = 5
    cv: flag.Integer = 5
    leave_one_group_out: flag.Switch = False
    hide: float = 0.2
    mechanism: Literal["own", "mcar", "per-view", "exclusive"] = "own"
    rates: Annotated[tuple[float, ...], _SEVERAL] = ()
    equivalence: float = 0.01
    seed: flag.Integer = 0
    learning_curve: flag.Switch = False
    all_repeats: flag.Switch = False
    max_samples: flag.Integer = 10_000
    time_limit: float | None = None
    memory_limit: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class AdjustOptions:
    """Columns that are no features, and whether features are adjusted for them."""

    covariates: flag.Covariates = ()
    adjust: flag.Adjust = False


def compare(
    data: Annotated[Path | None, Parameter(help=flag.DATA_HELP)] = None,
    /,
    *,
    labels: flag.Labels = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    adjustment: AdjustOptions = AdjustOptions(),  # noqa: B008
    options: CompareOptions = CompareOptions(),  # noqa: B008 - it is frozen
    source: flag.LabelledReadOptions = flag.LabelledReadOptions(),  # noqa: B008
    kernels: flag.ViewKernelOptions = flag.ViewKernelOptions(),  # noqa: B008
    patterns: _Patterns = None,
    jobs: _Jobs = None,
    dask: Annotated[str | None, _DASK] = None,
    retry: flag.Retry = False,
    force: flag.Force = False,
    dry_run: flag.Switch = False,
    plan_only: flag.Switch = False,
    json: flag.JSON = False,
    cite: flag.Cite = False,
    list_methods: flag.List = False,
) -> None:
    """Try methods on data with absent views, rank them with honest statistics, and write a page.

    With --labels, samples are held out and predicted; without, observed cells are hidden and completed.
    Ctrl-C stops; the same command goes on.

    Example: absentia compare breast/ --labels labels.csv:subtype -o compared/

    Parameters
    ----------
    output
        Folder for records, table and page; the same command goes on in it.
    dry_run
        Say how many fits there are and, if it is known, how long they take.
    plan_only
        Write data and design, to be run by absentia work.
    """
    if list_methods:
        return _list_methods()
    if data is None or (output is None and not dry_run):
        raise ValueError("DATA and -o FOLDER are wanted; see absentia compare --help")
    if (json or cite) and (dry_run or plan_only or (json and cite)):
        raise ValueError("--json and --cite are for results, one of them; no --dry-run or --plan-only")
    check_number("--jobs", jobs, 1, MAX_PROCESSES)
    if output is not None:
        check_folder(output)
        check_study_folder(output, force)
    out.quiet = out.quiet or json
    from absentia.app.cli import _study as studies
    from absentia.app.comparison import count_jobs
    from absentia.experiment.engine import Pool

    study, notes = studies.make_study(data, labels, source, kernels, options, output, adjustment)
    mix = studies.read_mix(patterns, source, study)
    for note in notes:
        say(escape_text(note))
    if dry_run:
        return studies.say_how_much(study, count_jobs(jobs, study.data.data), retry)
    explain_kept(lambda: studies.describe_kept_trials(study))
    study.save()
    if plan_only:
        return studies.say_what_to_run(study)
    pool = Pool(count_jobs(jobs, study.data.data), dask, apart=True)
    studies.run_trials(study, pool, retry, thin=options.methods == ("auto",) and not options.all_repeats)
    studies.fit_finalists(study, pool)
    return studies.write_results(study, json, mix, cite)


def work(
    folder: _Folder,
    /,
    *,
    shard: str = "1/1",
    jobs: _Jobs = 1,
    dask: Annotated[str | None, _DASK] = None,
    retry: flag.Retry = False,
) -> None:
    """Run trials of a comparison that are not done yet, for SLURM arrays and the like.

    Nobody coordinates: which trials a shard has follows from the design alone.

    Example: absentia work compared/ --shard 3/16

    Parameters
    ----------
    shard
        NUMBER/COUNT: this part of the trials, as 3/16; by default all.
    """
    check_number("--jobs", jobs, 1, MAX_PROCESSES)
    from absentia.app.cli import _study as studies
    from absentia.app.comparison import count_jobs
    from absentia.experiment.comparison import open_study
    from absentia.experiment.engine import Pool, parse_shard, shard_of

    number, count = parse_shard(shard)
    study = open_study(folder)
    trials = shard_of(study.trials, number, count)
    pool = Pool(count_jobs(jobs, study.data.data), dask, apart=True)
    studies.run_trials(study, pool, retry, trials)
    left = len(study.outstanding())
    if left:
        say(f"{left} of {len(study.trials)} trials are left to other shards")
    else:
        say(f"all {len(study.trials)} trials are done; next:  {format_command('report', folder)}")


def report(
    folder: _Folder,
    /,
    *,
    patterns: _Patterns = None,
    source: flag.ReadOptions = flag.ReadOptions(),  # noqa: B008 - it is frozen
    json: flag.JSON = False,
) -> None:
    """Draw the page and the table of a comparison again, of whatever trials are done.

    Example: absentia report compared/
    """
    from absentia.app.cli._study import read_mix, write_results
    from absentia.core import warn
    from absentia.data import AbsenceWarning
    from absentia.experiment.comparison import open_study

    study = open_study(folder)
    mix = read_mix(patterns, source, study)
    left = study.outstanding()
    if len(left) == len(study.trials) and study.records.hashes():
        raise ValueError(
            f"{folder}: its records are all of other data, folds or versions than the design asks for; the "
            f"page is left as it is: run the trials again with absentia work {folder}"
        )
    for path, why in study.records.damaged.items():
        damage = f"{path}: is no whole record and is left out ({why})"
        warn(f"{damage}; absentia work {folder} makes it again", AbsenceWarning)
    if left and not json:
        say(escape_text(study.describe_outstanding(left)))
    write_results(study, json, mix)


def check_study_folder(folder: Path, force: bool, *others: str) -> None:
    """Refuse to replace files in a folder that is not of a comparison, unless by `force`."""
    if not all((folder / name).is_file() for name in _KEPT):
        check_replaced([folder / name for name in (PAGE, TABLE, *_KEPT, *others)], force)


def _list_methods() -> None:
    from absentia.methods.catalogue import offered

    groups = {
        "with labels that are classes": offered("classifier", variants=True),
        "with labels that are numbers": offered("regressor", variants=True),
        "with times and events": offered("survival", variants=True),
        "without labels": offered("completer"),
    }
    out.print(flag.method_groups(groups))
