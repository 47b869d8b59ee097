"""Pages that are notebooks run from top to bottom, as the site runs them; what they show is looked at."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import AverageKernelSVC, MeanFill, ViewKernels, Views

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [str(p.relative_to(DOCS)) for p in sorted(DOCS.glob("[!_]*.md")) + sorted(DOCS.glob("[!_]*/*.md"))
         if p.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb")]  # fmt: skip


def run(page, folder):
    """The cells of a page of Markdown with their outputs."""
    nbclient, read = pytest.importorskip("nbclient"), pytest.importorskip("myst_nb.core.read")
    notebook = read.read_myst_markdown_notebook(page)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    return [cell for cell in client.execute().cells if cell.cell_type == "code"]


def collect(cell):
    """What a cell shows, by kind: text of streams, markup."""
    found = {}
    for output in cell.outputs:
        parts = output.get("data") or {output.get("name"): output.get("text")}
        found |= {kind: found.get(kind, "") + text for kind, text in parts.items()}
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES)
def test_a_notebook_runs(page, tmp_path):
    cells = run((DOCS / page).read_text(encoding="utf-8"), tmp_path)
    if page != "notebook.md":
        return
    data, model, compared, warned = map(collect, cells)
    assert data["text/html"].count("<path") == 3
    assert "Fitted to 140 samples. the average of linear" in model["text/html"]
    assert "sk-top-container" in model["text/html"]
    assert "<table" in compared["text/html"]
    assert "AbsenceWarning: 1 sample(s) have no view at all" in warned["stderr"]
    assert "ipykernel" in warned["stderr"]
    assert "site-packages" not in warned["stderr"]


PROGRESS = """---
file_format: mystnb
---

```{code-cell} ipython3
import numpy as np
import absentia
from absentia.app import _terminal

_terminal._TRIAL_SECONDS = 0
data = {"a": np.random.default_rng(0).normal(size=(30, 3))}
absentia.compare(data, np.arange(30) % 2, methods=["linear"], repeats=1, cv=2, verbose=True);
```
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_progress_is_a_stream_of_lines(tmp_path):
    (cell,) = run(PROGRESS, tmp_path)
    assert {output.output_type for output in cell.outputs} == {"stream"}
    lines = collect(cell)["stderr"].splitlines()
    assert lines
    assert all(re.match(r"trials: \d of 4 ", line) for line in lines)


def kernels():
    rng = np.random.default_rng(0)
    nth = np.arange(12) % 4
    observed = np.column_stack([nth > 0, nth < 3])
    tables = {name: rng.normal(size=(12, 3)) for name in ("<a>", "b")}
    views = Views.from_dict(tables).hide(observed)
    return ViewKernels().fit_transform(views), np.repeat([0, 1], 6)


def test_a_fitted_estimator_shows_who_had_which_view():
    K, y = kernels()
    fill = MeanFill()
    assert "Fitted to" not in fill._repr_html_()
    fill.fit(K)
    machine = AverageKernelSVC().fit(K, y)
    for fitted in (fill, machine):
        for page in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
            assert "Fitted to 12 samples" in page
            assert "sk-top-container" in page
            assert "&lt;a&gt;: 9 of 12 samples" in page
    assert repr(fill) == fill._repr_mimebundle_()["text/plain"]


def test_a_strip_has_its_samples_sorted_by_pattern():
    page = kernels()[0]._repr_html_()
    assert 'd="M0 0h9v1h-9z"' in page  # the first view: 9 samples in one run
    assert page.count("<path") == 2


def test_a_pipeline_shows_its_steps():
    K, y = kernels()
    pipeline = make_pipeline(MeanFill(), AverageKernelSVC()).fit(K, y)
    assert "MeanFill" in pipeline._repr_html_()
