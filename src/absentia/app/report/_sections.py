"""What several pages share: sections, heat maps of kernels and of a matrix, intervals along an axis.

Heat maps are palette PNGs as data URIs, many samples on few pixels.  Positions along an axis are in percent
of its length: drawings take the room there is.
"""

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from absentia.app.report._page import (
    BAR,
    DASH,
    Cell,
    Cells,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    definitions,
    draw,
    few_row,
    format_count,
    format_number,
    format_p_cell,
    format_percent,
    get_paragraphs,
    get_words,
    heading,
    make_bar_table,
    make_section,
    make_table,
    name_cell,
    note,
    pattern_cell,
    sentences,
    shorten,
)
from absentia.core import Array
from absentia.core.linalg import invert_permutation
from absentia.core.svg import Markup, Scale, draw_runs, element, fill, round_step, round_ticks
from absentia.data import name_pattern
from absentia.methods.inspection import Absence
from absentia.methods.prediction import Regions

_LEVELS = 64
_ANCHORS = ("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")  # of even, rising lightness
MAX_SIDE = 260  # pixels of a map; beyond, each is the mean of a block


@cache
def _make_palette() -> Array:
    """Colours along the anchors, (_LEVELS, 3) of 0 to 255."""
    anchors = np.array([list(bytes.fromhex(anchor)) for anchor in _ANCHORS])
    where = np.linspace(0, len(anchors) - 1, _LEVELS)
    channels = [np.interp(where, np.arange(len(anchors)), channel) for channel in anchors.T]
    return np.rint(np.column_stack(channels)).astype(np.uint8)


def _encode_png(values: Array, low: float, high: float) -> str:
    """`values` (height, width) from `low` to `high` as colours; what is not finite is transparent."""
    finite = np.isfinite(values)
    shade = np.clip((np.where(finite, values, low) - low) / ((high - low) or 1.0), 0, 1)
    index = np.where(finite, np.rint(shade * (_LEVELS - 1)), _LEVELS).astype(np.uint8)
    lines = np.insert(index, 0, 0, axis=1)  # each begins with its filter: none

    def pack(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", *values.shape[::-1], 8, 3, 0, 0, 0),  # 8 bits, by palette
        b"PLTE": _make_palette().tobytes() + b"\x9e" * 3,
        b"tRNS": b"\xff" * _LEVELS + b"\0",
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    content = b"\x89PNG\r\n\x1a\n" + b"".join(pack(*chunk) for chunk in chunks.items())
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def draw_panel(head: Markup | str, what: str, maps: Mapping[str, Array]) -> Markup:
    """Maps of `what` by caption, in one scale that few extreme values do not stretch, and its bar."""
    values = np.concatenate([m[np.isfinite(m)] for m in maps.values()])
    low, high = np.quantile(values, [0.005, 0.995]).tolist() if values.size else (0.0, 1.0)
    figures = []
    for caption, drawn in maps.items():
        alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
        height, width = drawn.shape
        source = _encode_png(drawn, low, high)
        picture = element("img", class_="heat", alt=alt, width=width, height=height, src=source)
        figures.append(fill("<figure><figcaption>{}</figcaption>{}</figure>", caption, picture))
    stops = ",".join("#" + bytes(colour).hex() for colour in _make_palette()[::7])
    ends = [
        ("≤ " if values.size and values.min() < low else "") + format_number(low),
        ("≥ " if values.size and values.max() > high else "") + format_number(high),
    ]
    return draw("panel", head, stops, *ends, figures)


def average_blocks(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def add_up(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    present = np.isfinite(values)
    counts = add_up(present.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(add_up(np.where(present, values, 0.0)), counts, out=means, where=counts > 0)


# -------------------------------------------------------------------------------------------- along an axis

_MARGIN = 4.0  # percent left free at either end: marks have a size
_N_TICKS = 5
_FENCE = 3.0  # interquartile ranges beyond which something is off the scale
_Interval = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Axis:
    """From the least to the largest number that is drawn; what lies beyond is drawn at its ends."""

    low: float
    high: float
    ticks: Mapping[float, str]  # labels by value

    def place(self, value: float) -> float:
        """In percent; what is not finite is at the beginning."""
        scale = Scale(self.low, self.high, _MARGIN, 100 - _MARGIN)
        return scale(min(max(value, self.low), self.high) if math.isfinite(value) else self.low)

    def draw_interval(self, interval: _Interval, kind: str, label: str) -> Cell:
        """A mark at the value (a diamond where `kind` is "chosen", else a dot), a line over its interval.

        An arrow at the edge stands for a value, or the end of an interval, that lies beyond the axis.
        """
        value, low, high = interval
        low, high = (end if math.isfinite(end) else value for end in (low, high))
        parts = [fill('<line x1="{}%" x2="{}%" y1="50%" y2="50%"/>', self.place(low), self.place(high))]
        slack = 1e-9 * (self.high - self.low)
        if low < self.low - slack:
            parts.append(draw("sign", self.place(low), "cut", "M0 -5l-6 5l6 5"))
        if high > self.high + slack:
            parts.append(draw("sign", self.place(high), "cut", "M0 -5l6 5l-6 5"))
        if kind == "chosen":
            parts.append(draw("sign", self.place(value), "diamond", "M0 -7.5L7.5 0L0 7.5L-7.5 0z"))
        elif self.low <= value <= self.high:
            radius = 4.5 if kind == "baseline" else 5
            parts.append(fill('<circle cx="{}%" cy="50%" r="{}"/>', self.place(value), radius))
        return Cell(draw("track", kind, label, parts), css="tracked")

    def draw_ticks(self, n_columns: int) -> Row:
        """The foot of a table whose second column is drawn along this axis."""
        marks = [
            draw("tick", "zero" if label == "0" else "", *[self.place(tick)] * 3, label)
            for tick, label in self.ticks.items()
        ]
        scale = Cell(fill('<svg class="scale" aria-hidden="true">{}</svg>', marks), css="tracked")
        return Row(["", scale, *[""] * (n_columns - 2)])


def fit_axis(
    intervals: Sequence[_Interval],
    *,
    include: Sequence[float] = (),
    percent: bool = False,
    sign: bool = False,
) -> Axis:
    """Wide enough for all intervals but those that lie far outside the rest, and for what must be on it.

    Ticks are in hundredths with `percent`, and have a sign with `sign`.
    """
    low, high = _find_ends(intervals, include)
    step, factor = round_step(high - low, _N_TICKS), 100 if percent else 1
    suffix = "%" if percent and not sign else ""
    ticks = {
        tick: _label_tick(factor * tick, factor * step, sign) + suffix
        for tick in round_ticks(low, high, _N_TICKS)
    }
    return Axis(low, high, ticks)


def _find_ends(intervals: Sequence[_Interval], include: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: quartiles of all values, and how long intervals are, say what is far off."""
    values = np.array([s[0] for s in intervals if math.isfinite(s[0])] or [*include] or [0.0])
    ends = np.array([x for s in intervals for x in s if math.isfinite(x)] + [*include] or [0.0])
    if len(values) >= 4:
        first, third = np.quantile(values, [0.25, 0.75])
        lengths = [(s[2] - s[1]) / 2 for s in intervals if math.isfinite(s[2] - s[1])]
        usual = float(np.median(lengths)) if lengths else 0.0
        fence = _FENCE * max(third - first, usual, 1e-3 * abs(third), 1e-12)
        near = ends[(ends >= first - fence) & (ends <= third + fence)]
        ends = np.concatenate([near, include]) if near.size else ends
    low, high = float(ends.min()), float(ends.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        room = 0.05 * abs(low) or 1.0
        low, high = low - room, high + room
    return low, high


def _label_tick(value: float, step: float, sign: bool) -> str:
    """A round number with the digits that its step needs."""
    if not 1e-4 <= step < 1e6:
        text = format_number(abs(value))
    else:
        text = f"{abs(value):.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    if float(value) == 0 or abs(value) < step / 2:
        return "0"
    return ("−" if value < 0 else "+" if sign else "") + text


def make_interval_table(
    axis: Axis,
    label: str,
    columns: Columns,
    rows: Sequence[Row],
    css: str,
    *,
    base: float | None,
    base_label: str = "",
    style: str = "",
    file: str = "",
) -> Markup:
    """A table whose second column is drawn along an axis, with an upright line at `base`.

    `columns` are the others; a note explains arrows at the edges where there are any.
    """
    chart = Column("Chart", numeric=False, css="wider", hidden=True)
    if base is not None:
        place = axis.place(base)
        style = f"--base:{place}%;{style}"
        if base_label:
            chart = Column(draw("base", place, base_label), numeric=False, css="wider")
    heads = [columns[0], chart, *columns[1:]]
    footer = axis.draw_ticks(len(heads))
    table = make_table(label, heads, rows, f"tracks {css}", file=file, footer=footer, style=style or None)
    if 'class="cut"' not in table:
        return table
    words = "An arrow at an edge: an interval goes on beyond the chart; point at it to read it."
    return fill("{}{}", table, note(words))


FEW_SAMPLES = 20  # below, a score may be luck
FEW_NOTE = (
    f"Rows marked few have fewer than {FEW_SAMPLES} samples; one sample more or less moves them by "
    f"{100 // FEW_SAMPLES} points and more, so read no ranking into them."
)
_MAX_PATTERNS = 8  # rows of a table; other patterns are taken together
_PATTERN_LENGTH = 120  # characters
_NAME_LENGTH = 28


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionReport:
    """What the reports of classes, numbers and survival have in common.

    Parameters
    ----------
    title, summary : str
    names : sequence of str
        The V views.
    observed : (n, V) bool
        Who has which view, of the samples learned from.
    predictions : mapping of str to (n,)
        Out of fold: classes, numbers or risks by the method, first, and by the baselines.
    n_all : int
        Samples that came, used or not.
    warnings : sequence of str
        Sentences the user should read.
    facts : mapping of str to str
        Provenance: data set, command, version, seed, date ...
    absence : Absence, optional
        Why views are absent.
    regions : mapping of str to Regions
        Out of fold, calibrated by "pattern" of views and by "none"; empty: the method has no such.
    groups : (n,), optional
        Who belongs together: intervals and tests are by group.
    """

    title: str
    summary: str
    names: Sequence[str]
    observed: Array
    predictions: Mapping[str, Array]
    n_all: int = 0
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    absence: Absence | None = None
    regions: Mapping[str, Regions] = field(default_factory=dict)
    groups: Array | None = None

    @property
    def method(self) -> str:
        return next(iter(self.predictions))

    @property
    def predicted(self) -> Array:
        """Out-of-fold predictions of the method, (n,)."""
        return self.predictions[self.method]

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])


# --------------------------------------------------------------------------------------------- patterns


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Distinct rows of `observed`, the fullest and then the most frequent first."""

    masks: Array  # (P, V) bool
    counts: Array  # (P,)
    rank: Array  # (n,) which pattern a sample has

    @property
    def most_frequent(self) -> Array:
        """Positions of the patterns that tables list."""
        return np.argsort(-self.counts, kind="stable")[:_MAX_PATTERNS]


def _find_patterns(observed: Array) -> _Patterns:
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    ties = tuple(~masks[:, v] for v in reversed(range(masks.shape[1])))
    order = np.lexsort((*ties, -counts, -masks.sum(axis=1)))
    return _Patterns(masks[order], counts[order], invert_permutation(order)[member.ravel()])


def describe_dots(names: Sequence[str]) -> str:
    """Which view each dot of a pattern is, for the note below a table."""
    listed = ", ".join(shorten(name, _NAME_LENGTH) for name in names)
    return f"Dots stand for the views in this order: {listed}."


# ------------------------------------------------------------------------------------------------ presence


def make_presence_section(data: Any) -> Section:
    """A strip for each view over the samples sorted by pattern, and the most frequent patterns.

    `data` has `names` of V views and `observed` (n, V).
    """
    patterns = _find_patterns(data.observed)
    observed = data.observed[np.argsort(patterns.rank, kind="stable")]
    complete = bool(observed.all())
    strips = [_draw_strip(name, seen) for name, seen in zip(data.names, observed.T, strict=True)]
    blocks = [fill('<div class="strips">{}</div>', strips)]
    if not complete:
        words = f"{_describe_rest(patterns)}Dots stand for the views in the order of the strips above."
        table = _make_presence_table(patterns, data.names)
        blocks += [heading("Most frequent patterns"), table, note(words)]
    lead = get_words(f"all.presence.{'complete' if complete else 'lead'}")
    return make_section("all.presence", blocks, lead=lead)


def _draw_strip(name: str, seen: Array) -> Markup:
    count, n = int(seen.sum()), len(seen)
    total = f"{format_number(count)} of {format_number(n)}"
    label = f"{name}: observed for {total} samples"
    share, path = format_percent(count, n), draw_runs(seen)
    return draw("strip", name, shorten(name, 20), label, str(n), path, share, total)


def _make_presence_table(patterns: _Patterns, names: Sequence[str]) -> Markup:
    rows = []
    for p in patterns.most_frequent:
        count, mask = int(patterns.counts[p]), patterns.masks[p]
        share = format_percent(count, len(patterns.rank))
        words = shorten(name_pattern(mask, names), _PATTERN_LENGTH)
        rows.append((Row([pattern_cell(mask.tolist()), words, format_number(count), share]), count))
    return make_bar_table(
        "Missing patterns", ["Views", "Pattern", "Samples", "Share"], rows, "patterns", head=1
    )


def _describe_rest(patterns: _Patterns) -> str:
    more = len(patterns.counts) - _MAX_PATTERNS
    if more <= 0:
        return ""
    samples = int(patterns.counts.sum() - patterns.counts[patterns.most_frequent].sum())
    between = " between them" if more > 1 else ""
    return f"… and {format_count(more, 'more pattern')}, with {format_count(samples, 'sample')}{between}. "


def make_absence_section(data: PredictionReport) -> Section | None:
    """From what it can be told who lacks a view, and what that means for the model; None: from nothing."""
    why = data.absence
    if why is None or not why.sentences:
        return None
    rows = []
    for row in why.notable.to_dict("records"):
        interval = f"{row['low']:.2f} to {row['high']:.2f}"
        cells = [row["from"], format_number(int(row["n absent"])), f"{row['AUC']:.2f}", interval]
        cells += [format_p_cell(row["p corrected"]), bar_cell(100 * (2 * row["AUC"] - 1))]
        rows.append(Row([name_cell(row["view"]), *cells]))
    columns: Columns = [
        "View",
        Column("Told from", numeric=False),
        "Absent",
        "AUC",
        "95% interval",
        "p",
        BAR,
    ]
    blocks = [make_table("Why views are absent", columns, rows, "patterns absence")] if rows else []
    if why.pattern_sentence:
        blocks.append(sentences([f"{why.pattern_sentence[0].upper()}{why.pattern_sentence[1:]}."]))
    more = "".join(f" {text[0].upper()}{text[1:]}." for text in why.notes)
    words = get_words("all.absence.words", n=len(why.table), n_left=len(why.table) - len(rows))
    return make_section("all.absence", [*blocks, note(words + more)])


# --------------------------------------------------------------------------------------- by missing pattern

#: What is said of some samples, given as a mask (n,): cells of a row, and whether they are too few to tell.
_Describe = Callable[[Array], tuple[Cells, bool]]


def make_patterns_section(
    data: PredictionReport, lead: str, columns: Columns, describe: _Describe, few_words: str
) -> Section:
    """A row for samples that have the same views; `few_words` are said where a row is marked few."""
    rows = list(_list_pattern_rows(data, describe))
    heads = ["Views", "Pattern", "Samples", *columns]
    table = make_table("Scores by missing pattern", heads, rows, "patterns groups", head=1)
    few = f"{few_words} " if any(row.css for row in rows) else ""
    blocks = [table, note(f"{few}{describe_dots(data.names)}")]
    return make_section("all.by-pattern", blocks, lead=lead)


def _list_pattern_rows(data: PredictionReport, describe: _Describe) -> Iterator[Row]:
    """The most frequent patterns, and all others, who have nothing in common, in the last row."""
    patterns = _find_patterns(data.observed)
    listed = patterns.most_frequent
    groups = [
        (name_pattern(patterns.masks[p], data.names), patterns.masks[p], patterns.rank == p) for p in listed
    ]
    others = ~np.isin(patterns.rank, listed)
    if others.any():
        words = format_count(len(patterns.counts) - len(listed), "other pattern")
        groups.append((f"{words} together", np.zeros(0, bool), others))
    for words, mask, members in groups:
        cells, few = describe(members)
        count, dots = format_number(int(members.sum())), pattern_cell(mask.tolist())
        yield few_row(name_cell(words, _PATTERN_LENGTH), [count, *cells], few, before=[dots])


def make_coverage_section(data: PredictionReport, region: str, size: str) -> Section | None:
    """Coverage promised and reached by samples with the same views; `region` and `size` are words."""
    if not data.regions:
        return None
    promised = f"{100 * data.regions['pattern'].promised:g}%"

    def describe(members: Array) -> tuple[list[str], bool]:
        cells = [promised]
        for regions in (data.regions["pattern"], data.regions["none"]):
            reached, low, high = (100 * share for share in regions.measure_coverage(members))
            mean = format_number(float(regions.size[members].mean()))
            cells += [f"{reached:.1f}%", f"{low:.0f} to {high:.0f}%", mean]
        return cells, members.sum() < FEW_SAMPLES

    columns = [
        Column(name, note=kind, full=f"{name}, {kind}")
        for kind in ("by pattern", "plain")
        for name in ("Reached", "95% interval", size)
    ]
    total = describe(np.ones(data.n_samples, bool))[0]
    table = make_table(
        "Coverage by missing pattern",
        ["Views", "Pattern", "Samples", "Promised", *columns],
        list(_list_pattern_rows(data, describe)),
        "patterns groups",
        head=1,
        footer=Row(["", "all samples", format_number(data.n_samples), *total]),
    )
    dash = "A dash: some have no end, for want of samples. " if DASH in "".join(total) else ""
    words = f"{dash}{get_words('all.coverage.words')} {describe_dots(data.names)}"
    return make_section("all.coverage", [table, note(words)], region=region, promised=promised)


# ----------------------------------------------------------------------------------------- by hidden view


def make_contribution_section(
    data: PredictionReport,
    columns: Columns,
    compare: Callable[[int, Array], tuple[Sequence[str], float]],
    **words: str,
) -> Section:
    """Views hidden one by one from the samples that have them.

    `compare(v, has)` gives the cells of view v, of the samples `has` (n,), and how much is lost without it.
    The `words` say what the models ``did``, by which ``effect`` a view that counts is known, what the
    ``loss`` is and what is predicted by ``default``.
    """
    single = data.observed.sum(axis=1) == 1
    rows = []
    for v, has in enumerate(data.observed.T):
        if has.any():
            cells, size = compare(v, has)
            counts = [format_number(int(has.sum())), format_number(int((has & single).sum()))]
            row = few_row(name_cell(data.names[v]), [*counts, *cells], bool(has.sum() < FEW_SAMPLES))
            rows.append((row, size))
    heads = ["View", "Samples with it", Column("as their only view", full="As their only view"), *columns]
    table = make_bar_table("Contribution of each view", heads, rows, "patterns worth")
    return make_section("all.contribution", [table], method=data.method, **words)


# --------------------------------------------------------------------------------------------- confusion

_MAX_CLASSES = 60  # beyond, the confusion matrix shows the most frequent ones
_NAME, _HEAD = 40, 18  # characters of a class's name in rows and above columns
_ROOMY = 12  # classes up to which shares stand in the cells too
_UPRIGHT = 70  # characters of all heads above which these stand upright


def make_confusion_table(counts: Array, classes: Sequence[str]) -> Markup:
    """Counts (true classes in rows, predicted ones in columns) and shares of rows.

    Of many classes the most frequent are shown. Shading grows with the root of the share, so that single
    mistakes show.
    """
    sizes = counts.sum(axis=1)
    shown = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_CLASSES]).tolist()
    roomy = len(shown) <= _ROOMY

    def make_cell(i: int, j: int) -> Cell:
        count, n = int(counts[i, j]), int(sizes[i])
        if not count:
            return Cell("0", css="right none" if i == j else "none")
        words = "found" if i == j else f"taken for {shorten(classes[j], _NAME)}"
        title = f"{format_number(count)} of {format_number(n)} {shorten(classes[i], _NAME)} {words}"
        small = format_percent(count, n) if roomy else ""
        style = f"--share:{60 * (count / n) ** 0.5:.1f}%"
        return Cell(
            format_number(count), small=small, title=title, css="right" if i == j else "", style=style
        )

    heads = [shorten(classes[c], _HEAD) for c in shown]
    columns: list[str | Column] = ["Truth", "Samples"]
    columns += [
        Column(fill("<span>{}</span>", head), full=classes[c], title=classes[c])
        for head, c in zip(heads, shown, strict=True)
    ]
    rows = [
        Row([name_cell(classes[i], 20), format_number(int(sizes[i])), *(make_cell(i, j) for j in shown)])
        for i in shown
    ]
    upright = " upright" if len(shown) > 2 * _ROOMY or sum(map(len, heads)) > _UPRIGHT else ""
    return make_table(
        "Confusion matrix", columns, rows, f"confusion{upright}{'' if roomy else ' dense'}", fixed=True
    )


def describe_confusion(counts: Array) -> str:
    """What figures and shades of a confusion matrix are, and which classes it shows."""
    n_classes, n_shown = len(counts), min(len(counts), _MAX_CLASSES)
    shading = "Small figures are shares of the row; shading" if n_shown <= _ROOMY else "Shading"
    shown = f" The {n_shown} most frequent of {n_classes} classes." if n_shown < n_classes else ""
    return f"{shading} grows with the share of the row.{shown}"


# ------------------------------------------------------------------------------------------------ reading


def make_reading_section(
    paragraphs: Mapping[str, str], facts: Mapping[str, str], facts_title: str = "Where this came from"
) -> Section:
    """How to read the page: short paragraphs by their headings, and what made it."""
    if "time" in facts:
        others = {key: x for key, x in paragraphs.items() if key not in ("Out of fold", "Held-out folds")}
        paragraphs = get_paragraphs("all.later") | others
    parts = [fill("<div><h3>{}</h3><p>{}</p></div>", *item) for item in paragraphs.items()]
    blocks = [fill('<div class="columns">{}</div>', parts)]
    if facts:
        blocks += [heading(facts_title, "provenance"), definitions(list(facts.items()), "facts")]
    return make_section("all.reading", blocks, css="reading")
