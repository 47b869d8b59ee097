"""A page in Markdown: tables with the paper's numbers in brackets, claims, departures, versions."""

from collections.abc import Iterator, Sequence

from absentia.papers._cells import MARKS_HELP, Cell, Row
from absentia.papers._experiment import Measure, list_papers
from absentia.papers._summary import Summary

LEAKS = "†"
READING = (
    f"In the tables {MARKS_HELP}; in brackets the paper's number; ≡ agrees with it to its last digit, = "
    "within two standard errors, + is better, − is worse. Standard errors are over repeats; with one, over "
    "views or classes."
)
EXACT = "≡"
SIGNS = {"reproduced": "=", "exceeded": "+", "not reproduced": "−", "not run": "", "": ""}


def markdown(summary: Summary, quick: bool = False, picture: str = "") -> str:
    """The page of an experiment."""
    return "\n".join(_lines(summary, quick, picture)).rstrip() + "\n"


def _lines(summary: Summary, quick: bool, picture: str) -> Iterator[str]:
    experiment = summary.experiment
    paper = next((paper for paper in list_papers() if paper.key == experiment.paper), None)
    yield f"# {experiment.name}: {experiment.what}\n"
    yield f"{experiment.place} of {paper.citation if paper else experiment.paper}\n"
    if quick:
        yield "**A run in small: its numbers say only that everything runs.**\n"
    yield f"**{summary.verdict}**"
    yield from (f"{sentence}" for sentence in experiment.why)
    yield ""
    if picture:
        yield f"![{experiment.what}]({picture})\n"
    for measure in experiment.measures:
        yield from _table(summary, measure)
    yield from _claims(summary)
    yield from _departures(summary)
    yield from _made(summary)


def _table(summary: Summary, measure: Measure) -> Iterator[str]:
    rows = summary.tables[measure.name]
    columns = [c for c in summary.experiment.columns if any(row.cells[c.name].values for row in rows)]
    if not columns:
        return
    yield f"## {measure.title}\n"
    names = [f"{c.name}{LEAKS if c.leaks else ''}" for c in columns]
    yield _line(["", *names])
    yield "|---" * (len(names) + 1) + "|"
    for row in rows:
        if any(row.cells[c.name].values for c in columns):
            yield _line([row.name, *(_ours(row.cells[c.name], measure) for c in columns)])
    yield ""
    yield from _beside(rows, measure)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _ours(cell: Cell, measure: Measure) -> str:
    """Our number with its mark, the published one in brackets, a sign for the verdict."""
    if cell.mean is None:
        return "-"
    number = f"{cell.mean:.{measure.digits}f}"
    number = {"best": f"**{number}**", "like the best": f"<u>{number}</u>"}.get(cell.mark, number)
    if cell.published is None:
        return number
    return f"{number} ({cell.published.text}) {EXACT if cell.exact else SIGNS[cell.verdict]}"


def _beside(rows: Sequence[Row], measure: Measure) -> Iterator[str]:
    """Every number that was published, line by line."""
    listed = [(row.name, cell) for row in rows for cell in row.cells.values() if cell.published is not None]
    if not listed:
        return
    yield "<details><summary>paper, ours, difference and standard error, cell by cell</summary>\n"
    yield _line(["", "method", "paper", "ours", "standard error", "difference", "verdict"])
    yield "|---" * 7 + "|"
    for name, cell in listed:
        yield _line([name, cell.column.name, *_numbers(cell, measure), cell.verdict])
    yield "\n</details>\n"


def _numbers(cell: Cell, measure: Measure) -> list[str]:
    assert cell.published is not None
    digits = max(measure.digits, cell.published.decimals)
    ours = "-" if cell.mean is None else f"{cell.mean:.{digits}f}"
    error = "-" if cell.error is None else f"{cell.error:.{digits}f}"
    off = "-" if cell.difference is None else f"{cell.difference:+.{digits}f}"
    return [cell.published.text, ours, error, off]


def _claims(summary: Summary) -> Iterator[str]:
    if not summary.claims:
        return
    yield "## Claims\n"
    yield _line(["the paper says", "by (paper)", "by (ours)", "standard error", "pairs", ""])
    yield "|---" * 6 + "|"
    for one in summary.claims:
        numbers = ["-" if x is None else f"{x:+.3g}" for x in (one.published, one.mean)]
        error = "-" if one.error is None else f"{one.error:.2g}"
        yield _line([one.words, *numbers, error, str(one.pairs), one.verdict])
    yield "\nDifferences are in favour of the method that is claimed better, paired by row and repeat.\n"


def _departures(summary: Summary) -> Iterator[str]:
    experiment = summary.experiment
    if experiment.departures:
        yield "## Where this differs from the paper\n"
        yield from (f"* {sentence}" for sentence in experiment.departures)
        yield ""
    if any(column.leaks for column in experiment.columns):
        yield f"{LEAKS} is told what is hidden from the others; shown beside, not counted.\n"


def _made(summary: Summary) -> Iterator[str]:
    experiment = summary.experiment
    repeats = f"{summary.repeats} repeat{'s' if summary.repeats != 1 else ''}"
    yield "## How it was made\n"
    yield "```console"
    yield f"$ absentia reproduce {experiment.name}"
    if experiment.full_repeats != experiment.repeats:
        yield f"$ absentia reproduce {experiment.name} --repeats {experiment.full_repeats}  # as the paper"
    yield "```\n"
    yield f"{summary.trials} trials, {repeats}, {summary.cpu:.0f} CPU seconds. {READING}"
    if summary.failures:
        yield f"\n{len(summary.failures)} trials failed, the first: {summary.failures[0]}"
    seconds = ", ".join(f"{name} {spent:.3g}" for name, spent in summary.seconds.items())
    yield f"\nCPU seconds of a trial, all of it counted: {seconds}."
    versions = ", ".join(f"{method} `{version}`" for method, version in summary.versions.items())
    yield f"\nSource of the methods involved: {versions}."
