"""Records of a run in a file beside the documentation, and pages that are made from these files alone.

A page in Markdown has tables with the paper's numbers in brackets, claims, departures and versions.  Charts
are SVG that stands alone: lines over a factor of the design, in small panels, one for each value of another
factor and each measure.  Bars are standard errors over repeats.  A method has one colour, and its variants
(what begins alike up to a comma or hyphen) have dashes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from absentia.core.svg import Frame, Markup, element, fill, line, round_ticks, text, widen
from absentia.experiment.engine import Record
from absentia.files import FileError, write_atomically
from absentia.papers._experiment import (
    KINDS,
    Chart,
    Experiment,
    Measure,
    Observation,
    list_experiments,
    list_papers,
)
from absentia.papers._summary import (
    KIND_NOUNS,
    VERDICTS,
    Cell,
    Counts,
    Summary,
    TableRow,
    add_counts,
    describe_counts,
    summarise,
)
from absentia.papers.protocols import version_of

_RECORDS, _INDEX = "records", "index.md"
_INTRODUCTION = (
    "Every table and figure of the papers, by one command each: `absentia reproduce NAME`. A number agrees "
    "with the printed one to its last digit or within two standard errors of the difference, the printed "
    "spread over repeats included, or ours where none is printed; otherwise it is better or worse here. It "
    "is not comparable where ours has fewer than five repeats (views of one mask are not draws) or lacks "
    "some settings of its row. What is so by definition, or follows from other printed numbers, is not "
    "counted. This page and the others are made from the records beside them by "
    "`absentia reproduce --pages docs/reproduction`."
)
_STORED = ("trial", "status", "result", "error")
_LEAKS = "†"
_FOLLOWS = "*"
_HOW_TO_READ = (
    "In the tables bold: best of the row; underlined: not told from it by a one-sample t-test of paired "
    "differences over five repeats or more; in brackets the paper's number; ≡ is it to its last digit, = "
    "agrees within two standard errors, + is better, − is worse, ≠ differs where neither is better; "
    "without a sign it is not comparable. Standard errors are over repeats. * follows by definition or "
    "from other printed numbers, and is not counted."
)
_EXACT = "≡"
_SIGNS = {"agrees": " =", "better here": " +", "worse here": " −", "differs": " ≠"}


# --------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class _StoredRecords:
    """Records of an experiment out of a file: plain mappings, and whether the run was a small one."""

    records: Sequence[Mapping[str, Any]]
    quick: bool


def as_mappings(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as :func:`summarise` takes them."""
    return [asdict(record) for record in records]


def write_records(folder: Path, experiment: Experiment, records: Sequence[Record], quick: bool) -> Path:
    """One line about the run, then one for each trial; nothing where other experiments have its records."""
    path = folder / _RECORDS / f"{experiment.name}.jsonl"
    if experiment.records:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    made = dict(records[0].made) if records else {}
    lines: list[Any] = [{"experiment": experiment.name, "quick": quick, "made": made}]
    for record in as_mappings(records):
        needed = {name: record[name] for name in _STORED if record[name]}  # by pages
        lines.append(needed | {"cpu": record["cost"].get("cpu")})
    content = "".join(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in lines)
    return write_atomically(path, lambda file: file.write(content.encode()))


def read_records(path: Path) -> _StoredRecords:
    """What :func:`write_records` wrote."""
    try:
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        records = [
            {"trial": line["trial"], "status": line["status"], "result": line.get("result", {})}
            | {"error": line.get("error", ""), "cost": {"cpu": line.get("cpu")}}
            for line in lines
        ]
        return _StoredRecords(records, bool(head["quick"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: is no file of records of an experiment ({error})") from None


def _stored_records(folder: Path, experiment: Experiment) -> _StoredRecords | None:
    """Those of an experiment's trials, in its own file or in those of others; None if a file is missing."""
    paths = [folder / _RECORDS / f"{name}.jsonl" for name in experiment.records or (experiment.name,)]
    if not all(path.exists() for path in paths):
        return None
    files = [read_records(path) for path in paths]
    shown = [one for file in files for one in file.records if experiment.columns_of(one["trial"])]
    return _StoredRecords(shown, any(file.quick for file in files))


def describe_versions(folder: Path, experiment: Experiment) -> str:
    """Whether stored records are of the present versions of methods: in words, empty if there are none."""
    stored = _stored_records(folder, experiment)
    if stored is None:
        return ""
    versions = {(one["trial"]["method"], one["trial"]["version"]) for one in stored.records}
    stale = sorted({m for m, version in versions if version != version_of(experiment.protocol, m)})
    return f"other versions of {', '.join(stale)}" if stale else "current"


# ----------------------------------------------------------------------------------------------- index


def render_pages(folder: Path) -> dict[str, str]:
    """Every page and the index again, from the records in a folder: contents by file name."""
    pages: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    for name, experiment in list_experiments().items():
        stored = _stored_records(folder, experiment)
        if stored is None:
            continue
        summary = summaries[name] = summarise(experiment, stored.records, stored.quick)
        picture = f"{name}.svg" if experiment.chart else ""
        if picture:
            pages[picture] = chart_svg(summary)
        pages[f"{name}.md"] = render_markdown(summary, picture)
    pages[_INDEX] = _render_index(summaries)
    return pages


def _render_index(summaries: Mapping[str, Summary]) -> str:
    """One screen: every table and figure of the papers, and what became of it."""
    lines = ["# Reproduction\n", f"{_INTRODUCTION}\n"]
    counted = {name: summaries.get(name) or summarise(one, []) for name, one in list_experiments().items()}
    totals = add_counts(summary.counts for summary in counted.values())
    lines += [f"**{describe_counts(totals)}**\n", *_totals(totals)]
    for paper in list_papers():
        lines += [f"## {paper.short}\n", f"{paper.citation}\n"]
        of_paper = [counted[name].counts for name, e in list_experiments().items() if e.paper == paper.key]
        if sentence := describe_counts(add_counts(of_paper)):
            lines.append(f"{sentence}\n")
        lines += ["| | what | proposed | others | claims that hold, of those told |", "|---" * 5 + "|"]
        for place in paper.places:
            lines += [
                _index_line(place, experiment, summaries)
                for experiment in list_experiments().values()
                if (experiment.paper, experiment.place) == (paper.key, place)
            ]
            if place in paper.others:
                lines.append(f"| {place} | {paper.others[place]} |  |  |  |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _totals(counts: Counts) -> Iterator[str]:
    """Published numbers by what they are about."""
    yield _line(["printed numbers of", *VERDICTS, "all"])
    yield "|---" * (len(VERDICTS) + 2) + "|"
    for kind, of_kind in counts.items():
        numbers = [of_kind[word] for word in VERDICTS]
        yield _line([KIND_NOUNS[kind], *(str(n or "") for n in numbers), str(sum(numbers))])
    yield ""


def _index_line(place: str, experiment: Experiment, summaries: Mapping[str, Summary]) -> str:
    name, summary = experiment.name, summaries.get(experiment.name)
    if summary is None:
        why = f"; not run: {experiment.unrun}" if experiment.unrun else "; not run"
        what, summary = f"{experiment.what} (`{name}`){why}", summarise(experiment, [])
    else:
        what = f"[{experiment.what}]({name}.md)"
    counts = summary.counts
    others = {word: sum(counts[kind][word] for kind in KINDS[1:]) for word in VERDICTS}
    claims = f"{summary.claims_held} of {summary.claims_told}" if summary.claims_told else ""
    return _line([place, what, _list_counts(counts["proposed"]), _list_counts(others), claims])


def _list_counts(of_kind: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {word}" for word, n in of_kind.items() if n)


# -------------------------------------------------------------------------------------------- Markdown


def render_markdown(summary: Summary, picture: str = "") -> str:
    """The page of an experiment."""
    return "\n".join(_lines(summary, picture)).rstrip() + "\n"


def _lines(summary: Summary, picture: str) -> Iterator[str]:
    experiment = summary.experiment
    paper = next((paper for paper in list_papers() if paper.key == experiment.paper), None)
    yield f"# {experiment.name}: {experiment.what}\n"
    yield f"{experiment.place} of {paper.citation if paper else experiment.paper}\n"
    yield f"**{summary.verdict}**\n"
    if picture:
        yield f"![{experiment.what}]({picture})\n"
    for measure in experiment.measures:
        yield from _table(summary, measure)
    yield from _claims(summary)
    if summary.comment:
        yield f"## Our comment, {summary.comment.date}\n"
        yield " ".join(summary.comment.words) + "\n"
    yield from _departures(summary)
    yield from _made(summary)


def _table(summary: Summary, measure: Measure) -> Iterator[str]:
    rows = summary.tables[measure.name]
    columns = [c for c in summary.experiment.columns if any(row.cells[c.name].values for row in rows)]
    if not columns:
        return
    yield f"## {measure.title}\n"
    names = [f"{c.name}{_LEAKS if c.leaks else ''}" for c in columns]
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
    star = _FOLLOWS if cell.published.follows else ""
    sign = f" {_EXACT}" if cell.exact else _SIGNS.get(cell.verdict, "")
    return f"{number} ({cell.published.text}{star}){sign}"


def _beside(rows: Sequence[TableRow], measure: Measure) -> Iterator[str]:
    """Every number that was published, line by line."""
    listed = [(row.name, cell) for row in rows for cell in row.cells.values() if cell.published is not None]
    if not listed:
        return
    yield "<details><summary>paper, ours, difference and standard error, cell by cell</summary>\n"
    yield _line(["", "method", "paper", "ours", "standard error", "difference", "verdict"])
    yield "|---" * 7 + "|"
    for name, cell in listed:
        verdict = f"{cell.verdict}: {cell.reason}" if cell.reason else cell.verdict
        yield _line([name, cell.column.name, *_numbers(cell, measure), verdict])
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
        yield f"{_LEAKS} is told what is hidden from the others; shown beside, not counted.\n"


def _made(summary: Summary) -> Iterator[str]:
    experiment = summary.experiment
    repeats = f"{summary.repeats} repeat{'s' if summary.repeats != 1 else ''}"
    yield "## How it was made\n"
    yield "```console"
    yield f"$ absentia reproduce {experiment.name}"
    if experiment.full_repeats != experiment.repeats:
        yield f"$ absentia reproduce {experiment.name} --repeats {experiment.full_repeats}  # as the paper"
    yield "```\n"
    yield f"{summary.trials} trials, {repeats}, {summary.cpu:.0f} CPU seconds. {_HOW_TO_READ}"
    if summary.failures:
        yield f"\n{len(summary.failures)} trials failed, the first: {summary.failures[0]}"
    seconds = ", ".join(f"{name} {spent:.3g}" for name, spent in summary.seconds.items())
    yield f"\nCPU seconds of a trial, all of it counted: {seconds}."
    versions = ", ".join(f"{method} `{version}`" for method, version in summary.versions.items())
    yield f"\nSource of the methods involved: {versions}."


# ---------------------------------------------------------------------------------------------- charts

_WIDTH, _HEIGHT, _ACROSS = 310, 228, 3  # pixels of a panel, and panels side by side
_MARGINS = (58.0, 10.0, 26.0, 48.0)
_COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0902f", "#7b4fa3", "#666666", "#17a2a2", "#a0522d")
_DASHES = ("none", "6 3", "2 2", "8 3 2 3", "1 4", "12 4")
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.t{font-weight:600}.grid{stroke:#ddd}.axis{stroke:#999}"
    "path{fill:none;stroke:currentColor;stroke-width:1.8}.error{stroke:currentColor;stroke-opacity:.5}"
    + "".join(f".d{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(_DASHES))
    + "".join(f".c{i}{{color:{colour}}}" for i, colour in enumerate(_COLOURS))
    + "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}"
)
_VARIANT = re.compile(r",|-| as printed")


class _Point(NamedTuple):
    panel: str
    measure: str
    column: str
    x: float
    y: float
    error: float  # 0 of a single repeat


def chart_svg(summary: Summary) -> str:
    """The picture of an experiment that has a chart."""
    experiment, chart = summary.experiment, summary.experiment.chart
    assert chart is not None
    points = _average_points(experiment, chart, summary.observed)
    panels = list(dict.fromkeys(point.panel for point in points))
    columns = [c.name for c in experiment.columns if any(p.column == c.name for p in points)]
    classes = _line_classes(columns)
    n_down = -(-len(panels) // _ACROSS)
    width = min(_ACROSS, max(1, len(panels))) * _WIDTH
    widest = max((46 + 6 * len(name) for name in columns), default=0)
    in_line = max(1, width // max(150, widest))  # names in a line of the legend
    height = n_down * _HEIGHT + -(-len(columns) // in_line) * 18 + 8
    parts = [element("title", experiment.what), element("style", Markup(_STYLE))]
    for i, panel in enumerate(panels):
        inside = _draw_panel(panel, [p for p in points if p.panel == panel], classes, chart.label)
        place = f"translate({i % _ACROSS * _WIDTH} {i // _ACROSS * _HEIGHT})"
        parts.append(element("g", inside, transform=place))
    for i, name in enumerate(columns):
        x, y = 12 + i % in_line * (width - 12) // in_line, n_down * _HEIGHT + 14 + i // in_line * 18
        swatch = element("path", d=f"M{x} {y - 4}h26", class_=classes[name])
        parts += [swatch, text(x + 32, y, name)]
    box = f"0 0 {width} {height}"
    xmlns = "http://www.w3.org/2000/svg"
    return Markup(element("svg", *parts, xmlns=xmlns, viewBox=box, width=width, role="img") + "\n")


def _line_classes(columns: Sequence[str]) -> dict[str, str]:
    """Colour and dash by column."""
    variants: dict[str, list[str]] = {}
    for name in columns:
        variants.setdefault(_VARIANT.split(name)[0], []).append(name)
    return {
        name: f"c{i % len(_COLOURS)} d{j % len(_DASHES)}"
        for i, names in enumerate(variants.values())
        for j, name in enumerate(names)
    }


def _average_points(experiment: Experiment, chart: Chart, observed: Sequence[Observation]) -> list[_Point]:
    """Means over repeats, and over parts that have no panel of their own; errors over repeats."""
    values: dict[tuple[str, str, str, float], dict[int, list[float]]] = {}
    for score in observed:
        if score.measure not in chart.measures:
            continue
        panel = experiment.word(score.setting.get(chart.panel, ""))
        if len(chart.measures) > 1:
            panel = f"{panel}, {score.measure}" if panel else score.measure
        place = panel, score.measure, score.column, float(score.setting[chart.x])
        values.setdefault(place, {}).setdefault(score.repeat, []).append(score.value)
    points = []
    for place, by_repeat in values.items():
        means = [float(np.mean(numbers)) for numbers in by_repeat.values()]
        error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
        points.append(_Point(*place, float(np.mean(means)), error))
    return points


def _draw_panel(title: str, points: Sequence[_Point], classes: Mapping[str, str], label: str) -> Markup:
    x_range = widen(p.x for p in points)
    y_range = widen([p.y + side * p.error for p in points for side in (-1, 1)], 0.03)
    frame = Frame.make((_WIDTH, _HEIGHT), x_range, y_range, _MARGINS)
    x_ticks = {x: f"{x:g}" for x in sorted({p.x for p in points})}
    y_ticks = {y: f"{y:g}" for y in (round(tick, 10) for tick in round_ticks(*y_range, 5))}
    axes = frame.axes(x_ticks, y_ticks, label, points[0].measure)
    parts = [text(_MARGINS[0], 16, title, class_="t"), axes]
    for name, look in classes.items():
        own = sorted((p for p in points if p.column == name), key=lambda p: p.x)
        if own:
            path = frame.path((p.x, p.y) for p in own)
            parts.append(element("path", element("title", name), d=path, class_=look))
        for p in own:
            if p.error:
                x, low, high = frame.x(p.x), frame.y(p.y - p.error), frame.y(p.y + p.error)
                parts.append(line(x, low, x, high, class_=f"error {look.split()[0]}"))
    return fill("{}", parts)
