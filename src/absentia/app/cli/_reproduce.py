"""``absentia reproduce``: a table or figure of a paper again, our number beside the published one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from absentia.app._terminal import MaybeWhole, out, printable
from absentia.app.cli._output import say, say_where

# isort: split
from cyclopts import Parameter
from rich.table import Table

from absentia.app import _exit_codes as exit_codes
from absentia.app._checks import check_folder, check_replaced, check_report, check_whole
from absentia.app._trials import Watch, watched
from absentia.app.cli._flags import Force
from absentia.experiment.engine import Pool
from absentia.files import is_own_file, write_atomically
from absentia.papers import (
    Experiment,
    Reproduction,
    Summary,
    as_mappings,
    chart_svg,
    describe_versions,
    find_experiment,
    list_experiments,
    list_papers,
    markdown,
    missing_data,
    render_pages,
    summarise,
    write_records,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path("reproduced")
NAME = "One of absentia reproduce --list, or a .toml file of your own, or all."
OUTPUT = Parameter(
    name=["--output", "-o"], help="Folder for records and pages; the same command goes on in it."
)
QUICK = Parameter(name="--quick", negative="", help="In small, to see that everything runs.")
REPEATS = Parameter(help="How often; by default as often as the published pages were made with.")
PAGES = Parameter(help="Store the records in this folder and make all its pages again from its records.")
_LIST = Parameter(name="--list", negative="", help="List what can be reproduced, and do nothing else.")
JOBS = Parameter(name=["--jobs", "-j"], help="Processes; by default one for each core.")
RETRY = Parameter(name="--retry", negative="", help="Run again what failed before.")


def reproduce(
    name: Annotated[str | None, Parameter(name="NAME", help=NAME)] = None,
    /,
    *,
    quick: Annotated[bool, QUICK] = False,
    repeats: Annotated[MaybeWhole, REPEATS] = None,
    output: Annotated[Path, OUTPUT] = FOLDER,
    pages: Annotated[Path | None, PAGES] = None,
    jobs: Annotated[MaybeWhole, JOBS] = None,
    retry: Annotated[bool, RETRY] = False,
    force: Force = False,
    list_all: Annotated[bool, _LIST] = False,
) -> None:
    """Run the experiment behind a table or figure of a paper, and write a page with both numbers.

    Data that cannot be made are read from the folder that ABSENTIA_DATA names. Ctrl-C stops; the same
    command goes on.

    Example: absentia reproduce cvkt-table2 --quick
    """
    if list_all:
        return out.print(_make_list(pages))
    if name is None and pages is None:
        raise ValueError("a NAME, or --list, is wanted; see absentia reproduce --help")
    check_whole("--repeats", repeats, 1, 10_000)
    check_whole("--jobs", jobs, 1, 4096)
    check_folder(output)
    check_report(output / "page.html")
    for experiment in _select_experiments(name):
        _check_replaced(output / f"{experiment.name}.html", force)
        _run(experiment.reduced(quick, repeats), quick, output, pages, _make_pool(jobs), retry)
    if pages is not None:
        _write_pages(pages)
    return None


def _check_replaced(page: Path, force: bool) -> None:
    """Refuse to replace the page of an experiment, and what goes beside it, if the page is not ours."""
    if not is_own_file(page):
        check_replaced([page.with_suffix(ending) for ending in (".html", ".md", ".svg")], force)


def _select_experiments(name: str | None) -> Sequence[Experiment]:
    """The one that was asked for by name, or all whose data are at hand."""
    if name is None:
        return []
    if name != "all":
        return [find_experiment(name)]
    able = list_experiments().values()
    for experiment in able:
        if missing := missing_data(experiment):
            say(printable(f"{experiment.name}: left out, as {', '.join(missing)} is not at hand"))
    return [experiment for experiment in able if not missing_data(experiment)]


def _make_pool(jobs: int | None) -> Pool:
    from joblib import cpu_count

    return Pool(jobs or int(cpu_count()), apart=True)


def _run(
    experiment: Experiment, quick: bool, output: Path, pages: Path | None, pool: Pool, retry: bool
) -> None:
    work = Reproduction(experiment, output)
    todo, total = work.outstanding(retry), len(work.trials)
    say(printable(f"{experiment.name}: {total} trials, {total - len(todo)} are there already"))
    exit_codes.written.explain_kept(lambda: f"{len(work.done())} of {total} trials are kept in {output}")
    with watched(Watch(todo, pool.jobs)) as watch:
        work.run(todo, pool, watch.tell, watch.begin)
    summary = summarise(experiment, as_mappings(work.done()))
    _finish(summary, quick, output)
    if pages is not None:
        write_records(pages, experiment, work.done(), quick)


def _finish(summary: Summary, quick: bool, output: Path) -> None:
    """The page, twice, and what it says."""
    from absentia.app import report

    experiment = summary.experiment
    picture = f"{experiment.name}.svg" if experiment.chart else ""
    if picture:
        _write(output / picture, chart_svg(summary))
    text = _write(output / f"{experiment.name}.md", markdown(summary, quick, picture))
    page = report.save(report.render_reproduction(summary, quick), output / f"{experiment.name}.html")
    for failure in summary.failures[:3]:
        say(printable(f"failed: {failure}"))
    say(f"[bold]{printable(summary.verdict)}[/]")
    say_where(page=page.resolve(), table=text)


def _write_pages(pages: Path) -> None:
    for name, content in render_pages(pages).items():
        _write(pages / name, content)
    say_where(index=pages / "index.md")


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, lambda file: file.write(content.encode()))


def _make_list(pages: Path | None = None) -> Table:
    """Name, paper, what, data, time, and whether the records of a folder are of the present versions."""
    table = Table(box=None, pad_edge=False)
    for title in ("name", "paper", "what", "data", "time", *(["records"] if pages else [])):
        table.add_column(title, no_wrap=title in ("name", "time"))
    short = {paper.key: paper.short for paper in list_papers()}
    for name, experiment in list_experiments().items():
        missing = missing_data(experiment)
        at_hand = "at hand" if experiment.data else "made up"
        data = f"not at hand: {', '.join(missing)}" if missing else at_hand
        minutes = f"{experiment.minutes:g} min"
        versions = [printable(describe_versions(pages, experiment))] if pages else []
        where = f"{short.get(experiment.paper, experiment.paper)}, {experiment.place}"
        table.add_row(name, where, printable(experiment.what), printable(data), minutes, *versions)
    return table
