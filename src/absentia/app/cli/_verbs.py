"""Flags and refusals of ``fit``, ``complete``, ``compare``, ``work``, ``report``, ``demo`` and ``example``.

What they do is in ``_fitting``, ``_completing`` and ``_comparing``, loaded when there is something to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import absentia
from absentia.app._exit_codes import explain_kept
from absentia.app._terminal import escape_text, format_command, out, say, say_paths
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import check_ending, check_folder, check_outputs, check_replaced, within

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.methods.catalogue import Entry, Family


# ----------------------------------------------------------------------------------------------------- fit


@Parameter(name="*")
@dataclass(frozen=True)
class FitOptions:
    """How to learn, and what to write.

    Parameters
    ----------
    method
        How to learn; see --list. By default auto, of which each kind of labels has its own.
    C
        Cost of a training error, or cv to select it by cross-validation.
    probability
        Also learn to give the probabilities of the classes.
    score
        What counts: balanced-accuracy (the default), accuracy, log-loss, auc or cost; classes are decided
        so that it is best.
    costs
        Table of costs of mistakes, true classes in rows and predicted ones in columns, by name.
    coverage
        Share of new samples that prediction sets are to cover, 0.9 by default: the report says what was
        reached.  That of predict --coverage may be another.
    report
        Where to write the HTML report; by default beside the model.
    no_rows
        Write a model without ids, feature rows or other numbers of training samples, to share: linear
        models and, of rbf kernels, random features; without prediction sets. docs/models.md has what it
        promises. The report is another matter.
    no_report
        No report, and so no cross-validation of the method and the baselines, and no prediction sets.
    """

    method: str | None = None
    C: Annotated[str, Parameter(name="--C")] = "cv"
    covariates: flag.Covariates = ()
    adjust: flag.Adjust = False
    source: flag.LabelledReadOptions = flag.LabelledReadOptions()  # noqa: RUF009 - it is frozen
    kernels: flag.ViewKernelOptions = flag.ViewKernelOptions()  # noqa: RUF009
    probability: bool = True
    score: str | None = None
    costs: Path | None = None
    coverage: flag.Coverage = None
    report: Path | None = None
    no_rows: flag.Switch = False
    no_report: flag.Switch = False
    threads: flag.Threads = None
    dask: flag.Dask = None
    force: flag.Force = False
    json: flag.JSON = False

    def parse_C(self) -> float | None:
        """A positive number, or None to select it by cross-validation."""
        if self.C == "cv":
            return None
        try:
            value = float(self.C)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--C is a positive number or cv, not {self.C!r}")
        return value

    def page(self, model: Path) -> Path | None:
        """Where the report goes, if one is wanted."""
        return None if self.no_report else self.report or model.with_suffix(".html")


def fit(
    data: Annotated[Path | None, Parameter(help=flag.DATA_HELP)] = None,
    /,
    *,
    labels: flag.Labels = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    options: FitOptions = FitOptions(),  # noqa: B008 - it is frozen
    list_methods: flag.List = False,
    cite: flag.Cite = False,
    **flags: flag.MethodFlags,
) -> None:
    """Learn classes, numbers or survival of samples from the views they have, and write the model.

    By default several kinds of methods are averaged, by what they tell of samples left out.
    Ctrl-C stops; nothing is written then.

    Example: absentia fit breast/ --labels labels.csv:subtype -o model.absentia

    Parameters
    ----------
    output
        The model, .absentia or .npz; it holds no code.
    """
    if list_methods:
        tasks: dict[str, Family] = {"classes": "classifier", "numbers": "regressor", "survival": "survival"}
        return _list_methods(tasks, options.method)
    if data is None or output is None:
        raise ValueError("DATA, --labels and -o MODEL.absentia are wanted; see absentia fit --help")
    _check_files(data, labels, output, options)
    from absentia.app.cli._fitting import run_fit

    run_fit(data, labels, output, options, flags)
    if cite:
        fitted = absentia.load(output)
        out.file.write(absentia.cite(getattr(fitted, "classifier", fitted)))
    return None


def _list_methods(groups: dict[str, Family], method: str | None = None, variants: bool = False) -> None:
    """List the methods of these families by heading, or the flags of one of them."""
    from absentia.methods.catalogue import find, list_entries

    if method is not None:
        return out.print(flag.flag_table(find(method, *groups.values())))
    entries = {heading: list_entries(family, variants=variants) for heading, family in groups.items()}
    return out.print(flag.method_groups(entries))


def _check_files(data: Path, labels: str | None, output: Path, options: FitOptions) -> None:
    """Refuse, before any work, what could not be written."""
    check_ending(output, "the model", ".absentia", ".npz")
    if options.no_report and options.report is not None:
        raise ValueError("--report and --no-report exclude one another")
    if options.no_report and options.coverage is not None:
        raise ValueError("--coverage is calibrated in the folds of the report; leave out --no-report")
    if options.no_rows and options.coverage is not None:
        raise ValueError("--coverage is calibrated by numbers of each sample, which --no-rows leaves out")
    page = options.page(output)
    named = [] if labels is None else [labels, labels.rpartition(":")[0] or labels]
    check_outputs([data, *map(Path, named)], [output, page], options.force)


# ------------------------------------------------------------------------------------------------ complete

_FAMILIES: tuple[Literal["completer"], Literal["matrix"]] = ("completer", "matrix")
_FILE = Parameter(
    help=f"{flag.DATA_HELP} Kernels are computed from features. For pma a CSV file (first line: column "
    "names; first field: row id; empty, NA or NaN: missing) or an .npz file with X and optionally row_ids, "
    "column_names, row_kernel, column_kernel."
)


@Parameter(name="*")
@dataclass(frozen=True)
class CompleteOptions:
    """How to read and complete, and what else to write.

    Parameters
    ----------
    values
        Fill in the features of absent views, not their kernels, and measure by hiding how far these are to
        be trusted. OUT is a folder with a CSV file for each view; in std/ their standard deviations, in
        proba/ the probabilities of categories, in about/ trust.csv and filled.csv. For .h5mu also a file of
        that kind, with layers absentia_completed and absentia_std.
    all_values
        With --values: fill features too that cannot be trusted, which are left empty otherwise.
    fill_gaps
        With --values: fill gaps inside observed rows too.
    coverage
        Also write low and high, the ends of intervals that hold for this share of completed values (0.9,
        say), calibrated by hiding observed ones in five more fits: into the .npz file, or for a matrix in
        .csv beside OUT, with the endings .low.csv and .high.csv.
    repair
        Make kernels that are not positive semidefinite so, by clipping or shifting eigenvalues.
    report
        Also write an HTML report here.
    no_quality
        Leave out of the report how well the method fills observed cells that are hidden, beside mean fill;
        absentia compare judges all methods.
    """

    source: flag.ReadOptions = flag.ReadOptions()  # noqa: RUF009 - it is frozen
    kernels: flag.ViewKernelOptions = flag.ViewKernelOptions()  # noqa: RUF009
    values: flag.Switch = False
    all_values: flag.Switch = False
    fill_gaps: flag.Switch = False
    coverage: flag.Coverage = None
    repair: Literal["clip", "shift"] | None = None
    report: Path | None = None
    no_quality: flag.Switch = False
    threads: flag.Threads = None
    dask: flag.Dask = None
    force: flag.Force = False


def complete(
    file: Annotated[Path | None, _FILE] = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    method: str | None = None,
    options: CompleteOptions = CompleteOptions(),  # noqa: B008 - it is frozen
    list_methods: flag.List = False,
    cite: flag.Cite = False,
    **flags: flag.MethodFlags,
) -> None:
    """Fill the missing rows and columns of kernels, absent values (--values), or a matrix (--method pma).

    Example: absentia complete breast/ -o completed.npz --method cvkt --report report.html

    Example: absentia complete breast/ -o filled/ --values

    Example: absentia complete table.csv -o completed.csv --method pma --report report.html

    Ctrl-C once stops after the current iteration, if that ends within seconds, and writes what is there
    (exit code 3); twice, or once with pma, writes nothing.

    Parameters
    ----------
    output
        The .npz file to write: K, mask, ids, names, and mask_before, who had been observed; or MATLAB's
        .mat file, with KH (n x n x views) and observed. For .h5mu and .h5ad also a file of that kind, the
        one that came with kernels and presence added. For pma a .csv file, with standard deviations
        beside it in OUT.std.csv, or an .npz file with X, std and observed.
    method
        How to complete, by default cvkt; see --list.
    """
    from absentia.methods.catalogue import find, list_entries

    if list_methods:
        return _list_methods({"kernels": "completer", "a matrix": "matrix"}, method)
    if file is None or output is None:
        raise ValueError(
            "an input FILE and an output (-o OUT.npz) are wanted; see absentia complete --help"
        )
    entry = find(method or "cvkt", *_FAMILIES)
    parameters = flag.read_flags(entry, flags, list_entries(*_FAMILIES), options)
    used = _complete(file, output, entry, parameters, options, default=method is None)
    if cite:
        out.file.write(absentia.cite(used))
    return None


def _complete(
    file: Path,
    output: Path,
    entry: Entry,
    parameters: Mapping[str, Any],
    options: CompleteOptions,
    default: bool,
) -> Any:
    """Complete what the file holds; the method that did it comes back."""
    from absentia.app.cli import _completing as completing

    if options.values:
        others = {"--report": options.report, "--coverage": options.coverage}
        _refuse("to --values", {"--repair": options.repair, "--dask": options.dask} | others)
        if entry.family == "matrix":
            raise ValueError(f"--values is for views, and {entry.name} completes one matrix; leave one out")
        completer = entry.make(**parameters) if parameters or not default else "auto"
        return completing.run_complete_values(file, output, completer, options)
    _refuse("without --values", {"--all-values": options.all_values, "--fill-gaps": options.fill_gaps})
    run = completing.run_complete_kernels
    if entry.family == "matrix":
        given = {"--kernel": options.kernels.kernel, "--log": options.kernels.log, "--dask": options.dask}
        _refuse(f"to method {entry.name!r}", given | {"--repair": options.repair})
        run = completing.run_complete_matrix
    run(file, output, entry, parameters, options)
    return entry.make(**parameters)


def _refuse(where: str, given: dict[str, Any]) -> None:
    """Refuse what means nothing there."""
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} does not apply {where}")


# ------------------------------------------------------------------------------------------------- compare

PAGE, TABLE = "report.html", "table.csv"
_KEPT = ("design.json", "data.absentia")  # what else a comparison keeps in its folder
_Folder = Annotated[Path, Parameter(help="A folder of absentia compare.")]
_DASK = Parameter(help="Address of a Dask scheduler whose workers see the same folder.")
_Patterns = Annotated[
    Path | None,
    Parameter(
        help="Also the scores to expect if samples come with other views: new data, whose patterns are "
        "counted, or a table of pattern (views joined by +) and share."
    ),
]
_SEVERAL = Parameter(consume_multiple=True, negative="")
_COMPARED: dict[str, Family] = {
    "with labels that are classes": "classifier",
    "with labels that are numbers": "regressor",
    "with times and events": "survival",
    "without labels": "completer",
}


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
    jobs: flag.Jobs = None,
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
        return _list_methods(_COMPARED, variants=True)
    if data is None or (output is None and not dry_run):
        raise ValueError("DATA and -o FOLDER are wanted; see absentia compare --help")
    if (json or cite) and (dry_run or plan_only or (json and cite)):
        raise ValueError("--json and --cite are for results, one of them; no --dry-run or --plan-only")
    if output is not None:
        check_folder(output)
        check_study_folder(output, force)
    out.quiet = out.quiet or json
    from absentia.app.cli import _comparing as comparing

    study, notes = comparing.make_study(data, labels, source, kernels, options, output, adjustment)
    mix = comparing.read_mix(patterns, source, study)
    for note in notes:
        say(escape_text(note))
    pool = comparing.make_pool(study, jobs, dask)
    if dry_run:
        return comparing.say_how_much(study, pool.jobs, retry)
    explain_kept(lambda: comparing.describe_kept_trials(study))
    study.save()
    if plan_only:
        return comparing.say_what_to_run(study)
    comparing.run_trials(study, pool, retry, thin=options.methods == ("auto",) and not options.all_repeats)
    comparing.fit_finalists(study, pool)
    return comparing.write_results(study, json, mix, cite)


def work(
    folder: _Folder,
    /,
    *,
    shard: str = "1/1",
    jobs: flag.Jobs = 1,
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
    from absentia.app.cli._comparing import run_shard

    run_shard(folder, shard, jobs, dask, retry)


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
    from absentia.app.cli._comparing import report_folder

    report_folder(folder, patterns, source, json)


def check_study_folder(folder: Path, force: bool, *others: str) -> None:
    """Refuse to replace files in a folder that is not of a comparison, unless by `force`."""
    if not all((folder / name).is_file() for name in _KEPT):
        check_replaced([folder / name for name in (PAGE, TABLE, *_KEPT, *others)], force)


# --------------------------------------------------------------------------------------------- data to try

DIGITS_FILE = "digits.npz"


def demo(
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("absentia-demo"),
    n_samples: Annotated[flag.Integer, Parameter(validator=within("--n-samples", 50, 1797))] = 200,
    absent: Annotated[float, Parameter(validator=within("--absent", 0, 0.8, "number"))] = 0.3,
    seed: Annotated[flag.Integer, Parameter(validator=within("--seed", 0))] = 0,
    force: flag.Force = False,
) -> None:
    """Hide views of handwritten digits, and compare what can be done about it: a page in about a minute.

    Example: absentia demo --absent 0.5

    Parameters
    ----------
    output
        Folder for the page, its records and the views, made if it is not there.
    n_samples
        Number of digits, from 50 (five of each) to 1797 (all there are).
    absent
        Share of sample-view pairs to hide, 0 to 0.8.
    seed
        Seed of the random choice of what is hidden, and of the folds.
    """
    check_folder(output)
    from absentia.app.cli import _comparing as comparing

    check_study_folder(output, force, DIGITS_FILE)
    study = comparing.make_demo_study(n_samples, absent, seed, output)
    study.save()
    data = study.data
    absentia.io.write(output / DIGITS_FILE, data.data, digit=data.y)  # each digit is its own code
    comparing.run_trials(study, comparing.make_pool(study), retry=False)
    comparing.write_results(study)
    say("more, on the same views and on tables:")
    where = (output / DIGITS_FILE, "--labels", "digit")
    say(f"  {format_command('inspect', *where)}")
    say(f"  {format_command('compare', *where, '-o', 'compared')}    # with every method")
    say("  absentia example breast    # a made-up cohort: three tables, labels with gaps")


def example(folder: Path, /, *, seed: flag.Integer = 0) -> None:
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
