"""``absentia compare``: which method works best on these data, and is it worth it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from absentia.app._terminal import MaybeWhole, out, printable
from absentia.app.cli._words import call as spoken
from absentia.app.cli._words import program, say, say_json, say_where

# isort: split
from cyclopts import Parameter
from rich.table import Table

from absentia.app import _endings as endings
from absentia.app._checks import check_folder, check_replaced, check_report, check_whole
from absentia.app._comparing import Comparison, jobs_of
from absentia.app._trials import StudyWatch, watched
from absentia.app.cli._flags import Force, List, method_groups
from absentia.app.cli._inspect import JSON
from absentia.app.cli._question import Question, Reading, asked
from absentia.app.cli._source import DATA, LABELS
from absentia.experiment.comparison import FAMILY, Study, seconds_words
from absentia.experiment.engine import Pool
from absentia.methods.catalogue import offered

if TYPE_CHECKING:
    from absentia.experiment.engine import Trial

PAGE, TABLE = "report.html", "table.csv"
DESIGN, PROBLEM = "design.json", "data.absentia"  # what else a comparison keeps in its folder
FOLDER = Parameter(
    name=["--output", "-o"], help="Folder for records, table and page; the same command goes on in it."
)
JOBS = Parameter(name=["--jobs", "-j"], help="Processes; by default one for each core, if memory allows.")
DASK = Parameter(help="Address of a Dask scheduler whose workers see the same folder.")
RETRY = Parameter(name="--retry", negative="", help="Run again what failed before.")
DRY = Parameter(
    name="--dry-run", negative="", help="Say how many fits there are and about how long they take."
)
PLAN = Parameter(name="--plan-only", negative="", help="Write data and design, to be run by absentia work.")


def compare(
    data: Annotated[Path | None, Parameter(name="DATA", help=DATA)] = None,
    /,
    *,
    labels: Annotated[str | None, Parameter(help=LABELS)] = None,
    output: Annotated[Path | None, FOLDER] = None,
    question: Question = Question(),  # noqa: B008 - it is frozen
    reading: Reading = Reading(),  # noqa: B008
    jobs: Annotated[MaybeWhole, JOBS] = None,
    dask: Annotated[str | None, DASK] = None,
    retry: Annotated[bool, RETRY] = False,
    force: Force = False,
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
    if json and (dry_run or plan_only):
        raise ValueError("--json is for results; leave it out with --dry-run and --plan-only")
    _check(output, jobs, force)
    out.quiet = out.quiet or json
    study, notes = asked(data, labels, reading, question, output)
    for note in notes:
        say(printable(note))
    if dry_run:
        return _say_how_much(study, jobs_of(jobs, study.problem.data), retry)
    endings.ledger.keeps(lambda: kept_words(study))
    study.save()
    if plan_only:
        return _say_what_to_run(study)
    run_trials(study, Pool(jobs_of(jobs, study.problem.data), dask, apart=True), retry)
    return finish(study, json)


def _check(output: Path | None, jobs: int | None, force: bool) -> None:
    check_whole("--jobs", jobs, 1, 4096)
    if output is not None:
        check_folder(output)
        check_report(output / PAGE)
        check_study_folder(output, force)


def check_study_folder(folder: Path, force: bool, *others: str) -> None:
    """Refuse to replace files in a folder that is not of a comparison, unless by `force`."""
    if not all((folder / name).is_file() for name in (DESIGN, PROBLEM)):
        check_replaced([folder / name for name in (PAGE, TABLE, DESIGN, PROBLEM, *others)], force)


def _offered() -> dict[str, Any]:
    return {
        "with labels that are classes": offered(FAMILY["classes"], variants=True),
        "with labels that are numbers": offered(FAMILY["numbers"], variants=True),
        "without labels": offered(FAMILY["completion"]),
    }


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
    endings.ledger.keeps(lambda: kept_words(study))
    own = {trial.hash for trial in todo}
    for path, why in study.records.damaged.items():
        if path.stem in own:
            say(printable(f"{path}: is no whole record and is made again ({why})"))
    with watched(StudyWatch(study, todo, pool.jobs)) as watch:
        study.run(todo, pool, watch.tell, watch.begin)


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
    from absentia.files import write_atomically

    found = Comparison(study)
    page, table = study.folder / PAGE, study.folder / TABLE
    content = found.table().to_csv().encode()
    report.save(report.render_comparison(found.findings), page)
    write_atomically(table, lambda file: file.write(content))
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
            f"{words(span.low)} to {words(span.high)}" if span and isfinite(span.low) else "-",
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
