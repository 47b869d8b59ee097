"""The page about a reproduction: our tables beside the paper's, what became of its numbers."""

from types import SimpleNamespace
from typing import Any

from absentia.app.report._page import (
    DASH,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    definitions,
    format_number,
    get_words,
    heading,
    make_scrollable,
    make_section,
    make_table,
    note,
    render_page,
)
from absentia.core.svg import Markup, fill
from absentia.papers import Cell as Result
from absentia.papers import Measure, Summary, chart_svg, list_papers


def render_reproduction(summary: Summary) -> str:
    """The page as HTML."""
    sections = [
        _make_picture_section(summary),
        _make_tables_section(summary),
        _make_claims_section(summary),
        _make_comment_section(summary),
        _make_departures_section(summary),
        _make_provenance_section(summary),
    ]
    sheets = ["comparison.css", "reproduction.css"]
    return render_page(
        "reproduction", _make_story(summary), _list_figures(summary), sections, sheets=sheets
    )


def _make_story(summary: Summary) -> SimpleNamespace:
    """What the head of the page needs."""
    experiment = summary.experiment
    cited = next((p.citation for p in list_papers() if p.key == experiment.paper), experiment.paper)
    failed = [f"{len(summary.failures)} trials failed, the first: {one}" for one in summary.failures[:1]]
    return SimpleNamespace(
        title=f"{experiment.name}: {experiment.what}",
        summary=f"{experiment.place} of {cited.replace('*', '')} {summary.verdict}",
        warnings=failed,
    )


def _list_figures(summary: Summary) -> list[tuple[str, str]]:
    proposed = {} if summary.quick else summary.counts["proposed"]
    figures = [(format_number(n), f"of the proposed methods: {word}") for word, n in proposed.items() if n]
    if summary.claims_told:
        figures.append((f"{summary.claims_held} of {summary.claims_told}", "claims of the paper hold"))
    return [*figures[:3], (format_number(summary.trials), f"trials, {summary.cpu:.0f} CPU seconds")]


def _make_picture_section(summary: Summary) -> Section | None:
    if not summary.experiment.chart:
        return None
    picture = Markup(chart_svg(summary))  # our own, every word in it escaped
    blocks = [make_scrollable(picture, "Picture")]
    return Section("picture", "Picture", summary.experiment.what, blocks=blocks, css="drawn")


def _make_tables_section(summary: Summary) -> Section | None:
    blocks = []
    for measure in summary.experiment.measures:
        if any(cell.values for row in summary.tables[measure.name] for cell in row.cells.values()):
            blocks += [heading(measure.title), _make_measure_table(summary, measure)]
    if not blocks:
        return None
    if any(column.leaks for column in summary.experiment.columns):
        blocks.append(note(get_words("reproduction.tables.leaks")))
    return make_section("reproduction.tables", blocks)


def _make_measure_table(summary: Summary, measure: Measure) -> Markup:
    rows = summary.tables[measure.name]
    methods = [c for c in summary.experiment.columns if any(row.cells[c.name].values for row in rows)]
    shown = [
        Row([row.name, *(_make_cell(row.cells[c.name], measure) for c in methods)])
        for row in rows
        if any(row.cells[c.name].values for c in methods)
    ]
    heads = [f"{c.name} †" if c.leaks else c.name for c in methods]
    return make_table(measure.name, ["Row", *heads], shown)


def _make_cell(result: Result, measure: Measure) -> Cell:
    digits = measure.digits
    if result.published is not None:
        digits = max(digits, result.published.decimals)

    def write(value: float | None, sign: str = "") -> str:
        return "" if value is None else f"{value:{sign}.{digits}f}"

    mark = "best" if result.mark == "best" else "like" if result.mark else ""
    content = fill('<span class="{}">{}</span>', mark, write(result.mean) or DASH)
    if result.error is not None:
        content = fill("{}<small>± {}</small>", content, write(result.error))
    if result.published is not None and result.published.text:
        template = '{}<small>paper {}</small><small class="is-{}">{} {}</small>'
        verdict, difference = result.verdict, write(result.difference, "+")
        said = f"{verdict}: {result.reason}" if result.reason else verdict
        content = fill(template, content, result.published.text, verdict.split(" ")[0], difference, said)
    return Cell(content)


def _make_claims_section(summary: Summary) -> Section | None:
    if not summary.claims:
        return None
    verdict = Column("Verdict", numeric=False)
    columns: Columns = ["Claim", "by (paper)", "by (ours)", "standard error", "pairs", verdict]
    table = make_table("Claims", columns, [_make_claim_row(claim) for claim in summary.claims], file=None)
    return make_section("reproduction.claims", [table])


def _make_claim_row(claim: Any) -> Row:
    def write(value: float | None, form: str) -> str:
        return DASH if value is None else format(value, form)

    numbers = [write(claim.published, "+.3g"), write(claim.mean, "+.3g"), write(claim.error, ".2g")]
    return Row([claim.words, *numbers, str(claim.pairs), claim.verdict])


def _make_comment_section(summary: Summary) -> Section | None:
    if summary.comment is None:
        return None
    blocks = [fill("<p>{}</p>", sentence) for sentence in summary.comment.words]
    return make_section("reproduction.comment", blocks, date=summary.comment.date)


def _make_departures_section(summary: Summary) -> Section | None:
    departures = summary.experiment.departures
    if not departures:
        return None
    items = fill("<ul>{}</ul>", [fill("<li>{}</li>", sentence) for sentence in departures])
    return make_section("reproduction.departures", [items])


def _make_provenance_section(summary: Summary) -> Section:
    experiment = summary.experiment
    repeats = f"{summary.trials} trials, {summary.repeats} repeat{'' if summary.repeats == 1 else 's'}"
    if experiment.full_repeats != experiment.repeats:
        repeats += f"; the paper's number of repeats: --repeats {experiment.full_repeats}"
    facts = [(method, f"source {version}") for method, version in summary.versions.items()]
    facts += [(name, f"{spent:.3g} CPU seconds a trial") for name, spent in summary.seconds.items()]
    code = '<div class="code"><pre tabindex="0"><code>absentia reproduce {}</code></pre></div>'
    lead = fill('<p class="lead">{}</p>', get_words("reproduction.made.lead", repeats=repeats))
    blocks = [fill(code, experiment.name), lead, definitions(facts, "facts")]
    return make_section("reproduction.made", blocks, lead="")
