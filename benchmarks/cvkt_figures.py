"""Figures 2, 4 and 5 of the paper on cross-view kernel transfer; writes docs/reproduction/cvkt-figure*.png.

Figure 2: kernels of the made-up views 1 and 4, with two and three of seven views missing per sample.
Figure 4: which embryo has which view.  Figure 5: kernels of the embryos, 30 % of a view's samples hidden,
for views 3 to 5.
Samples that are shown stand before those that were hidden, with white lines between.  The masks are the
authors'; methods are those of cvkt-table2 and cvkt-table3, with what is chosen chosen by hiding.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from absentia import papers
from absentia.app.plots import KernelDisplay, PresenceDisplay
from absentia.datasets import load_benchmark
from absentia.papers.protocols import _cvkt

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reproduction"
METHODS = {"CVKT": "CVKT, paper's", "MKC": "MKC", "mean": "mean"}


def complete(table: str, name: str, **setting: int) -> tuple[int, dict[str, np.ndarray]]:
    """How many samples are shown in a view, and its kernels by title, these samples first."""
    experiment = papers.find_experiment(table)
    key = {"data": experiment.design["data"][0], **setting, "repeat": 0, "seed": 0}
    problem = _cvkt._SETS[key["data"]](key)
    keep = problem.keep[:, problem.kernels.names.index(name)]
    order = np.argsort(~keep, kind="stable")
    columns = {column.name: column for column in experiment.columns}
    done = {"target": problem.kernels}
    for title, column in METHODS.items():
        chosen = {"method": columns[column].method, "parameters": columns[column].parameters}
        done[title] = _cvkt._complete_problem(problem, key | chosen)
    dense = {
        title: np.asarray(kernels.block(name))[np.ix_(order, order)] for title, kernels in done.items()
    }
    return int(keep.sum()), dense


def draw(figure: str, problems: dict[str, tuple[int, dict[str, np.ndarray]]]) -> None:
    """A column of panels for each problem, a row for each method."""
    titles = next(iter(problems.values()))[1]
    rows = {title: [dense[title] for _, dense in problems.values()] for title in titles}
    display = KernelDisplay(rows, list(problems)).plot()
    for panels in display.ax_:
        for panel, (shown, _) in zip(panels, problems.values(), strict=True):
            panel.axhline(shown - 0.5, color="white", linewidth=1)
            panel.axvline(shown - 0.5, color="white", linewidth=1)
    display.save(FOLDER / f"cvkt-{figure}.png", dpi=110)


def main() -> None:
    embryos = load_benchmark("embryo_kernels")
    groups = np.asarray(embryos.extra["group"])
    PresenceDisplay.from_views(embryos.kernels, [f"dataset {g + 1}" for g in groups - groups.min()]).save(
        FOLDER / "cvkt-figure4.png", dpi=110
    )
    draw(
        "figure2",
        {
            "view 1, 2 missing": complete("cvkt-table2", "view0", missing=2),
            "view 4, 3 missing": complete("cvkt-table2", "view3", missing=3),
        },
    )
    draw("figure5", {f"view {v}": complete("cvkt-table3", f"view{v}", view=v) for v in (3, 4, 5)})


if __name__ == "__main__":
    main()
