"""``absentia plot``: a picture of data, a model, a comparison or a table, as PDF, SVG or PNG."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import absentia
from absentia.app._terminal import say_paths
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import check_ending, check_outputs
from absentia.app.cli._predict import check_calibration, load_model, read_samples

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.app.plots import Display

Kind = Literal[
    "presence",
    "patterns",
    "absence",
    "kernels",
    "embedding",
    "values",
    "weights",
    "importance",
    "contributions",
    "calibration",
    "coverage",
    "survival",
    "plan",
    "comparison",
    "learning-curve",
    "critical-difference",
]
_HIDDEN = 0.2  # of the observed cells, to show how well values are filled in


def plot(
    kind: Kind,
    data: Annotated[
        Path,
        Parameter(
            help=f"{flag.DATA_HELP} For weights and importance a model, for comparison and learning-curve "
            "the folder of a comparison, for plan the table that absentia plan wrote, for "
            "critical-difference a table of scores, data sets x methods."
        ),
    ],
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")],
    labels: flag.Labels = None,
    model: Path | None = None,
    sample: str | None = None,
    coverage: Annotated[float, Parameter(validator=flag.check_coverage)] = 0.9,
    method: str = "cvkt",
    width: Literal["single", "middle", "double"] | None = None,
    source: flag.LabelledReadOptions = flag.LabelledReadOptions(),  # noqa: B008 - it is frozen
    force: flag.Force = False,
) -> None:
    """Draw a picture: of data, a model, a comparison or a table.

    Example: absentia plot patterns breast/ --labels labels.csv:subtype -o patterns.pdf

    presence, patterns: who has which views. absence: what tells why not. kernels: observed and completed.
    embedding: samples as points. values: a fifth of the cells hidden, filled in, and compared.
    contributions, calibration, coverage (what prediction sets reach, by pattern): of samples that the model
    has not seen, --model wanted. survival: --labels FILE:TIME,EVENT; with
    --model by predicted risk.

    Parameters
    ----------
    output
        A .pdf, .svg or .png file.
    model
        A model written by absentia fit.
    sample
        The id of the sample whose contributions are drawn, instead of the mean of all.
    coverage
        The share of samples whose class, number or time is to be in their sets.
    method
        What completes kernels.
    width
        A journal's column (89 mm), one and a half (120 mm), the page (183 mm); the height follows.
    """
    check_ending(output, "the output", ".pdf", ".svg", ".png")
    check_outputs([path for path in (data, model) if path is not None], [output], force)
    try:
        import matplotlib
    except ImportError as error:
        raise ValueError(f'plots need Matplotlib: pip install "absentia[plots]" ({error})') from None
    matplotlib.use("Agg")  # a file is wanted, and there may be no screen
    request = _Request(data, labels, model, sample, coverage, method, source)
    _DRAWINGS[kind](request).save(output, width)
    say_paths(figure=output)


@dataclass(frozen=True)
class _Request:
    """What is to be drawn, read when it is asked for."""

    path: Path
    labels: str | None
    model_path: Path | None
    sample: str | None
    coverage: float
    method: str
    source: flag.LabelledReadOptions

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """Samples and their labels, without those whose label is unknown if labels are given."""
        from absentia.app.cli._data import describe_samples
        from absentia.tasks import take_samples

        opened = self.source.open(self.path, self.labels)
        described = describe_samples(self.path, self.source, opened, self.labels)
        if described.labels is None:
            return described.data, None
        known = described.labels.known.nonzero()[0]
        return take_samples(described.data, known), described.labels.values[known]

    @property
    def data(self) -> absentia.Views | absentia.KernelViews:
        return self._read[0]

    @property
    def y(self) -> Any:
        return self._read[1]

    @cached_property
    def model(self) -> Any:
        if self.model_path is None:
            raise ValueError("a model is wanted: --model model.absentia, written by absentia fit")
        return load_model(self.model_path)

    @property
    def of_model(self) -> tuple[Any, Any]:
        """The fitted method, and samples as it takes them, without those whose label is unknown."""
        model = self.model
        assert self.model_path is not None
        plain = replace(self.source, groups=None, time=None)
        new: Any = read_samples(model, self.path, plain, self.model_path)
        if self.labels is not None:
            places = {sample: i for i, sample in enumerate(new.ids.tolist())}
            new = new[[places[sample] for sample in self.data.ids.tolist()]]
        return model.classifier, model.rows(new)

    def wanted_labels(self, words: str = "FILE:COLUMN") -> Any:
        if self.labels is None:
            raise ValueError(f"labels are wanted: --labels {words}")
        return self.y


def _draw_kernels(request: _Request) -> Display:
    from absentia.methods.catalogue import find

    data = request.data
    K = data if isinstance(data, absentia.KernelViews) else absentia.ViewKernels().fit_transform(data)
    completed = find(request.method, "completer").make().fit_transform(K)
    return absentia.plots.KernelDisplay.from_kernels(request.y, observed=K, completed=completed)


def _draw_values(request: _Request) -> Display:
    data = request.data
    if not isinstance(data, absentia.Views):
        raise ValueError(f"{request.path}: features are wanted, whose values are compared, not kernels")
    hidden = data.hide(absentia.missingness.mcar(data, _HIDDEN, random_state=0))
    with warnings.catch_warnings(action="ignore"):  # of samples that hiding has left without another view
        completed = absentia.complete_values(hidden, keep="all")
    return absentia.plots.ValuesDisplay.from_completed(completed, data)


def _draw_survival(request: _Request) -> Display:
    y = request.wanted_labels("FILE:TIME,EVENT")
    if request.model_path is None:
        return absentia.plots.SurvivalDisplay.from_times(y)
    return absentia.plots.SurvivalDisplay.from_estimator(*request.of_model, y)


def _draw_calibration(request: _Request) -> Display:
    y = request.wanted_labels()
    return absentia.plots.CalibrationDisplay.from_estimator(*request.of_model, y)


def _draw_coverage(request: _Request) -> Display:
    y, (method, X) = request.wanted_labels(), request.of_model
    assert request.model_path is not None
    check_calibration(request.model_path, method)
    table = method.calibration_.measure_coverage(method, X, y, request.coverage)
    return absentia.plots.CoverageDisplay(table).plot()


def _draw_plan(request: _Request) -> Display:
    import pandas as pd

    with absentia.io.file_errors(request.path):
        return absentia.plots.PlanDisplay.from_plan(pd.read_csv(request.path))


def _draw_ranks(request: _Request) -> Display:
    with absentia.io.file_errors(request.path):
        scores = absentia.io.read_matrix(request.path)
        names = scores.column_names.tolist()
        return absentia.plots.CriticalDifferenceDisplay.from_scores(scores.X, names)


_DRAWINGS: dict[Kind, Callable[[_Request], Display]] = {
    "presence": lambda r: absentia.plots.PresenceDisplay.from_views(r.data, r.y),
    "patterns": lambda r: absentia.plots.PatternDisplay.from_views(r.data, r.y),
    "absence": lambda r: absentia.plots.AbsenceDisplay.from_absence(
        absentia.inspection.absence(r.data, r.y)
    ),
    "kernels": _draw_kernels,
    "embedding": lambda r: absentia.plots.EmbeddingDisplay.from_views(r.data, r.y),
    "values": _draw_values,
    "weights": lambda r: absentia.plots.WeightDisplay.from_estimator(load_model(r.path).classifier),
    "importance": lambda r: absentia.plots.ImportanceDisplay.from_estimator(load_model(r.path).classifier),
    "contributions": lambda r: absentia.plots.ContributionDisplay.from_estimator(
        *r.of_model, sample=r.sample
    ),
    "calibration": _draw_calibration,
    "coverage": _draw_coverage,
    "survival": _draw_survival,
    "plan": _draw_plan,
    "comparison": lambda r: absentia.plots.ComparisonDisplay.from_comparison(
        absentia.open_comparison(r.path)
    ),
    "learning-curve": lambda r: absentia.plots.LearningCurveDisplay.from_comparison(
        absentia.open_comparison(r.path)
    ),
    "critical-difference": _draw_ranks,
}
