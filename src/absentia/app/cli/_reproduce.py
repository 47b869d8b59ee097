"""``absentia reproduce``: a table or figure of a paper again, our number beside the published one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import absentia
from absentia.app._exit_codes import explain_kept
from absentia.app._terminal import TrialProgress, escape_text, out, say, say_paths, show_trials
from absentia.app.cli._flags import (
    Force,
    Jobs,
    OptionalInteger,
    Retry,
    Switch,
    check_folder,
    check_replaced,
    make_table,
    within,
)

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from absentia.experiment.engine import Pool
    from absentia.papers import Experiment, Summary


def reproduce(
    name: str | None = None,
    /,
    *,
    quick: Switch = False,
    repeats: Annotated[OptionalInteger, Parameter(validator=within("--repeats", 1, 10_000))] = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("reproduced"),
    pages: Path | None = None,
    jobs: Annotated[Jobs, Parameter(help="Processes; by default one for each core.")] = None,
    retry: Retry = False,
    force: Force = False,
    list_all: Annotated[Switch, Parameter(name="--list")] = False,
) -> None:
    """Run the experiment behind a table or figure of a paper, and write a page (.md) with both numbers.

    Data that cannot be made are read from the folder that ABSENTIA_DATA names. Ctrl-C stops; the same
    command goes on.

    Example: absentia reproduce cvkt-table2 --quick

    Parameters
    ----------
    name
        One of absentia reproduce --list, or a .toml file of your own, or all.
    quick
        In small, to see that everything runs.
    repeats
        How often; by default as often as the published pages were made with.
    output
        Folder for records and pages; the same command goes on in it.
    pages
        Store the records in this folder and make all its pages again from its records.
    list_all
        List what can be reproduced, and do nothing else.
    """
    if list_all:
        return out.print(_make_list(pages))
    if name is None and pages is None:
        raise ValueError("a NAME, or --list, is wanted; see absentia reproduce --help")
    check_folder(output)
    for experiment in _select_experiments(name):
        if not (output / "trials").is_dir():  # with records in it, what lies beside them is ours
            check_replaced([output / f"{experiment.name}{ending}" for ending in (".md", ".svg")], force)
        _run(experiment.reduce(quick, repeats), quick, output, pages, _make_pool(jobs), retry)
    if pages is not None:
        _write_pages(pages)
    return None


def _select_experiments(name: str | None) -> Sequence[Experiment]:
    """The one that was asked for by name, or all whose data are at hand."""
    if name is None:
        return []
    if name != "all":
        return [absentia.papers.find_experiment(name)]
    able = absentia.papers.list_experiments().values()
    for experiment in able:
        if missing := absentia.papers.missing_data(experiment):
            say(escape_text(f"{experiment.name}: left out, as {', '.join(missing)} is not at hand"))
    return [experiment for experiment in able if not absentia.papers.missing_data(experiment)]


def _make_pool(jobs: int | None) -> Pool:
    from joblib import cpu_count

    from absentia.experiment.engine import Pool

    return Pool(jobs or int(cpu_count()), apart=True)


def _run(
    experiment: Experiment, quick: bool, output: Path, pages: Path | None, pool: Pool, retry: bool
) -> None:
    work = absentia.papers.Reproduction(experiment, output)
    todo, total = work.outstanding(retry), len(work.trials)
    say(escape_text(f"{experiment.name}: {total} trials, {total - len(todo)} are there already"))
    explain_kept(lambda: f"{len(work.done())} of {total} trials are kept in {output}")
    progress = TrialProgress(todo, pool.jobs)
    with show_trials(progress):
        work.run(todo, pool, progress.tell, progress.begin)
    _finish(absentia.papers.summarise(experiment, absentia.papers.as_mappings(work.done()), quick), output)
    if pages is not None:
        absentia.papers.write_records(pages, experiment, work.done(), quick)


def _finish(summary: Summary, output: Path) -> None:
    """The page, and what it says."""
    experiment = summary.experiment
    picture = f"{experiment.name}.svg" if experiment.chart else ""
    if picture:
        _write(output / picture, absentia.papers.chart_svg(summary))
    page = _write(output / f"{experiment.name}.md", absentia.papers.render_markdown(summary, picture))
    for failure in summary.failures[:3]:
        say(escape_text(f"failed: {failure}"))
    say(f"[bold]{escape_text(summary.verdict)}[/]")
    say_paths(page=page.resolve())


def _write_pages(pages: Path) -> None:
    for name, content in absentia.papers.render_pages(pages).items():
        _write(pages / name, content)
    say_paths(index=pages / "index.md")


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return absentia.io.write_atomically(path, lambda file: file.write(content.encode()))


def _make_list(pages: Path | None = None) -> Table:
    """Name, paper, what, data, time, and whether the records of a folder are of the present versions."""
    table = make_table()
    for title in ("name", "paper", "what", "data", "time", *(["records"] if pages else [])):
        table.add_column(title, no_wrap=title in ("name", "time"))
    short = {paper.key: paper.short for paper in absentia.papers.list_papers()}
    for name, experiment in absentia.papers.list_experiments().items():
        missing = absentia.papers.missing_data(experiment)
        at_hand = "at hand" if experiment.data else "made up"
        data = f"not at hand: {', '.join(missing)}" if missing else at_hand
        minutes = f"{experiment.minutes:g} min"
        versions = [escape_text(absentia.papers.describe_versions(pages, experiment))] if pages else []
        where = f"{short.get(experiment.paper, experiment.paper)}, {experiment.place}"
        table.add_row(name, where, escape_text(experiment.what), escape_text(data), minutes, *versions)
    return table
