"""The page about a reproduction: our tables beside the paper's, what became of its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from absentia.app.report._page import Number, page
from absentia.app.report._text import number
from absentia.papers import Cell, Measure, Summary, chart_svg, list_papers

DASH = "–"
WORDS = {
    "reproduced": "reproduced within error",
    "exceeded": "better than published",
    "not reproduced": "not reproduced",
    "not run": "not run",
}


@dataclass(frozen=True)
class Shown:
    """A cell in words."""

    value: str
    error: str
    published: str
    difference: str
    verdict: str
    mark: str


@dataclass(frozen=True)
class Story:
    """What the page's frame needs."""

    title: str
    summary: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class Tabled:
    """The table of a measure."""

    measure: Measure
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[tuple[str, Sequence[Shown]]]


def render_reproduction(summary: Summary, quick: bool = False) -> str:
    """One self-contained HTML page."""
    from markupsafe import Markup

    experiment = summary.experiment
    tables = [table for measure in experiment.measures if (table := _table(summary, measure)).columns]
    # our own picture, every word in it escaped
    picture = Markup(chart_svg(summary)) if experiment.chart else ""
    sections = {
        "picture": "Picture" if picture else "",
        "tables": "Tables" if tables else "",
        "claims": "Claims" if summary.claims else "",
        "departures": "Differences of protocol" if experiment.departures else "",
        "made": "How it was made",
    }
    return page(
        "reproduction.html.j2",
        "reproduction",
        sections,
        _story(summary, quick),
        numbers=_numbers(summary),
        experiment=experiment,
        found=summary,
        tables=tables,
        picture=picture,
        claims=[_claim(one) for one in summary.claims],
    )


def _story(summary: Summary, quick: bool) -> Story:
    experiment = summary.experiment
    cited = next((p.citation for p in list_papers() if p.key == experiment.paper), experiment.paper)
    warnings = ["This was a run in small: its numbers say only that everything runs."] if quick else []
    if summary.failures:
        warnings.append(f"{len(summary.failures)} trials failed, the first: {summary.failures[0]}")
    words = f"{experiment.place} of {cited.replace('*', '')} {summary.verdict}"
    return Story(f"{experiment.name}: {experiment.what}", " ".join([words, *experiment.why]), warnings)


def _numbers(summary: Summary) -> list[Number]:
    found = [Number(number(count), WORDS[word]) for word, count in summary.counts.items() if count]
    if summary.claims:
        held = sum(one.verdict == "holds" for one in summary.claims)
        found.append(Number(f"{held} of {len(summary.claims)}", "claims of the paper hold"))
    return [*found[:3], Number(number(summary.trials), f"trials, {summary.cpu:.0f} CPU seconds")]


def _table(summary: Summary, measure: Measure) -> Tabled:
    rows = summary.tables[measure.name]
    columns = [c for c in summary.experiment.columns if any(row.cells[c.name].values for row in rows)]
    shown = [
        (row.name, [_cell(row.cells[c.name], measure) for c in columns])
        for row in rows
        if any(row.cells[c.name].values for c in columns)
    ]
    return Tabled(measure, [(c.name, c.leaks) for c in columns], shown)


def _cell(cell: Cell, measure: Measure) -> Shown:
    digits = measure.digits if cell.published is None else max(measure.digits, cell.published.decimals)

    def words(value: float | None, sign: str = "") -> str:
        return "" if value is None else f"{value:{sign}.{digits}f}"

    return Shown(
        words(cell.mean) or DASH,
        words(cell.error),
        "" if cell.published is None else cell.published.text,
        words(cell.difference, "+"),
        cell.verdict,
        cell.mark,
    )


def _claim(one: Any) -> dict[str, str]:
    def words(value: float | None, form: str) -> str:
        return DASH if value is None else format(value, form)

    return {
        "words": one.words,
        "published": words(one.published, "+.3g"),
        "ours": words(one.mean, "+.3g"),
        "error": words(one.error, ".2g"),
        "pairs": str(one.pairs),
        "verdict": one.verdict,
    }
