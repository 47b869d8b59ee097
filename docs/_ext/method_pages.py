"""Which method: a chart, the same in words, and tables, from the catalogue and from what was measured."""

from html import escape
from pathlib import Path

from made_pages import write_if_changed

from absentia.experiment.comparison._recommendation import PRIORS
from absentia.methods.catalogue import CATALOGUE, find

#: What somebody wants, the family that does it, and when another method than its default is worth a look.
WANTS = [
    (
        "Predict classes",
        "classifier",
        [
            ("more than 5,000 samples", "factors"),
            ("feature weights are to be read", "linear"),
            ("view weights are to be read", "mkl"),
        ],
    ),
    (
        "Predict numbers",
        "regressor",
        [("more than 5,000 samples", "factors-ridge"), ("weights are to be read", "linear-regression")],
    ),
    (
        "Predict times to an event",
        "survival",
        [("more than 5,000 samples", "factors-cox"), ("weights are to be read", "linear-cox")],
    ),
    (
        "Complete kernels",
        "completer",
        [("a model of all views is wanted", "mkmc-pca"), ("a view has its own habits", "auto")],
    ),
    ("Fill one table with gaps", "matrix", []),
]
TASKS = {"classifier": ("classes", "balanced accuracy")}
TITLES = {
    "classifier": "Classes",
    "regressor": "Numbers",
    "survival": "Times and events",
    "completer": "Kernels completed",
    "matrix": "One matrix",
}


def default_of(family):
    """The method that is used if none is named; of a family without one, its first."""
    own = [entry for entry in CATALOGUE if entry.family == family]
    return next((entry for entry in own if entry.default), own[0])


def measured(family, name):
    """Points beyond the simplest method, as far as they were measured."""
    prior = PRIORS.get(TASKS.get(family), {}).get(name)
    return "" if prior is None else f"{100 * prior[0]:+.1f} points"


def box(x, y, width, lines, css):
    """A rectangle with centred lines of text."""
    height = 18 * len(lines) + 14
    texts = "".join(
        f'<text x="{x + width / 2}" y="{y + 20 + 18 * i}" text-anchor="middle"{" class=small" * (i > 0)}>'
        f"{escape(line)}</text>"
        for i, line in enumerate(lines)
    )
    return f'<rect class="{css}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>{texts}'


def draw_chart():
    """A flow chart as SVG, in the colours of the page."""
    parts, y = [], 10
    for want, family, others in WANTS:
        first = default_of(family)
        lines = [first.name, *filter(None, [measured(family, first.name)])]
        parts += [box(4, y, 165, [want], "want"), arrow(169, y + 16, 190), box(190, y, 100, lines, "start")]
        for i, (condition, name) in enumerate(others):
            at = y + 44 * i
            parts += [
                arrow(290, y + 16, 508, at + 16),
                box(508, at, 128, [find(name, family).name], "other"),
            ]
            parts.append(f'<text class="small" x="500" y="{at + 11}" text-anchor="end">{condition}</text>')
        y += max(44 * len(others), 18 * len(lines) + 26) + 16
    style = (
        ".chart rect{fill:var(--pst-color-surface);stroke:var(--pst-color-border)}"
        ".chart rect.start{stroke:var(--pst-color-primary);stroke-width:2}"
        ".chart text{fill:var(--pst-color-text-base);font:14px sans-serif}.chart text.small{font-size:13px}"
        ".chart path{stroke:var(--pst-color-text-muted);fill:none}"
    )
    return (
        '<div class="chart" tabindex="0" role="region" aria-label="Flow chart" style="overflow-x:auto">'
        f"<style>{style}</style>"
        f'<svg role="img" aria-label="Flow chart: what you want, the method to start with, and others; '
        f'the same in words below" viewBox="0 0 640 {y}" style="min-width:610px;width:100%">'
        f"{''.join(parts)}</svg></div>"
    )


def arrow(x, y, to_x, to_y=None):
    """A line that goes down first, then right, with a head."""
    to_y = y if to_y is None else to_y
    bend = x + 12
    head = f"M{to_x - 6} {to_y - 4}L{to_x} {to_y}L{to_x - 6} {to_y + 4}"
    return f'<path d="M{x} {y}H{bend}V{to_y}H{to_x}{head}"/>'


def say_chart():
    """The chart as a list."""
    lines = []
    for want, family, others in WANTS:
        lines.append(f"* **{want}**: start with `{default_of(family).name}`.")
        lines += [f"  * {condition}: `{name}`" for condition, name in others]
    return "\n".join(lines)


def list_methods():
    """A table for each family: every method of its own name, as the catalogue has it."""
    parts = []
    for family, title in TITLES.items():
        rows = ["| method | when to use it | it cannot | beyond `average` |", "|---|---|---|---|"]
        for entry in CATALOGUE:
            if entry.family == family:
                name = f"**`{entry.name}`**" if entry == default_of(family) else f"`{entry.name}`"
                rows.append(f"| {name} | {entry.when} | {entry.cannot} | {measured(family, entry.name)} |")
        if family not in TASKS:
            rows = [row.rsplit("|", 2)[0] + "|" for row in rows]
        parts.append(f"## {title}\n\n" + "\n".join(rows))
    return "\n\n".join(parts)


def write_methods(app):
    """What ``howto/choose.md`` includes."""
    write_if_changed(
        Path(app.srcdir) / "howto" / "_methods.md",
        f"{draw_chart()}\n\nIn words:\n\n{say_chart()}\n\n"
        "*Points* are of balanced accuracy beyond `average` (one machine on the average of the kernels), "
        "means over 23 public sets with 72 small tasks: "
        "`python benchmarks/method_prior.py`. On your data: `absentia compare`.\n\n"
        f"{list_methods()}\n",
    )


def setup(app):
    app.connect("builder-inited", write_methods)
    return {"parallel_read_safe": True}
