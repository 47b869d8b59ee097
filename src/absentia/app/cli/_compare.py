"""``absentia compare``, ``work``, ``report``: which method works best on these data, and is it worth it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from absentia.app._checks import check_folder, check_replaced, check_report, check_whole
from absentia.app._terminal import MaybeWhole, Whole, out, printable
from absentia.app.cli._flags import JSON, Force, List, method_groups
from absentia.app.cli._output import call, say
from absentia.app.cli._source import DATA, LABELS, Kernels, LabelledFeatures, Logs

# isort: split
from cyclopts import Parameter

PAGE, TABLE = "report.html", "table.csv"
DESIGN, _TASK_DATA = "design.json", "data.absentia"  # what else a comparison keeps in its folder
_MAX_JOBS = 4096
FOLDER = Parameter(
    name=["--output", "-o"], help="Folder for records, table and page; the same command goes on in it."
)
JOBS = Parameter(name=["--jobs", "-j"], help="Processes; by default one for each core, if memory allows.")
_DASK = Parameter(help="Address of a Dask scheduler whose workers see the same folder.")
RETRY = Parameter(name="--retry", negative="", help="Run again what failed before.")
_DRY = Parameter(
    name="--dry-run",
    negative="",
    help="Say how many fits there are and, if it is known, how long they take.",
)
PLAN = Parameter(name="--plan-only", negative="", help="Write data and design, to be run by absentia work.")
_SHARD = Parameter(help="NUMBER/COUNT: this part of the trials, as 3/16; by default all.")
METHODS = Parameter(
    name="--methods", help="auto, or names; see --list.", consume_multiple=True, negative=""
)
_RATES = Parameter(
    name="--rates",
    help="Also hide these shares of the observed cells, for curves.",
    consume_multiple=True,
    negative="",
)
EQUAL = Parameter(name="--equivalence", help="Differences up to this are practically nil.")
_HIDE = Parameter(name="--hide", help="Share of the observed cells to hide, without labels.")
TIME = Parameter(name="--time-limit", help="CPU seconds that a fit may take; more is a failure.")
MEMORY = Parameter(name="--memory-limit", help="Memory that a fit may take, as 4G; more is a failure.")
_THIN = Parameter(
    name="--all-repeats", negative="", help="Try slow methods as often as others, and very slow ones too."
)
Mechanism = Literal["own", "mcar", "per-view", "exclusive"]


@Parameter(name="*")
@dataclass(frozen=True)
class CompareOptions:
    """What is tried, how often, and what it is judged by."""

    methods: Annotated[tuple[str, ...], METHODS] = ("auto",)
    metric: Annotated[str | None, Parameter(name="--metric", help="What is ranked by.")] = None
    repeats: Annotated[Whole, Parameter(name="--repeats", help="Of the folds, or of the hiding.")] = 5
    cv: Annotated[Whole, Parameter(name="--cv", help="Folds.")] = 5
    hide: Annotated[float, _HIDE] = 0.2
    mechanism: Annotated[Mechanism, Parameter(name="--mechanism", help="How cells are hidden.")] = "own"
    rates: Annotated[tuple[float, ...], _RATES] = ()
    equivalence: Annotated[float, EQUAL] = 0.01
    seed: Annotated[Whole, Parameter(name="--seed", help="Of folds, of what is hidden, of methods.")] = 0
    all_repeats: Annotated[bool, _THIN] = False
    time_limit: Annotated[float | None, TIME] = None
    memory_limit: Annotated[str | None, MEMORY] = None

    def words(self) -> list[str]:
        """The flags that were given, as they are typed."""
        return [word for field in fields(self) for word in self._flag(field.name, field.default)]

    def _flag(self, name: str, default: Any) -> Iterator[str]:
        value = getattr(self, name)
        if value == default:
            return
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield from map(str, value if isinstance(value, tuple) else [value])


@Parameter(name="*")
@dataclass(frozen=True)
class ReadOptions:
    """How the data are read, and kernels made of them."""

    source: LabelledFeatures = LabelledFeatures()  # noqa: RUF009 - it is frozen
    kernel: Kernels = ()
    log: Logs = ()

    def words(self) -> list[str]:
        """The flags that were given, as they are typed."""
        lists = {"--kernel": self.kernel, "--log": self.log}
        own = [word for flag, values in lists.items() if values for word in (flag, *values)]
        return [*self.source.words(), *own]


def compare(
    data: Annotated[Path | None, Parameter(name="DATA", help=DATA)] = None,
    /,
    *,
    labels: Annotated[str | None, Parameter(help=LABELS)] = None,
    output: Annotated[Path | None, FOLDER] = None,
    options: CompareOptions = CompareOptions(),  # noqa: B008 - it is frozen
    reading: ReadOptions = ReadOptions(),  # noqa: B008
    jobs: Annotated[MaybeWhole, JOBS] = None,
    dask: Annotated[str | None, _DASK] = None,
    retry: Annotated[bool, RETRY] = False,
    force: Force = False,
    dry_run: Annotated[bool, _DRY] = False,
    plan_only: Annotated[bool, PLAN] = False,
    json: Annotated[bool, JSON] = False,
    list_methods: List = False,
) -> None:
    """Try methods on data with absent views, rank them with honest statistics, and write a page.

    With --labels, samples are held out and predicted; without, observed cells are hidden and completed.
    Ctrl-C stops; the same command goes on.

    Example: absentia compare breast/ --labels labels.csv:subtype -o compared/
    """
    if list_methods:
        return _list_methods()
    if data is None or (output is None and not dry_run):
        raise ValueError("DATA and -o FOLDER are wanted; see absentia compare --help")
    if json and (dry_run or plan_only):
        raise ValueError("--json is for results; leave it out with --dry-run and --plan-only")
    check_whole("--jobs", jobs, 1, _MAX_JOBS)
    if output is not None:
        check_folder(output)
        check_report(output / PAGE)
        check_study_folder(output, force)
    out.quiet = out.quiet or json
    from absentia.app import _exit_codes as exit_codes
    from absentia.app.cli import _study as studies
    from absentia.app.comparison import count_jobs
    from absentia.experiment.engine import Pool

    study, notes = studies.make_study(data, labels, reading, options, output)
    for note in notes:
        say(printable(note))
    if dry_run:
        return studies.say_how_much(study, count_jobs(jobs, study.data.data), retry)
    exit_codes.written.explain_kept(lambda: studies.kept_words(study))
    study.save()
    if plan_only:
        return studies.say_what_to_run(study)
    pool = Pool(count_jobs(jobs, study.data.data), dask, apart=True)
    studies.run_trials(study, pool, retry, thin=options.methods == ("auto",) and not options.all_repeats)
    return studies.finish(study, json)


def work(
    folder: Annotated[Path, Parameter(name="FOLDER", help="A folder of absentia compare.")],
    /,
    *,
    shard: Annotated[str, _SHARD] = "1/1",
    jobs: Annotated[MaybeWhole, JOBS] = 1,
    dask: Annotated[str | None, _DASK] = None,
    retry: Annotated[bool, RETRY] = False,
) -> None:
    """Run trials of a comparison that are not done yet, for SLURM arrays and the like.

    Nobody coordinates: which trials a shard has follows from the design alone.

    Example: absentia work compared/ --shard 3/16
    """
    check_whole("--jobs", jobs, 1, _MAX_JOBS)
    from absentia.app.cli import _study as studies
    from absentia.app.comparison import count_jobs
    from absentia.experiment.comparison import open_study
    from absentia.experiment.engine import Pool, parse_shard, shard_of

    number, count = parse_shard(shard)
    study = open_study(folder)
    trials = shard_of(study.trials, number, count)
    pool = Pool(count_jobs(jobs, study.data.data), dask, apart=True)
    studies.run_trials(study, pool, retry, trials)
    left = len(study.outstanding().todo)
    if left:
        say(f"{left} of {len(study.trials)} trials are left to other shards")
    else:
        say(f"all {len(study.trials)} trials are done; next:  {call('report', folder)}")


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
    from absentia.app.cli._study import finish
    from absentia.core import warn
    from absentia.data import AbsenceWarning
    from absentia.experiment.comparison import open_study

    study = open_study(folder)
    left = study.outstanding()
    if not left.reused and study.records.hashes():
        raise ValueError(
            f"{folder}: its records are all of other data, folds or versions than the design asks for; the "
            f"page is left as it is: run the trials again with absentia work {folder}"
        )
    for path, why in study.records.damaged.items():
        damage = f"{path}: is no whole record and is left out ({why})"
        warn(f"{damage}; absentia work {folder} makes it again", AbsenceWarning)
    if left.todo and not json:
        say(printable(left.sentence))
    finish(study, json)


def check_study_folder(folder: Path, force: bool, *others: str) -> None:
    """Refuse to replace files in a folder that is not of a comparison, unless by `force`."""
    if not all((folder / name).is_file() for name in (DESIGN, _TASK_DATA)):
        check_replaced([folder / name for name in (PAGE, TABLE, DESIGN, _TASK_DATA, *others)], force)


def _list_methods() -> None:
    from absentia.methods.catalogue import offered

    groups = {
        "with labels that are classes": offered("classifier", variants=True),
        "with labels that are numbers": offered("regressor", variants=True),
        "with times and events": offered("survival", variants=True),
        "without labels": offered("completer"),
    }
    out.print(method_groups(groups))
