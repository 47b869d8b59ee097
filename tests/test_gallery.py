"""Every example of the gallery runs, says what it shows first, and draws a picture."""

import ast
import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))
SLOW = {"absent_mkl", "compare", "groups", "labels", "learning_curve"}  # more than a second


def test_there_are_enough():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=name, marks=pytest.mark.slow if name in SLOW else ())
        for path in EXAMPLES
        for name in [path.stem.removeprefix("plot_")]
    ],
)
@pytest.mark.filterwarnings("default")  # an example may show a warning
def test_an_example_draws(path, monkeypatch, tmp_path):
    title, line = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[:2]
    assert line == "=" * len(title)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    drawn = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert any(ax.has_data() for figure in drawn for ax in figure.axes)
    pyplot.close("all")
