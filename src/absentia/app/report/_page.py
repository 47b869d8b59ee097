"""From a story to a page, and from a page to a file."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absentia.app.report import _charts as charts
from absentia.app.report import _colour as colour
from absentia.app.report._heatmaps import heat_maps
from absentia.app.report._presence import presence
from absentia.app.report._quality import quality_section
from absentia.app.report._scores import scores
from absentia.app.report._story import CompletionStory
from absentia.app.report._text import csv_name, number, percent, shortened
from absentia.files import write_atomically


def render(story: CompletionStory) -> str:
    """One self-contained HTML page: no network, no other files, and one script, to sort tables."""
    require()  # before any work
    table, objective, quality = scores(story), charts.objective(story.traces), quality_section(story)
    sections = {
        "presence": "Presence",
        "scores": "Scores" if table else "",
        "quality": "Quality" if quality else "",
        "kernels": "Kernels",
        "objective": "Convergence" if objective else "",
        "reading": "How to read this",
    }
    return page(
        "page.html.j2",
        "completion",
        sections,
        story,
        numbers=_numbers(story),
        presence=presence(story),
        scores=table,
        quality=quality,
        maps=heat_maps(story),
        objective=objective,
    )


def page(template: str, kind: str, sections: Mapping[str, str], story: Any, **values: Any) -> str:
    """A template filled in; sections without words are not there."""
    shown = {place: words for place, words in sections.items() if words}
    templates, mark = require(), "#" + bytes(colour.MARK).hex()
    script, script_hash = _script(templates)
    fixed = {"kind": kind, "sections": shown, "story": story, "mark": mark}
    fixed |= {"script": script, "script_hash": script_hash}
    return str(templates.get_template(template).render(**fixed, **values))


def _script(templates: Any) -> tuple[Any, str]:
    """The one script of a page as markup, and its hash: browsers run no other."""
    from markupsafe import Markup

    source = templates.loader.get_source(templates, "page.js")[0]
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return Markup(source), "sha256-" + base64.b64encode(digest).decode()


def write(story: CompletionStory, path: str | os.PathLike[str]) -> Path:
    """Render to ``path``: the whole page or, if anything fails, whatever was there before."""
    return save(render(story), path)


def save(html: str, path: str | os.PathLike[str]) -> Path:
    """Write a rendered page, whole or not at all."""
    content = html.encode("utf-8", errors="replace")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, lambda file: file.write(content))


def require() -> Any:
    """The templates, or an error that says what to install."""
    try:
        import jinja2
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the report needs jinja2 and pillow; install them with  pip install jinja2 pillow"
        ) from error
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("absentia.app.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"short": shortened, "csv_name": csv_name}
    return templates


@dataclass(frozen=True)
class Number:
    value: str
    label: str


def _numbers(story: CompletionStory) -> Sequence[Number]:
    observed = story.observed
    complete = int(observed.all(axis=1).sum())
    n, n_views = observed.shape
    return [
        Number(number(n), "sample" if n == 1 else "samples"),
        Number(number(n_views), "view" if n_views == 1 else "views"),
        Number(percent(int(observed.sum()), observed.size), "of all sample–view pairs present"),
        Number(number(complete), f"{_have(complete)} every view ({percent(complete, n)})"),
    ]


def _have(count: int) -> str:
    return "sample has" if count == 1 else "samples have"
