"""``absentia demo``: the main job, end to end, on data that need no download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absentia.app import _endings as endings
from absentia.app._checks import check_folder, check_number, check_report, check_whole
from absentia.app._terminal import Whole, iteration_bar, out
from absentia.app.cli._words import call, made_with, say, say_where

# isort: split
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from absentia.app.report import CompletionStory
    from absentia.experiment import Completions

#: What each column of the table means.
COLUMNS = {
    "CA": "lower is better: 1 - cosine between completed and true kernel, over all entries",
    "ARE": "lower is better: relative error of the rows that had been hidden (1 = as bad as zeros)",
    "Frobenius": "lower is better: norm of the error relative to the norm of the true kernel",
    "structural similarity": "higher is better: how alike the two kernels look as pictures",
    "accuracy": "higher is better: 5-fold cross-validated accuracy of an SVM on the sum of the kernels",
    "seconds": "CPU time of the completion",
    "iterations": "until the objective settled",
}
SHORT = {"structural similarity": "s.sim", "Frobenius": "Frob.", "iterations": "iter."}

METHODS = ("mkmc-pca", "mkmc-fa", "mkmc-full", "cvkt", "em", "knn", "mean", "zero")
BASELINES = ("mean", "zero")
TRUTH = "nothing hidden"
FEWEST, MOST = 50, 1797  # digits: five of each, and all there are


def demo(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("absentia-demo"),
    n_samples: Whole = 300,
    absent: float = 0.3,
    seed: Whole = 0,
) -> None:
    """Hide views of handwritten digits, complete them with every method, write a report.

    Example: absentia demo --absent 0.5

    Parameters
    ----------
    output
        Folder for the report and the views, made if it is not there.
    n_samples
        Number of digits, up to 1797.
    absent
        Share of sample-view pairs to hide, 0 to 0.8.
    seed
        Seed of the random choice of what is hidden.
    """
    page, data = output / "report.html", output / "digits.npz"
    check_whole("--n-samples", n_samples, FEWEST, MOST)
    check_number("--absent", absent, most=0.8)
    check_whole("--seed", seed, 0)
    check_folder(output)
    check_report(page)
    endings.ledger.expect(data, page)
    from absentia import files
    from absentia.app import report
    from absentia.core import at_most

    with at_most(1, n_samples), iteration_bar() as start:
        story = run(n_samples, absent, seed, announce=start)
    output.mkdir(parents=True, exist_ok=True)
    views, y = _hidden(n_samples, absent, seed)
    files.write(data, views, digit=y)
    path = report.write(story, page)
    out.print(score_table(story.scores))
    say_where(report=path.resolve())
    say("next, on the same views:")
    for command in (
        call("inspect", data, labels="digit"),
        f"{call('fit', data, labels='digit')} -o model.absentia",
        f"{call('example', Path('breast'))}      # and on tables: a made-up cohort",
    ):
        say(f"  {command}")


def run(n_samples: int, absent: float, seed: int, **options: Any) -> CompletionStory:
    """Hide a share of the cells of the digit views, complete with every method, score against truth."""
    from absentia import datasets
    from absentia.data import missingness
    from absentia.experiment import complete_all
    from absentia.kernels import ViewKernels

    views, y = datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    truth = ViewKernels("rbf").fit_transform(views)
    keep = missingness.mcar(views, absent, random_state=seed)
    found = complete_all(METHODS, truth, keep, y, tol=1e-5, max_iter=300, **options)
    return _story(found, absent, seed)


def _hidden(n_samples: int, absent: float, seed: int) -> tuple[Any, Any]:
    """The views as the methods get them, and the digits."""
    from absentia import datasets
    from absentia.data import missingness

    views, y = datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    return views.hide(missingness.mcar(views, absent, random_state=seed)), y


def _story(found: Completions, absent: float, seed: int) -> CompletionStory:
    from absentia.app.report import CompletionStory

    incomplete, y = found.incomplete, found.labels
    reference: dict[str, str | float | int] = {"method": TRUTH, "accuracy": found.reference}
    return CompletionStory(
        title="Six views of handwritten digits, some of them hidden",
        summary=(
            f"We computed one RBF kernel per view, hid {absent:.0%} of all sample-view pairs at random, "
            "filled the missing rows and columns with each method, and compared with what we had hidden. "
            "Zero and mean fill are the baselines to beat."
        ),
        before=incomplete,
        after=found.completed,
        truth=found.truth,
        traces=found.traces,
        scores=[*found.records, reference],
        labels=y,
        warnings=found.remarks,
        facts={
            "data": f"scikit-learn's bundled digits, {len(y)} of 1797 images, six views computed here",
            "hidden": f"{(~incomplete.observed).sum()} of {incomplete.observed.size} cells, "
            f"missingness.mcar, random_state={seed}",
            "kernels": "rbf, width by the median heuristic, standardised features",
            "accuracy": "SVC on the cosine-normalised sum of the kernels, 5 stratified folds; "
            "completion saw all kernels but no label",
            "made with": made_with(),
        },
        explain=COLUMNS,
        baselines=BASELINES,
        references=(TRUTH,),
    )


def score_table(records: Sequence[Mapping[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for record in records for key in record))
    table = Table(box=None, pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "left" if column == "method" else "right"
        table.add_column(SHORT.get(column, column), justify=justify, no_wrap=True)
    for record in records:
        table.add_row(*(_shown(column, record.get(column)) for column in columns))
    return table


def _shown(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return escape(str(value))
    return f"{value:.1f}" if column == "seconds" else f"{value:.3f}"
