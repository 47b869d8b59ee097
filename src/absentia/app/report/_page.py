"""A page is a list of sections; a section is a heading, a paragraph and blocks."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absentia.app.report._blocks import Block, definitions, heading, render_block
from absentia.app.report._heatmaps import MARK
from absentia.core.svg import Markup, element, fill
from absentia.files import write_atomically


@dataclass(frozen=True)
class Section:
    """A heading, the paragraph `lead` and blocks; the head of the page links to it if it has a title."""

    id: str
    title: str
    heading: str
    lead: str = ""
    blocks: Sequence[Block] = ()
    css: str | None = None

    def render(self, page_title: str) -> Markup:
        lead = fill('<p class="lead">{}</p>', self.lead) if self.lead else ""
        blocks = [render_block(block, page_title) for block in self.blocks]
        return element("section", element("h2", self.heading), lead, blocks, id=self.id, class_=self.css)


@dataclass(frozen=True)
class Figure:
    """A number in the head of a page."""

    value: str
    label: str


def render_page(
    kind: str,
    story: Any,
    figures: Sequence[Figure],
    sections: Sequence[Section | None],
    *,
    style: str = "",
    head: str = "headline.html.j2",
    **values: Any,
) -> str:
    """One self-contained HTML page: no network, no other files, and one script, to sort tables.

    Sections that are None are left out; `style` is a style sheet for this kind of page, and `values` go to
    the template of its head.
    """
    templates = load_templates()
    shown = [section for section in sections if section is not None]
    script = templates.loader.get_source(templates, "page.js")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return str(
        templates.get_template("base.html.j2").render(
            kind=kind,
            story=story,
            figures=figures,
            links={section.id: section.title for section in shown if section.title},
            content=fill("{}", [section.render(story.title) for section in shown]),
            head=head,
            mark="#" + bytes(MARK).hex(),
            style=Markup(style),
            script=Markup(script),
            script_hash=f"sha256-{digest}",  # browsers run no other script
            **values,
        )
    )


def make_reading_section(
    paragraphs: Mapping[str, str], facts: Mapping[str, str], facts_title: str = "Where this came from"
) -> Section:
    """How to read the page: short paragraphs by their headings, and what made it."""
    parts = [fill("<div><h3>{}</h3><p>{}</p></div>", *item) for item in paragraphs.items()]
    blocks = [fill('<div class="columns">{}</div>', parts)]
    if facts:
        blocks += [heading(facts_title, "provenance"), definitions(list(facts.items()), "facts")]
    return Section("reading", "How to read this", "How to read this", blocks=blocks, css="reading")


def read_style(name: str) -> str:
    """A style sheet of the templates."""
    templates = load_templates()
    return str(templates.loader.get_source(templates, name)[0])


def save(html: str, path: str | os.PathLike[str]) -> Path:
    """Write a rendered page, whole or not at all."""
    content = html.encode("utf-8", errors="replace")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, lambda file: file.write(content))


def load_templates() -> Any:
    """The templates, or an error that says what to install."""
    try:
        import jinja2
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the report needs jinja2 and pillow; install them with  pip install jinja2 pillow"
        ) from error
    return jinja2.Environment(
        loader=jinja2.PackageLoader("absentia.app.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
