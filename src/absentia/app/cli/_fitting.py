"""The work of ``absentia fit``: read, learn, judge beside baselines, write, and say how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.pipeline import Pipeline

from absentia import experiment
from absentia.app import report
from absentia.app._checks import parse_C
from absentia.app._terminal import out, printable, step_bar, warnings_kept
from absentia.app.cli._fit_pages import candidate_rows, format_strength, render_fit
from absentia.app.cli._flags import read_flags
from absentia.app.cli._output import say, say_json, say_what_is_next
from absentia.app.cli._source import Source
from absentia.app.cli._training import Training, read_training
from absentia.core import limit_threads
from absentia.experiment import Validation
from absentia.methods import models
from absentia.methods.catalogue import Entry, find, offered
from absentia.methods.models import Model
from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL, Interval, Plan, Task

_FIT_TASKS = (CLASSIFICATION, REGRESSION, SURVIVAL)


@dataclass(frozen=True)
class FitOptions:
    """What the command line asks for; without a `method`, the default of what the labels are for."""

    data: Path
    labels: str | None
    output: Path
    page: Path | None
    source: Source
    kernel: Sequence[str]
    log: Sequence[str]
    method: str | None
    C: str
    flags: Mapping[str, str]
    probability: bool
    threads: int | None
    json: bool

    def check_method(self) -> Entry | None:
        """The method that is named, if one is; what it does not have is refused before anything is read."""
        parse_C(self.C)
        if self.method is None:
            return None
        entry = find(self.method, *(task.family for task in _FIT_TASKS))
        self.read_parameters(entry)
        return entry

    def read_parameters(self, entry: Entry) -> dict[str, Any]:
        """Parameters of the method; refuse what it does not have."""
        parameters = read_flags(entry, self.flags, offered(*(task.family for task in _FIT_TASKS)))
        has_C = "C" in entry.make(**parameters).get_params() and "C" not in entry.without
        if parse_C(self.C) is not None and not has_C:
            flag = next((flag for flag in entry.parameters() if flag in ("--penalty", "--alpha")), None)
            own = f"; its penalty is {flag}" if flag else ""
            raise ValueError(f"--C does not apply to method {entry.name!r}{own}")
        if entry.takes == "features" and (self.kernel or self.log):
            raise ValueError(f"--kernel and --log do not apply to method {entry.name!r}; it has no kernels")
        return parameters


@dataclass(frozen=True, eq=False)
class Fit:
    """What was learned, from what, how, and how good it is."""

    options: FitOptions
    entry: Entry
    plan: Plan
    training: Training
    model: Any  # takes data
    validation: Validation | None

    @property
    def task(self) -> Task:
        return self.training.task

    @property
    def fitted(self) -> Any:
        """The method itself, without kernels before it."""
        if isinstance(self.model, Model):
            return self.model.classifier
        return self.model[-1] if isinstance(self.model, Pipeline) else self.model

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Of samples that were not seen, by method and measure."""
        if self.validation is None:
            return {}
        seen = self.training.validated
        return self.task.judge(seen.y, self.validation.predicted, self.validation.fold)


def run_fit(options: FitOptions) -> None:
    """Learn, write the model and the report, and say how it went."""
    entry = options.check_method()
    tasks = _FIT_TASKS if entry is None else [task for task in _FIT_TASKS if task.family == entry.family]
    with warnings_kept() as remarks:
        training = read_training(
            options.data, options.source, options.labels, options.kernel, options.log, tasks=tasks
        )
        entry = entry or training.task.find(training.task.default_method)
        plan = _make_plan(options, entry, training)
        with limit_threads(options.threads, len(training.y)):
            model, validation = _learn(plan, training, validate=options.page is not None)
    fit = Fit(options, entry, plan, training, model, validation)
    _write(fit, remarks)
    if options.json:
        return say_json(_as_json(fit))
    _say_how_it_went(fit)
    return say_what_is_next(options.output, options.page)


def _make_plan(options: FitOptions, entry: Entry, training: Training) -> Plan:
    more = {"probability": options.probability} if training.task is CLASSIFICATION else {}
    return training.task.plan(
        entry,
        training.data,
        training.kernels,
        C=parse_C(options.C),
        options=options.read_parameters(entry),
        **more,
    )


def _learn(plan: Plan, training: Training, validate: bool) -> tuple[Any, Validation | None]:
    """The model of all samples, and how it does on samples that it has not seen, beside baselines."""
    task, seen = training.task, training.validated
    plans = {plan.name: plan, **task.baseline_plans(plan, seen.data)} if validate else {}
    with step_bar(plan.name, experiment.count_steps(task, plan, plans, seen.y)) as tick:
        model = task.learn(training.data, training.y, plan, tick)
        if not validate:
            return model, None
        return model, experiment.cross_validate(task, seen.data, seen.y, plans, tick)


def _write(fit: Fit, remarks: Sequence[str]) -> None:
    """The page is made before anything is written: what cannot be shown is not there by half."""
    about = fit.training.about(fit.entry.name, fit.options.data)
    if fit.task is SURVIVAL:
        about["events"] = int(fit.training.y[:, 1].sum())
    if fit.scores:
        main = fit.scores[fit.plan.name][fit.task.main_score]
        about[f"cross-validated {fit.task.main_score}"] = getattr(main, "value", main)
    html = None if fit.validation is None else render_fit(fit, remarks)
    model = replace(fit.model, about=about) if isinstance(fit.model, Model) else fit.model
    models.save(model, fit.options.output, about)
    if html is not None and fit.options.page is not None:
        report.save(html, fit.options.page)


# -------------------------------------------------------------------------------------- what goes out


def _say_how_it_went(fit: Fit) -> None:
    task, fitted = fit.task, fit.fitted
    training = fit.training if fit.validation is None else fit.training.validated
    for note in training.notes:
        say(printable(note))
    if task is REGRESSION and (fit.training.y == fit.training.y.round()).all():
        say("these whole numbers are learned as numbers; if they are classes, write words (c1, c2)")
    say("; ".join(_summary_parts(fit)))
    if hasattr(fitted, "candidates_"):
        say(printable(f"used: {fitted.sentence_}"))
        out.print(_candidate_table(fitted))
    if task is CLASSIFICATION and hasattr(fitted, "weights_"):
        out.print(weight_table(fitted))
    if fit.scores:
        out.print(_score_table(fit.scores))


def _summary_parts(fit: Fit) -> list[str]:
    """How many samples, views and so on; the strength and whether it was given; how the fit ended."""
    task, fitted, y = fit.task, fit.fitted, fit.training.y
    views = f"{len(fitted.names_in_)} view{'' if len(fitted.names_in_) == 1 else 's'}"
    parts = [", ".join([f"{fit.entry.name}: {len(y)} samples", views, *task.count_words(y)])]
    strength = task.find_strength(fitted)
    if strength is not None:
        how = "given" if _is_given(fit) else task.selection
        parts.append(f"{task.strength} = {printable(format_strength(strength))} ({how})")
    if task is CLASSIFICATION and hasattr(fitted, "status_"):
        gap = f", duality gap {fitted.gap_:.1e}" if hasattr(fitted, "gap_") else ""
        parts.append(fitted.status_ + gap)
    return parts


def _is_given(fit: Fit) -> bool:
    """Whether the user has set the strength."""
    parameters = fit.plan.estimator.get_params()
    own = [parameters[name] for name in ("penalty", "alpha") if name in parameters]
    return fit.plan.C is not None or any(isinstance(value, Real) for value in own)


def _as_json(fit: Fit) -> dict[str, Any]:
    """What was learned and how good it is, for programs."""
    document: dict[str, Any] = {
        "method": fit.entry.name,
        "samples": len(fit.training.y),
        "not learned from": fit.training.dropped,
        "views": list(fit.fitted.names_in_),
        **{name: _as_plain(value) for name, value in fit.task.describe(fit.fitted, fit.training.y).items()},
        "model": str(fit.options.output),
        "report": None if fit.options.page is None else str(fit.options.page),
    }
    if fit.scores:
        plain = {name: {k: _as_plain(v) for k, v in row.items()} for name, row in fit.scores.items()}
        single = len(next(iter(plain.values()))) == 1
        key = f"cross-validated {fit.task.main_score}" if single else "cross-validated"
        document[key] = {name: row[fit.task.main_score] if single else row for name, row in plain.items()}
    return document


def _as_plain(value: Any) -> Any:
    """Without what JSON cannot say: a view without a model has no penalty."""
    if isinstance(value, Interval):
        return value._asdict()
    if isinstance(value, Mapping):
        return {key: _as_plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and value != value else value


def weight_table(fitted: Any) -> Table:
    weights = np.atleast_2d(fitted.weights_)
    heading = "weight" if len(weights) == 1 else "weight, mean of classes"
    table = Table("view", heading, box=None, pad_edge=False)
    for name, column in zip(fitted.names_in_, weights.T, strict=True):
        table.add_row(printable(name), f"{column.mean():.3f}")
    return table


def _candidate_table(classifier: Any) -> Table:
    table = Table("tried", "accuracy", "balanced", "log-loss", "weight", box=None, pad_edge=False)
    for name, *cells in candidate_rows(classifier):
        table.add_row(printable(name), *cells)
    return table


def _score_table(scores: Mapping[str, Mapping[str, Any]]) -> Table:
    """How well each method predicts what it has not seen, with intervals where there are any."""
    table = Table("cross-validated", box=None, pad_edge=False)
    for measure, value in next(iter(scores.values())).items():
        for heading in (measure, "95% interval") if isinstance(value, Interval) else (measure,):
            table.add_column(heading)
    for name, row in scores.items():
        cells = []
        for measure, value in row.items():
            if isinstance(value, Interval):
                interval = f"{value.low:.3f} to {value.high:.3f}" if value.high > value.low else ""
                cells += [f"{value.value:.3f}", interval]
            else:
                cells.append(f"{value:.3f}" if measure == "accuracy" else f"{value:.4g}")
        table.add_row(name, *cells)
    return table
