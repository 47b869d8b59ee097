"""Sections that several kinds of pages share: who has which view, scores by missing pattern and by view."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from absentia.app.report._page import (
    BAR,
    DASH,
    Cells,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    definitions,
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
from absentia.core.svg import Markup, draw_runs, fill
from absentia.data import name_pattern
from absentia.methods.inspection import Absence
from absentia.methods.prediction import Regions

FEW_SAMPLES = 20  # below, a score may be luck
FEW_NOTE = (
    f"Rows marked few have fewer than {FEW_SAMPLES} samples; one sample more or less moves them by "
    f"{100 // FEW_SAMPLES} points and more, so read no ranking into them."
)
_MAX_PATTERNS = 8  # rows of a table; other patterns are taken together
_PATTERN_LENGTH = 120  # characters
_NAME_LENGTH = 28
_LEGEND = Markup(
    '<p class="legend"><span><i class="key present"></i>observed</span> '
    '<span><i class="key absent"></i>absent</span></p>'
)


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
    blocks = [_LEGEND, fill('<div class="strips">{}</div>', strips)]
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
    template = (
        '<div class="name" title="{}">{}</div>'
        '<svg class="strip" role="img" aria-label="{}" viewBox="0 0 {} 1" '
        'preserveAspectRatio="none"><path d="{}"/></svg><div class="tally"><b>{}</b> <span>{}</span></div>'
    )
    share, path = format_percent(count, n), draw_runs(seen)
    return fill(template, name, shorten(name, 20), label, str(n), path, share, total)


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
