"""What the site shows of absentia is made by absentia: help of commands, reports, formulas as MathML."""

import contextlib
import io
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import latex2mathml.converter
import matplotlib
from docutils import nodes
from sphinx.util import logging

from absentia.app.plots._base import COLORS

LOG = logging.getLogger(__name__)

#: Commands whose pages are shown as they are, and what they write.
REPORTS = [
    ("fit.html", "fit breast/ --labels labels.csv:subtype -o model.absentia --report fit.html"),
    (
        "compared/report.html",
        "compare breast/ --labels labels.csv:subtype -o compared/ --methods average linear fusion auto "
        "--repeats 2 --learning-curve",
    ),
    ("completed.html", "complete breast/ -o completed.npz --method cvkt --report completed.html"),
]


def run(words):
    """What a command prints, run in this process."""
    from absentia.app.cli import _main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            _main.main(words.split())
        except SystemExit as leaving:
            if leaving.code:
                raise RuntimeError(f"absentia {words}: {err.getvalue()}") from None
    return out.getvalue()


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_commands(app):
    """A page for each command, from its own help."""
    from absentia.app.cli import _main

    folder = Path(app.srcdir) / "reference" / "commands"
    verbs = _main._VERBS
    for verb, words in verbs.items():
        text = f"# absentia {verb}\n\n{words}\n\n```text\n{run(f'{verb} --help').rstrip()}\n```\n"
        write_if_changed(folder / f"{verb}.md", text)
    rows = "".join(f"| [`absentia {verb}`]({verb}.md) | {words} |\n" for verb, words in verbs.items())
    toc = "".join(f"{verb}\n" for verb in verbs)
    write_if_changed(
        folder / "index.md",
        f"# Command line\n\n| | |\n|---|---|\n{rows}\n```{{toctree}}\n:hidden:\n\n{toc}```\n",
    )


def write_reports(app):
    """Pages of a fit, a comparison and a completion, as the commands write them."""
    made = Path(app.srcdir) / "_made" / "reports"
    work = Path(app.srcdir) / "_build" / "reports"
    if all((made / Path(page).name.replace("report", "compare")).exists() for page, _ in REPORTS):
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    made.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(work):
        run("example breast/")
        for page, words in REPORTS:
            LOG.info("absentia %s", words)
            run(words)
            shutil.copy(page, made / Path(page).name.replace("report", "compare"))


def visit_math(self, node):
    inline = isinstance(node, nodes.math)
    text = node.astext()
    if not inline and "\\\\" in text and "\\begin" not in text:
        text = f"\\begin{{aligned}}{text}\\end{{aligned}}"
    made = latex2mathml.converter.convert(text, display="inline" if inline else "block")
    self.body.append(made if inline else f'<div class="math">{made}</div>')
    raise nodes.SkipNode


def set_colors(gallery_conf, file):
    """Examples have the displays' colours, and their warnings no paths of this machine."""
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=COLORS)
    warnings.formatwarning = lambda message, category, *_: (
        f"{category.__name__}: {message}\n"
    )  # without paths


def skip_foreign(app, what, name, obj, skip, options):
    """What scikit-learn gives to every estimator is in its own reference."""
    home = getattr(obj, "__module__", None) or ""
    routing = re.fullmatch(r"set_\w+_request|get_metadata_routing", name)
    return True if routing or home.startswith("sklearn.") else None


def setup(app):
    # commands in pages that are run: those of this environment, without colours and moving lines
    here = str(Path(sys.executable).parent)
    plain = {"COLUMNS": "96", "NO_COLOR": "1", "TTY_INTERACTIVE": "0"}  # notebooks set TERM
    os.environ.update(plain, TERM="dumb", PATH=here + os.pathsep + os.environ["PATH"])
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", write_reports)
    return {"parallel_read_safe": True}
