"""``absentia plot``: a picture of data, a model, a comparison or a table, as PDF, SVG or PNG."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absentia.app._checks import check_ending, check_outputs
from absentia.app._terminal import say_paths
from absentia.app.cli import _flags as flag

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.app.plots import Display
    from absentia.data import KernelViews, Views

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
    method: str = "cvkt",
    width: Literal["single", "middle", "double"] | None = None,
    source: flag.LabelledReadOptions = flag.LabelledReadOptions(),  # noqa: B008 - it is frozen
    force: flag.Force = False,
) -> None:
    """Draw a picture: of data, a model, a comparison or a table.

    Example: absentia plot patterns breast/ --labels labels.csv:subtype -o patterns.pdf

    presence, patterns: who has which views. absence: what tells why not. kernels: observed and completed.
    embedding: samples as points. values: a fifth of the cells hidden, filled in, and compared.
    contributions, calibration: of new samples, --model wanted. survival: --labels FILE:TIME,EVENT; with
    --model by predicted risk.

    Parameters
    ----------
    output
        A .pdf, .svg or .png file.
    model
        A model written by absentia fit.
    sample
        The id of the sample whose contributions are drawn, instead of the mean of all.
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
    _make_display(kind, _Request(data, labels, model, sample, method, source)).save(output, width)
    say_paths(figure=output)


@dataclass(frozen=True)
class _Request:
    """What is to be drawn, read when it is asked for."""

    path: Path
    labels: str | None
    model_path: Path | None
    sample: str | None
    method: str
    source: flag.LabelledReadOptions

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """Samples and their labels, without those whose label is unknown if labels are given."""
        from absentia.app.cli._data import find_labels, find_times, group_samples
        from absentia.tasks import take_samples

        loaded = self.source.open(self.path, self.labels)
        found = None if self.labels is None else find_labels(self.path, self.source, loaded, self.labels)
        loaded, _ = group_samples(self.path, self.source, loaded)
        loaded, *_ = find_times(self.path, self.source, loaded)
        if found is None:
            return loaded.data, None
        known = found.known.nonzero()[0]
        return take_samples(found.without(loaded.data), known), found.values[known]

    @property
    def data(self) -> Views | KernelViews:
        return self._read[0]

    @property
    def y(self) -> Any:
        return self._read[1]

    @cached_property
    def model(self) -> Any:
        from absentia.app.cli._predict import load_model

        if self.model_path is None:
            raise ValueError("a model is wanted: --model model.absentia, written by absentia fit")
        return load_model(self.model_path)

    @property
    def new_samples(self) -> Any:
        """Samples read as those of the model were, without those whose label is unknown."""
        from absentia import files
        from absentia.app.cli._predict import read_samples

        assert self.model_path is not None
        remembered = files.read_state(self.model_path)[1]["about"].get("reading")
        plain = replace(self.source, groups=None, time=None)
        new = read_samples(self.model, self.path, plain, remembered, self.model_path)
        if self.labels is None:
            return self.model.rows(new)
        places = {sample: i for i, sample in enumerate(new.ids.tolist())}
        return self.model.rows(new[[places[sample] for sample in self.data.ids.tolist()]])

    def wanted_labels(self, words: str = "FILE:COLUMN") -> Any:
        if self.labels is None:
            raise ValueError(f"labels are wanted: --labels {words}")
        return self.y

    @property
    def kernels(self) -> KernelViews:
        from absentia.data import KernelViews
        from absentia.kernels import ViewKernels

        return self.data if isinstance(self.data, KernelViews) else ViewKernels().fit_transform(self.data)


def _draw_absence(request: _Request) -> Display:
    from absentia.app.plots import AbsenceDisplay
    from absentia.methods import inspection

    return AbsenceDisplay.from_absence(inspection.absence(request.data, request.y))


def _draw_kernels(request: _Request) -> Display:
    from absentia.app.plots import KernelDisplay
    from absentia.methods.catalogue import find

    K = request.kernels
    completed = find(request.method, "completer").make().fit_transform(K)
    return KernelDisplay.from_kernels(request.y, observed=K, completed=completed)


def _draw_values(request: _Request) -> Display:
    from absentia import complete_values
    from absentia.app.plots import ValuesDisplay
    from absentia.data import Views, missingness

    if not isinstance(request.data, Views):
        raise ValueError(f"{request.path}: features are wanted, whose values are compared, not kernels")
    hidden = request.data.hide(missingness.mcar(request.data, _HIDDEN, random_state=0))
    with warnings.catch_warnings(action="ignore"):  # of samples that hiding has left without another view
        completed = complete_values(hidden, keep="all")
    return ValuesDisplay.from_completed(completed, request.data)


def _draw_survival(request: _Request) -> Display:
    from absentia.app.plots import SurvivalDisplay

    y = request.wanted_labels("FILE:TIME,EVENT")
    if request.model_path is None:
        return SurvivalDisplay.from_times(y)
    return SurvivalDisplay.from_estimator(request.model.classifier, request.new_samples, y)


def _draw_contributions(request: _Request) -> Display:
    from absentia.app.plots import ContributionDisplay

    sample: Any = request.sample
    return ContributionDisplay.from_estimator(request.model.classifier, request.new_samples, sample=sample)


def _draw_calibration(request: _Request) -> Display:
    from absentia.app.plots import CalibrationDisplay

    y = request.wanted_labels()
    return CalibrationDisplay.from_estimator(request.model.classifier, request.new_samples, y)


def _draw_plan(request: _Request) -> Display:
    import pandas as pd

    from absentia.app.plots import PlanDisplay
    from absentia.files import file_errors

    with file_errors(request.path):
        return PlanDisplay.from_plan(pd.read_csv(request.path))


def _draw_ranks(request: _Request) -> Display:
    from absentia.app.plots import CriticalDifferenceDisplay
    from absentia.files import file_errors, read_matrix

    with file_errors(request.path):
        matrix = read_matrix(request.path)
        return CriticalDifferenceDisplay.from_scores(matrix.X, matrix.column_names.tolist())


_OF_DATA = {"presence": "PresenceDisplay", "patterns": "PatternDisplay", "embedding": "EmbeddingDisplay"}
_OF_MODELS = {"weights": "WeightDisplay", "importance": "ImportanceDisplay"}
_OF_COMPARISONS = {"comparison": "ComparisonDisplay", "learning-curve": "LearningCurveDisplay"}
_OTHERS: dict[str, Callable[[_Request], Display]] = {
    "absence": _draw_absence,
    "kernels": _draw_kernels,
    "values": _draw_values,
    "contributions": _draw_contributions,
    "calibration": _draw_calibration,
    "survival": _draw_survival,
    "plan": _draw_plan,
    "critical-difference": _draw_ranks,
}


def _make_display(kind: Kind, request: _Request) -> Any:
    from absentia.app import plots
    from absentia.app.cli._predict import load_model
    from absentia.app.comparison import open_comparison

    if kind in _OF_DATA:
        return getattr(plots, _OF_DATA[kind]).from_views(request.data, request.y)
    if kind in _OF_MODELS:
        return getattr(plots, _OF_MODELS[kind]).from_estimator(load_model(request.path).classifier)
    if kind in _OF_COMPARISONS:
        return getattr(plots, _OF_COMPARISONS[kind]).from_comparison(open_comparison(request.path))
    return _OTHERS[kind](request)
