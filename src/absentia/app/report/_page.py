"""A page is a list of sections; a section is a heading, a paragraph and blocks.

Blocks are tables that sort and can be downloaded, charts, notes, lists, and choices between blocks.

Numbers, scores and differences as text: shares in percent, the rest with three significant digits.

Digits are grouped by narrow spaces, negative numbers have a minus sign (not a hyphen), and what is None,
NaN or infinite is a dash.
"""

import base64
import hashlib
import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from absentia.core import Array
from absentia.core.svg import Markup, element, fill
from absentia.data.statistics import effective_size
from absentia.experiment.results import Interval, Metric
from absentia.files import write_atomically

# ---------------------------------------------------------------------------------------- numbers as text

DASH = "–"
_NARROW_SPACE = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: Any) -> str:
    """Write a float with three significant digits (``0.0123``, ``1.23×10⁷``), an integer with all."""
    if value is None or not math.isfinite(value):
        return DASH
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", _NARROW_SPACE).replace("-", "−")
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.2e}".split("e")
    sign, power = "−" if value < 0 else "", int(exponent)
    if -4 <= power <= 5:
        plain = f"{float(f'{mantissa}e{power}'):,.{max(0, 2 - power)}f}"
        return sign + plain.replace(",", _NARROW_SPACE)
    return f"{sign}{mantissa}×10{str(power).translate(_SUPERSCRIPT)}"


def format_decimal(value: float, digits: int = 3, sign: str = "") -> str:
    """Write `digits` digits after the point; ``sign="+"`` gives positive numbers a plus."""
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def format_percent(part: float, whole: float) -> str:
    """Write `part` of `whole` as ``12.3%``; ``0%`` and ``100%`` are written only where they are exact."""
    if whole == 0 or part == 0:
        return "0%"
    if part == whole:
        return "100%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    """Write ``1 sample`` or ``1 200 samples``; `plural` is the singular with an s unless it is given."""
    return f"{format_number(count)} {singular if count == 1 else plural or singular + 's'}"


def format_points(points: float) -> str:
    """Write a difference in percentage points: ``+1.2``, ``−0.3``, and ``0.0`` for what rounds to it."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else '−'}{text}"


def format_p(p: float) -> str:
    """Write a p value for a sentence: ``p = 0.0123`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3g}"


def format_p_cell(p: float | None) -> str:
    """Write a p value for a column of them: ``0.012`` or ``<0.001``."""
    if p is None or not math.isfinite(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_probability(value: float) -> str:
    """Write a probability in whole percent; ``0%`` and ``100%`` are written only where they are exact."""
    if not math.isfinite(value):
        return DASH
    if 0 < value < 0.01:
        return "<1%"
    if 0.99 < value < 1:
        return ">99%"
    return f"{100 * value:.0f}%"


def shorten(word: str, length: int) -> str:
    """Cut the middle out of a word longer than `length` characters: names often differ at the end."""
    if len(word) <= length:
        return word
    tail = (length - 1) // 3
    return f"{word[: length - 1 - tail].rstrip()}…{word[len(word) - tail :].lstrip()}"


def share_interval(right: Array, groups: Array | None) -> tuple[float, float]:
    """The 95 % interval of the share of samples (n,) that are right; by group where there are groups."""
    n = len(right) if groups is None else effective_size(right, groups)
    return wilson_interval(float(np.mean(right)) * n, n)


def wilson_interval(hits: float, n: float) -> tuple[float, float]:
    """Wilson's score interval (1927) of the share `hits` / `n`, ``n > 0``; of 95 %."""
    p, z = hits / n, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class ScoreFormat:
    """Writes the scores of a metric, their intervals and their differences.

    Attributes
    ----------
    metric : Metric
        If it is a share (accuracy, say), scores are written in percent and differences in points.
    digits : int or None
        Digits after the point in differences of any other metric; None: three significant ones.
    """

    metric: Metric
    digits: int | None = None

    @classmethod
    def of_differences(cls, metric: Metric, values: Iterable[float]) -> "ScoreFormat":
        """Choose `digits` so that the largest of these differences has three significant digits.

        Differences below 1e-4 or from 1e6 on are written with powers of ten: `digits` is None then.
        """
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        if not 1e-4 <= largest < 1e6:
            return cls(metric)
        return cls(metric, max(0, 2 - math.floor(math.log10(largest))))

    @property
    def direction(self) -> str:
        """Whether large or small scores are good, in words."""
        return "more is better" if self.metric.higher else "less is better"

    @property
    def unit(self) -> str:
        """The unit of differences, to stand after a number: ``points`` or ``of log-loss``."""
        return "points" if self.metric.share else f"of {self.metric.name}"

    def format_score(self, value: float) -> str:
        """Write a score: ``84.2%`` of a share, ``0.458`` of another metric."""
        if not math.isfinite(value):
            return DASH
        return f"{100 * value:.1f}%" if self.metric.share else format_number(float(value))

    def clip_interval(self, interval: Interval) -> Interval:
        """Cut the interval of a share down to [0, 1], its value left inside; others stay as they are."""
        if not self.metric.share:
            return interval
        value, low, high = interval
        return Interval(value, max(low, min(value, 0.0)), min(high, max(value, 1.0)))

    def format_interval(self, interval: Interval) -> str:
        """Write the ends of an interval: ``81.0 to 87.1%``."""
        _, low, high = self.clip_interval(interval)
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        ends = f"{self.format_score(low)} to {self.format_score(high)}"
        return ends.replace("%", "", 1) if self.metric.share else ends

    def format_difference(self, value: float) -> str:
        """Write a difference with its sign: ``+1.2`` points of a share, ``−0.0123`` of another metric."""
        if not math.isfinite(value):
            return DASH
        if self.metric.share:
            return format_points(100 * value)
        text = format_number(abs(float(value)))
        if self.digits is not None:
            text = f"{abs(value):.{self.digits}f}"
        return text if float(value) == 0 else f"{'+' if value > 0 else '−'}{text}"

    def format_difference_interval(self, low: float, high: float) -> str:
        """Write the ends of an interval of differences: ``−1.0 to +3.2``."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        return f"{self.format_difference(low)} to {self.format_difference(high)}"


N_COLOURS = 6  # of lines, in page.css


# --------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Column:
    """The head of a column.

    `note` stands below the name in small letters, `full` is its name in downloads, `hidden` is a name for
    those who do not see the page, and of a column that is not downloaded.
    """

    name: str
    numeric: bool = True
    note: str = ""
    full: str = ""
    title: str = ""
    css: str = ""
    hidden: bool = False


Columns = Sequence[str | Column]
BAR = Column("Bar", numeric=False, hidden=True)


@dataclass(frozen=True)
class Cell:
    """A cell that is more than its text.

    `best` marks it, and is said to those who do not see the mark; `small` is a smaller figure after it;
    `value` is what it is sorted by and downloaded as; `title` is shown to whoever points at it.
    """

    text: str
    best: str = ""
    small: str = ""
    tags: Sequence[str] = ()
    value: str = ""
    title: str = ""
    css: str = ""
    style: str = ""


Cells = Sequence[str | Cell]


@dataclass(frozen=True)
class Row:
    cells: Cells
    css: str = ""

    def pair(self, columns: Sequence[Column]) -> list[tuple[Cell, Column]]:
        """Cells, and the columns that they stand in."""
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in self.cells]
        return list(zip(cells, columns, strict=True))


def make_table(
    label: str,
    columns: Columns,
    rows: Sequence[Row],
    css: str | None = None,
    *,
    file: str | None = "",
    head: int = 0,
    footer: Row | None = None,
    style: str | None = None,
    fixed: bool = False,
) -> Markup:
    """A table; `label` is its name for those who do not see it and, unless `file` is given, of its file.

    `head` is the position of the cells that name the rows; columns that are only names hold numbers if they
    come after it, and texts if not. `fixed` keeps a table from being sorted, `file` None from being
    downloaded.
    """
    heads = [
        Column(column, numeric=i > head) if isinstance(column, str) else column
        for i, column in enumerate(columns)
    ]
    of = {"class": css, "data-file": None if file is None else file or label, "style": style}
    macros = _load_templates().get_template("tables.html.j2").module
    return make_scrollable(Markup(macros.table(heads, rows, head, footer, of, fixed)), label)


def name_cell(name: str, length: int = 48, tags: Sequence[str] = (), title: str = "") -> Cell:
    """A name of the user's: shortened to read, whole to sort, to download and to point at."""
    return Cell(shorten(name, length), tags=tags, value=name, title=title or name)


def interval_column(of: str) -> Column:
    """The column of intervals of what the column before it has."""
    return Column("95% interval", css="between", full=f"{of}, 95% interval")


def best_cell(text: str, is_best: bool, word: str = "best") -> Cell:
    return Cell(text, best=word if is_best else "")


def few_row(name: Cell, cells: Cells, few: bool, before: Cells = ()) -> Row:
    """A row that rests on few samples is grey and says so; cells `before` stand before its name."""
    return Row([*before, replace(name, tags=("few",)) if few else name, *cells], "few" if few else "")


def bar_cell(width: float) -> Cell:
    """A bar of so many percent; none for what is zero or less."""
    width = round(float(width), 2)
    return Cell(element("span", style=f"width:{width}%") if width > 0 else "", css="bar")


def pattern_cell(present: Sequence[bool]) -> Cell:
    """A dot for each view, full where it is present; nothing for several patterns together."""
    n = len(present)
    if not n:
        return Cell("", value="0")
    pitch, across = (14, 12) if n <= 12 else (11, 15)
    dots = []
    for i, here in enumerate(present):
        x, y = pitch * (i % across + 0.5), pitch * (i // across + 0.5)
        look = (0.357 * pitch, "on") if here else (0.304 * pitch, "off")
        dots.append(fill('<circle cx="{}" cy="{}" r="{}" class="{}"/>', x, y, *look))
    size, label = (pitch * min(n, across), pitch * -(-n // across)), f"{sum(present)} of {n} views"
    return Cell(draw("dots", label, *size, *size, dots), value=str(sum(present)))


def make_bar_table(
    label: str, columns: Columns, rows: Sequence[tuple[Row, float]], css: str, head: int = 0
) -> Markup:
    """A table whose rows end in bars for their sizes: the largest is full, those below zero have none."""
    largest = max([1e-300, *(size for _, size in rows)])
    drawn = [replace(row, cells=[*row.cells, bar_cell(100 * size / largest)]) for row, size in rows]
    return make_table(label, [*columns, BAR], drawn, css, head=head)


def make_method_table(
    label: str,
    columns: Columns,
    scores: Mapping[str, float],
    describe: Callable[[str], Cells],
    *,
    choose_best: Callable[[Iterable[float]], float] = max,
    file: str = "",
) -> Markup:
    """Methods by their scores: the first is the one reported on, the others are its baselines.

    `describe(name)` gives the cells of a method: its score as text, more about it, and a bar.
    """
    best, rows = choose_best(scores.values()), []
    for i, (name, value) in enumerate(scores.items()):
        score, *cells = describe(name)
        head = Cell(name, tags=("baseline",) if i else (), value=name)
        rows.append(Row([head, best_cell(str(score), value == best), *cells], "" if i else "first"))
    return make_table(label, ["Method", *columns, BAR], rows, "accuracy", file=file)


# --------------------------------------------------------------------------------------------- other blocks


def note(*parts: str) -> Markup:
    """A paragraph in small print."""
    return fill('<p class="note">{}</p>', parts)


def heading(words: str, place: str | None = None) -> Markup:
    return element("h3", words, id=place)


def sentences(items: Iterable[str]) -> Markup:
    return fill('<ul class="verdicts">{}</ul>', [fill("<li>{}</li>", item) for item in items])


def definitions(items: Sequence[tuple[str, str]], css: str) -> Markup:
    """Names and what they are."""
    parts = [fill("<div><dt>{}</dt><dd>{}</dd></div>", *item) for item in items]
    return fill('<dl class="{}">{}</dl>', css, parts)


def make_scrollable(content: Markup, label: str) -> Markup:
    """What may be wider than the window scrolls on its own."""
    return fill('<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>', label, content)


def draw_swatch(line_class: str) -> Markup:
    """A short piece of a line, for the key of a chart."""
    return draw("swatch", line_class.split()[0], line_class.split()[-1])


def swatch_cell(line_class: str, name: str) -> Cell:
    return Cell(fill('<span class="swatched">{}<span>{}</span></span>', draw_swatch(line_class), name))


# ----------------------------------------------------------------------------------------------------- page


@dataclass(frozen=True)
class Section:
    """A heading, the paragraph `lead` and blocks; the head of the page links to it if it has a title."""

    id: str
    title: str
    heading: str
    lead: str = ""
    blocks: Sequence[Markup] = ()
    css: str | None = None

    def render(self) -> Markup:
        heading = element("h2", self.heading)
        lead = fill('<p class="lead">{}</p>', self.lead) if self.lead else ""
        return element("section", heading, lead, list(self.blocks), id=self.id, class_=self.css)


@cache
def _load_words() -> dict[str, Any]:
    """What pages say, by page, section and part."""
    return tomllib.loads((Path(__file__).parent / "templates" / "words.toml").read_text("utf-8"))


def get_words(place: str, **values: object) -> str:
    """What is said at a place, ``classification.next.note``, with `values` for names in braces."""
    page, section, part = place.split(".")
    return str(_load_words()[page][section][part]).format(**values)


def draw(piece: str, *values: object) -> Markup:
    """A piece of HTML or SVG by its name, filled with `values`."""
    return fill(_load_words()["html"]["pieces"][piece], *values)


def get_paragraphs(place: str, **values: object) -> dict[str, str]:
    """All that is said at a place, ``classification.reading``, by its heading."""
    page, section = place.split(".")
    return {heading: text.format(**values) for heading, text in _load_words()[page][section].items()}


def make_section(
    place: str,
    blocks: Sequence[Markup] = (),
    *,
    lead: str | None = None,
    css: str | None = None,
    **values: object,
) -> Section:
    """The section at a place, ``classification.next``: title, heading, lead if none is given, key, note."""
    page, name = place.split(".")
    said = _load_words()[page][name]
    lead = said.get("lead", "").format(**values) if lead is None else lead
    if "key" in said:
        blocks = [fill('<p class="legend">{}</p>', Markup(said["key"].format(**values))), *blocks]
    if "note" in said:
        blocks = [*blocks, note(said["note"].format(**values))]
    return Section(name, said["title"], said.get("heading", said["title"]), lead, blocks, css)


def render_page(
    kind: str,
    data: Any,
    figures: Sequence[tuple[str, str]],
    sections: Sequence[Section | None],
    *,
    sheets: Sequence[str] = (),
    head: str = "headline.html.j2",
    **values: Any,
) -> str:
    """One self-contained HTML page: no network, no other files, and one script, to sort tables.

    `figures` are the numbers of its head, and what they are of. Sections that are None are left out.
    `sheets` are style sheets for this kind of page, and `values` go to the template of its head.
    """
    templates = _load_templates()
    shown = [section for section in sections if section is not None]
    script = templates.loader.get_source(templates, "page.js")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return str(
        templates.get_template("base.html.j2").render(
            kind=kind,
            data=data,
            figures=figures,
            links={section.id: section.title for section in shown if section.title},
            content=fill("{}", [section.render() for section in shown]),
            head=head,
            sheets=sheets,
            script=Markup(script),
            script_hash=f"sha256-{digest}",  # browsers run no other script
            **values,
        )
    )


def save(html: str, path: str | os.PathLike[str]) -> Path:
    """Write a rendered page, whole or not at all."""
    content = html.encode("utf-8", errors="replace")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, lambda file: file.write(content))


@cache
def _load_templates() -> Any:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("absentia.app.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
