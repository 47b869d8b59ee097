"""``absentia compare``: which method works best on these data, and is it worth it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absentia.app._terminal import MaybeWhole, Whole, out, printable, warnings_kept
from absentia.app.cli._words import call as spoken
from absentia.app.cli._words import program, say, say_json, say_where

# isort: split
from cyclopts import Parameter
from rich.table import Table

from absentia.app import _endings as endings
from absentia.app._checks import check_folder, check_report, check_whole
from absentia.app._comparing import Comparison, designed, jobs_of
from absentia.app.cli._flags import List, method_groups
from absentia.app.cli._inspect import JSON
from absentia.app.cli._source import DATA, LABELS, Kernels, Logs, Source, check_kernel_names, view_kernels
from absentia.app.cli._trials import watched
from absentia.experiment.comparison import FAMILY, Study, labelled, problem_of, seconds_words
from absentia.experiment.engine import Pool
from absentia.methods.catalogue import offered

if TYPE_CHECKING:
    from absentia.experiment.comparison import Problem
    from absentia.experiment.engine import Trial

PAGE, TABLE = "report.html", "table.csv"
FOLDER = Parameter(
    name=["--output", "-o"], help="Folder for records, table and page; the same command goes on in it."
)
METHODS = Parameter(help="auto, or names; see --list.", consume_multiple=True, negative="")
RATES = Parameter(
    help="Also hide these shares of the observed cells, for curves.", consume_multiple=True, negative=""
)
JOBS = Parameter(name=["--jobs", "-j"], help="Processes; by default one for each core.")
DASK = Parameter(help="Address of a Dask scheduler whose workers see the same folder.")
TIME = Parameter(name="--time-limit", help="CPU seconds that a fit may take; more is a failure.")
MEMORY = Parameter(name="--memory-limit", help="Memory that a fit may take, as 4G; more is a failure.")
RETRY = Parameter(name="--retry", negative="", help="Run again what failed before.")
DRY = Parameter(
    name="--dry-run", negative="", help="Say how many fits there are and about how long they take."
)
PLAN = Parameter(name="--plan-only", negative="", help="Write data and design, to be run by absentia work.")
THIN = Parameter(
    name="--all-repeats", negative="", help="Try slow methods as often as others, and very slow ones too."
)


def compare(
    data: Annotated[Path | None, Parameter(name="DATA", help=DATA)] = None,
    /,
    *,
    labels: Annotated[str | None, Parameter(help=LABELS)] = None,
    output: Annotated[Path | None, FOLDER] = None,
    methods: Annotated[tuple[str, ...], METHODS] = ("auto",),
    metric: Annotated[str | None, Parameter(help="What is ranked by.")] = None,
    hide: Annotated[float, Parameter(help="Share of the observed cells to hide, without labels.")] = 0.2,
    mechanism: Annotated[
        Literal["own", "mcar", "per-view", "exclusive"], Parameter(help="How cells are hidden.")
    ] = "own",
    rates: Annotated[tuple[float, ...], RATES] = (),
    repeats: Whole = 5,
    cv: Whole = 5,
    seed: Whole = 0,
    equivalence: Annotated[float, Parameter(help="Differences up to this are practically nil.")] = 0.01,
    source: Source = Source(),  # noqa: B008 - it is frozen
    kernel: Kernels = (),
    log: Logs = (),
    jobs: Annotated[MaybeWhole, JOBS] = None,
    dask: Annotated[str | None, DASK] = None,
    time_limit: Annotated[float | None, TIME] = None,
    memory_limit: Annotated[str | None, MEMORY] = None,
    retry: Annotated[bool, RETRY] = False,
    all_repeats: Annotated[bool, THIN] = False,
    dry_run: Annotated[bool, DRY] = False,
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
        return out.print(method_groups(_offered()))
    if data is None or (output is None and not dry_run):
        raise ValueError("DATA and -o FOLDER are wanted; see absentia compare --help")
    _check(output, jobs, kernel)
    with warnings_kept() as remarks:
        problem, notes = _problem(data, source, labels, kernel, log)
    called = _called(data, labels, source, kernel, log)
    design = designed(
        problem,
        "auto" if methods == ("auto",) else methods,
        not all_repeats,
        metric=metric,
        hide=hide,
        mechanism=mechanism,
        rates=rates,
        repeats=repeats,
        cv=cv,
        seed=seed,
        equivalence=equivalence,
        title=_title(data, labels),
        call=called,
        command=_command(called, output, methods, metric, rates, repeats, cv, seed, hide),
        time_limit=time_limit,
        memory_limit=bytes_of(memory_limit),
        remarks=tuple(dict.fromkeys(remarks)),
    )
    study = Study(problem, design, output or Path("absentia-compare"))
    for note in notes:
        say(printable(note))
    if dry_run:
        return _say_how_much(study, jobs_of(jobs), retry)
    study.save()
    if plan_only:
        return _say_what_to_run(study)
    run_trials(study, Pool(jobs_of(jobs), dask, apart=True), retry)
    return finish(study, json)


def _check(output: Path | None, jobs: int | None, kernel: Sequence[str]) -> None:
    check_whole("--jobs", jobs, 1, 4096)
    check_kernel_names(kernel)
    if output is not None:
        check_folder(output)
        check_report(output / PAGE)


def _offered() -> dict[str, Any]:
    return {
        "with labels that are classes": offered(FAMILY["classes"]),
        "with labels that are numbers": offered(FAMILY["numbers"]),
        "without labels": offered(FAMILY["completion"]),
    }


def bytes_of(text: str | None) -> int | None:
    """``4G`` as a number."""
    from absentia.files import parse_bytes

    return None if text is None else parse_bytes(text, "--memory-limit")


# ------------------------------------------------------------------------------------------ what comes in


def _problem(
    path: Path, source: Source, labels: str | None, kernel: Sequence[str], log: Sequence[str]
) -> tuple[Problem, Sequence[str]]:
    """What is compared on, and what is to be said of it."""
    opened = source.open(path)
    if labels is None and opened.labels is None:
        return problem_of(opened.data, kernel=view_kernels(opened, kernel, log)), opened.notes
    from absentia.app.cli._training import read_training

    training = read_training(path, source, labels, kernel, log, kinds=("classes", "numbers", "multilabel"))
    task: Any = "labels" if training.kind == "multilabel" else training.kind
    return labelled(training.data, training.y, training.kernels, training.columns, task), training.notes


def _title(data: Path, labels: str | None) -> str:
    name = data.absolute().name
    return f"What works best on {name}" + (f": {labels.rpartition(':')[2]}" if labels else "")


def _called(
    data: Path, labels: str | None, source: Source, kernel: Sequence[str], log: Sequence[str]
) -> str:
    """The data and how they are read, as every verb takes them."""
    words = [str(data)]
    lists = {"--views": source.views, "--kernel": kernel, "--log": log}
    texts = {"--labels": labels, "--id": source.id, "--layer": source.layer, "--use-rep": source.use_rep}
    words += [word for flag, value in texts.items() if value is not None for word in (flag, value)]
    words += [word for flag, values in lists.items() if values for word in (flag, *values)]
    return shlex.join(words)


def _command(
    called: str,
    output: Path | None,
    methods: Sequence[str],
    metric: str | None,
    rates: Sequence[float],
    *rest: Any,
) -> str:
    """This very command, as far as it changes what comes out."""
    words = ["absentia", "compare"]
    more = [] if output is None else ["-o", str(output)]
    more += [] if tuple(methods) == ("auto",) else ["--methods", *methods]
    more += [] if metric is None else ["--metric", metric]
    more += ["--rates", *map(str, rates)] if rates else []
    usual = {"--repeats": 5, "--cv": 5, "--seed": 0, "--hide": 0.2}
    for (flag, default), value in zip(usual.items(), rest, strict=True):
        more += [] if value == default else [flag, str(value)]
    return f"{' '.join(words)} {called} {shlex.join(more)}".strip()


# ----------------------------------------------------------------------------------------------- running


def run_trials(study: Study, pool: Pool, retry: bool, trials: Sequence[Trial] | None = None) -> None:
    """Run what has no record yet, of all trials or of these."""
    wanted = None if trials is None else {trial.hash for trial in trials}
    left = study.outstanding(retry)
    todo = [trial for trial in left.todo if wanted is None or trial.hash in wanted]
    say(
        printable(
            left.sentence if wanted is None else f"{left.sentence}; {len(todo)} of them in this shard"
        )
    )
    for path in study.records.damaged:
        say(printable(f"{path}: is no whole record and is made again"))
    endings.ledger.keeps(lambda: kept_words(study))
    with watched(study, todo, pool.jobs) as watch:
        study.run(todo, pool, watch.tell, watch.begin)
    endings.ledger.keeps(None)


def kept_words(study: Study) -> str:
    """What is there when somebody stops before the end."""
    there = len(study.records.hashes() & {trial.hash for trial in study.trials})
    folder = shlex.quote(str(study.folder))
    return (
        f"{there} of {len(study.trials)} trials are kept in {study.folder}; the same command, or absentia "
        f"work {folder}, goes on, and absentia report {folder} shows what is there"
    )


def finish(study: Study, json: bool = False) -> None:
    """The page and the table, and what they say."""
    from absentia.app import report
    from absentia.files import write_whole

    found = Comparison(study)
    page, table = study.folder / PAGE, study.folder / TABLE
    content = found.table().to_csv().encode()
    report.save(report.render_comparison(found.findings), page)
    write_whole(table, lambda file: file.write(content))
    if json:
        return say_json(as_json(found))
    verdict = found.findings.verdict
    say(f"[bold]{printable(verdict.headline)}[/]")
    for sentence in verdict.details:
        say(printable(sentence))
    out.print(ranking(found))
    say_where(page=page.resolve(), table=table)
    if verdict.command:
        say(f"next:  {printable(verdict.command.replace('absentia', program(), 1))}")
    return None


def as_json(found: Comparison) -> dict[str, Any]:
    """For programs."""
    verdict, told = found.findings.verdict, found.findings
    table = found.table().reset_index().astype(object)
    return {
        "sentence": verdict.headline,
        "details": list(verdict.details),
        "recommended": verdict.recommended,
        "winner": verdict.winner,
        "simplest": verdict.simplest,
        "metric": told.metric.name,
        "trials": {"done": told.done, "wanted": told.wanted},
        "methods": table.where(table.notna(), None).to_dict("records"),
        "page": str(found.study.folder / PAGE),
    }


def ranking(found: Comparison) -> Table:
    """The table, as far as it fits a terminal."""
    told, words = found.findings, found.study.words
    table = Table(box=None, pad_edge=False)
    for name in (
        "method",
        told.metric.name,
        "95% interval",
        f"to {told.verdict.simplest}",
        "p (Holm)",
        "CPU s",
    ):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    table.add_column("remark", overflow="ellipsis", no_wrap=True)
    differences = {one.method: one for one in told.differences}
    for row in told.rows:
        span, one = row.scores.get(told.metric.name), differences.get(row.method)
        table.add_row(
            printable(row.method),
            words(span.value) if span else "-",
            f"{words(span.low)} to {words(span.high)}" if span else "-",
            f"{100 * one.mean:+.1f}" if one and told.metric.share else f"{one.mean:+.3g}" if one else "-",
            f"{one.adjusted:.3f}" if one else "-",
            "-" if row.cpu is None else f"{row.cpu:.2f}",
            printable(_remark(row))[:60],
        )
    return table


def _remark(row: Any) -> str:
    if row.left_out:
        return f"not tried: {row.left_out}"
    failed = f"{row.failed} of {row.wanted} failed: {row.errors[0]}" if row.failed else ""
    return failed or ("baseline" if row.baseline else "")


def _say_how_much(study: Study, jobs: int, retry: bool) -> None:
    left = study.outstanding(retry)
    say(printable(left.sentence))
    seconds = study.expected_seconds(left.todo)
    wall = f"{seconds_words(seconds / jobs)} on {jobs} core{'s' if jobs > 1 else ''}"
    say(f"about {seconds_words(seconds)} of CPU time, {wall}; nothing was run")
    for name, why in study.design.left_out.items():
        say(printable(f"not tried: {name} {why}"))


def _say_what_to_run(study: Study) -> None:
    folder = study.folder
    say(printable(study.outstanding().sentence))
    say("run them with any number of processes that see the folder:")
    say(f"  {spoken('work', folder)} --shard 1/16    # to 16/16")
    say(f"then:  {spoken('report', folder)}")
