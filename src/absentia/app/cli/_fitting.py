"""The work of ``absentia fit``: read, learn, judge beside baselines, write, and say how it went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import absentia
from absentia import experiment
from absentia.app import _terminal, report
from absentia.app._terminal import (
    collect_warnings,
    err,
    escape_text,
    format_command,
    out,
    say,
    say_json,
    say_paths,
    step_bar,
)
from absentia.app.cli._data import (
    TrainingData,
    describe_adjustment,
    explain_absence,
    open_costs,
    read_training,
)
from absentia.app.cli._flags import made_with, make_table, parameters_in_words, read_flags, start_dask
from absentia.app.cli._verbs import FitOptions
from absentia.core import format_seconds, limit_threads
from absentia.data import DataSummary, Views
from absentia.experiment import Validation
from absentia.experiment.comparison import learn_all
from absentia.kernels import ViewKernels
from absentia.methods import inspection, models
from absentia.methods.catalogue import Entry, find, list_entries
from absentia.methods.models import Model
from absentia.methods.prediction import Regions, can_calibrate, without_landmarks
from absentia.tasks import (
    CLASSIFICATION,
    REGRESSION,
    SURVIVAL,
    Classification,
    Interval,
    Plan,
    Task,
    decision_words,
    take_samples,
)

_TASKS = (CLASSIFICATION, REGRESSION, SURVIVAL)
_COVERAGE = 0.9  # of prediction sets, unless another is asked for
_LONG_SECONDS = 10.0  # from which on it is said how long something takes
_FAMILIES = tuple(task.family for task in _TASKS)


@dataclass(frozen=True, eq=False)
class _Fit:
    """What was learned, from what, how, and how good it is."""

    data: Path
    labels: str | None
    output: Path
    options: FitOptions
    entry: Entry
    plan: Plan
    training: TrainingData
    model: Any  # takes data
    validation: Validation | None

    @property
    def task(self) -> Task:
        return self.training.task

    @property
    def fitted(self) -> Any:
        """The method itself, without kernels before it."""
        return _get_method(self.model)

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Of samples that were not seen, by method and measure."""
        if self.validation is None:
            return {}
        seen, validation = self.judged, self.validation
        return self.task.evaluate(seen.y, validation.predictions, validation.fold, seen.data.groups)

    @cached_property
    def judged(self) -> TrainingData:
        """The samples that were predicted by models that had not seen them."""
        seen = self.training.validated
        return seen if self.validation is None else seen.take(self.validation.samples)

    @cached_property
    def regions(self) -> dict[str, Regions]:
        """Prediction sets of samples that were not seen, calibrated by pattern and by none."""
        held_out = {} if self.validation is None else self.validation.held_out
        return {by: scores.judge() for by, scores in held_out.items()}

    @property
    def coverage(self) -> dict[str, float]:
        """What prediction sets of samples that were not seen promised and reached."""
        if not self.regions:
            return {}
        regions = self.regions["pattern"]
        reached = regions.measure_coverage(np.ones(len(regions.y), bool))
        return {"promised": regions.promised, **dict(zip(("reached", "low", "high"), reached, strict=True))}


def run_fit(
    data: Path, labels: str | None, output: Path, options: FitOptions, flags: Mapping[str, str]
) -> None:
    """Learn, write the model and the report, and say how it went."""
    options.parse_C()
    entry, tasks = None, list(_TASKS)
    if options.method not in (None, "auto"):  # each task has its own default
        entry = find(options.method, *_FAMILIES)
        _read_parameters(entry, options, flags)  # what it does not have is refused before anything is read
        tasks = [task for task in _TASKS if task.family == entry.family]
    page = options.page(output)
    with collect_warnings() as remarks, start_dask(options.dask):
        source = replace(options.source, chunks=options.dask is not None or "auto")
        training = read_training(
            data,
            source,
            labels,
            options.kernels,
            tasks,
            covariates=options.covariates,
            adjust=options.adjust,
        )
        training = _judge_by(training, options)
        entry = entry or training.task.find(training.default_method)
        given: dict[str, Any] = {"C": options.parse_C(), "options": _read_parameters(entry, options, flags)}
        if training.task.name == "classes":
            given["probability"] = options.probability
        if options.no_rows:
            kernel = _without_rows(entry, training.samples.kernel, given["options"])
            training = replace(training, samples=replace(training.samples, kernel=kernel))
        plan = training.task.plan(entry, training.data, training.samples.kernel, **given)
        with limit_threads(options.threads, len(training.y)):
            model, validation = _learn(plan, training, options, page is not None)
        if training.in_memory is None:
            _get_method(model).training_summary_ = DataSummary.of(training.data)  # which ``predict`` reads
    fit = _Fit(data, labels, output, options, entry, plan, training, model, validation)
    _write(fit, page, remarks)
    if options.json:
        return say_json(_as_json(fit, page))
    _say_how_it_went(fit)
    say_paths(model=output, report=page)
    say(f"the model holds {models.describe(output)['personal data']}")
    return say(f"next:  {format_command('predict', output)} NEW -o predicted.csv")


def _without_rows(entry: Entry, kernels: ViewKernels, parameters: dict[str, Any]) -> ViewKernels:
    """Kernels without training samples as landmarks; of a default, members that can do without samples."""
    if entry.default:
        parameters.setdefault("candidates", "no-rows")
    return without_landmarks(clone(kernels).set_params(kernel=entry.fixed.get("kernel", kernels.kernel)))


def _judge_by(training: TrainingData, options: FitOptions) -> TrainingData:
    """The same with the score that counts, and classes decided so that it is best."""
    if training.task is not CLASSIFICATION:
        if options.score is not None or options.costs is not None:
            raise ValueError(f"--score and --costs are of classes, and the labels are {training.task.name}")
        return training
    with open_costs(options.costs) as costs:
        samples = training.samples.judged_by(options.score, costs)
    task = Classification(samples.decision, options.score)
    if not options.probability and task.main_score not in ("balanced accuracy", "accuracy"):
        raise ValueError(f"{task.main_score} wants probabilities; leave out --no-probability")
    return replace(training, samples=samples, task=task)


def _read_parameters(entry: Entry, options: FitOptions, flags: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of the method; refuse what it does not have."""
    parameters = read_flags(entry, flags, list_entries(*_FAMILIES), options)
    has_C = "C" in entry.make(**parameters).get_params() and "C" not in entry.without
    if options.parse_C() is not None and not has_C:
        flag = next((flag for flag in entry.parameters() if flag in ("--penalty", "--alpha")), None)
        own = f"; its penalty is {flag}" if flag else ""
        raise ValueError(f"--C does not apply to method {entry.name!r}{own}")
    has_kernel = entry.takes != "features" or "kernel" in entry.make(**parameters).get_params()
    if not has_kernel and (options.kernels.kernel or options.kernels.log):
        raise ValueError(f"--kernel and --log do not apply to method {entry.name!r}; it has no kernels")
    return parameters


def _find_coverage(plan: Plan, options: FitOptions) -> float | None:
    """What prediction sets are to cover; None: there is nothing that they could be made of.

    Nor are there any with times: sets rest on new samples being like those that calibrate them.
    """
    if options.source.time is not None:
        if options.coverage is not None:
            raise ValueError(
                "--coverage is of samples held out at random, and --time of later ones; leave one out"
            )
        return None
    if options.no_rows:
        return None
    if can_calibrate(plan.estimator):
        return options.coverage or _COVERAGE
    if options.coverage is not None:
        more = "; leave out --no-probability" if not options.probability else "; take another method"
        raise ValueError(f"--coverage wants probabilities, which method {plan.name!r} does not give{more}")
    return None


def _learn(
    plan: Plan, training: TrainingData, options: FitOptions, validate: bool
) -> tuple[Any, Validation | None]:
    """The model of all samples, and how it does on samples that it has not seen, beside baselines.

    Where the method can be calibrated the folds do so, too.
    """
    task, seen, coverage = training.task, training.validated, _find_coverage(plan, options)
    plans = {plan.name: plan, **task.baseline_plans(plan, seen.data)} if validate else {}
    n_folds = _count_folds(task, seen) if validate else 0
    judging = n_folds * len(seen.y) / len(training.y)  # fits; of many samples few are judged by
    _say_how_long(plan, training, judging)
    with step_bar(plan.name, experiment.count_steps(plan, plans, n_folds)) as tick:
        begin = _terminal._clock()
        whole, model, learned_from = learn_all(training.samples, plan, tick)
        if options.no_rows:
            models.export(model)  # what cannot be is refused before the folds take their time
        if not validate:
            return whole, None
        seconds = judging * (_terminal._clock() - begin)
        if seconds > _LONG_SECONDS:
            words = (
                f"fitted; judging it in folds beside baselines takes about {format_seconds(seconds)} more"
            )
            err.print(f"{words} (--no-report: not at all)", soft_wrap=True)
        times, covariates = seen.samples.times, seen.samples.covariates
        how: Any = {"coverage": coverage, "times": times, "covariates": covariates}
        validation = experiment.cross_validate(task, seen.data, seen.y, plans, tick, **how)
    if coverage is not None:
        _calibrate(model, learned_from, validation)
    return whole, validation


def _say_how_long(plan: Plan, training: TrainingData, judging: float) -> None:
    """Say, before anything is fitted, how long that takes, and as many fits as `judging` after it."""
    seen, n = training.validated, len(training.y)
    seconds = experiment.forecast_seconds(
        training.task,
        seen.data,
        seen.y,
        plan,
        n,
        seen.samples.covariates,
        chunked=training.in_memory is not None,
        least=_LONG_SECONDS / (1 + judging),
        clock=_terminal._clock,
    )
    if seconds is None or (1 + judging) * seconds < _LONG_SECONDS:
        return
    words = f"{plan.name}: about {format_seconds(seconds)} for {n} samples"
    if judging:
        words += f", and {format_seconds(judging * seconds)} to judge it in folds beside baselines"
    err.print(words + (" (--no-report: not at all)" if judging else ""), soft_wrap=True)


def _count_folds(task: Task, seen: TrainingData) -> int:
    if seen.samples.times is not None:
        return len(task.make_time_folds(seen.y, seen.samples.times, seen.data.groups))
    return task.count_folds(seen.y, seen.data.groups)


def _calibrate(model: Any, data: Any, validation: Validation) -> None:
    """Give the fitted method the scores of samples held out, which ``predict --coverage`` reads."""
    kernels = model[0] if isinstance(model, Pipeline) else None
    whole = model if isinstance(model, Model) else Model(_get_method(model), kernels)
    first = whole.rows(take_samples(data, np.arange(1), np.arange(len(data))))
    whole.classifier.calibration_ = validation.held_out["pattern"].calibrate(whole.classifier, first)


def _get_method(model: Any) -> Any:
    """The method itself, without kernels before it."""
    if isinstance(model, Model):
        return model.classifier
    return model[-1] if isinstance(model, Pipeline) else model


def _write(fit: _Fit, page: Path | None, remarks: Sequence[str]) -> None:
    """The page is made before anything is written: what cannot be shown is not there by half."""
    about = {"method": fit.entry.name, "data": fit.data.name, "samples": len(fit.training.y)}
    about["written by"] = f"absentia {absentia.__version__}"
    if fit.training.reading:
        about["reading"] = fit.training.reading
    if fit.task is SURVIVAL:
        about["events"] = int(fit.training.y[:, 1].sum())
    if fit.scores:
        main = fit.scores[fit.plan.name][fit.task.main_score]
        about[f"cross-validated {fit.task.main_score}"] = getattr(main, "value", main)
    html = None if fit.validation is None else _render(fit, fit.validation, remarks)
    model = replace(fit.model, about=about) if isinstance(fit.model, Model) else fit.model
    models.save(models.export(model) if fit.options.no_rows else model, fit.output, about)
    if html is not None and page is not None:
        report.save(html, page)


# -------------------------------------------------------------------------------------- what goes out


def _say_how_it_went(fit: _Fit) -> None:
    task, fitted = fit.task, fit.fitted
    for note in _find_notes(fit):
        say(escape_text(note))
    say("; ".join(_summary_parts(fit)))
    if hasattr(fitted, "candidates_"):
        say(escape_text(f"used: {fitted.sentence_}"))
        out.print(_candidate_table(fitted))
    if task.name == "classes" and hasattr(fitted, "weights_"):
        out.print(_weight_table(fitted))
    if fit.scores:
        out.print(_score_table(fit.scores))
    if fit.coverage:
        promised, *reached = (100 * share for share in fit.coverage.values())
        share, low, high = reached
        words = f"{promised:g} % promised, {share:.1f} % reached out of fold ({low:.1f} to {high:.1f})"
        say(f"prediction sets (predict --coverage): {words}")


def _find_notes(fit: _Fit) -> Iterator[str]:
    """What there is to say of the data."""
    yield from (fit.training if fit.validation is None else fit.training.validated).notes
    if fit.task is REGRESSION and (fit.training.y == fit.training.y.round()).all():
        yield "these whole numbers are learned as numbers; if they are classes, write words (c1, c2)"


def _summary_parts(fit: _Fit) -> list[str]:
    """How many samples, views and so on; the strength and whether it was given; how the fit ended."""
    task, fitted, y = fit.task, fit.fitted, fit.training.y
    views = f"{len(fitted.names_in_)} view{'' if len(fitted.names_in_) == 1 else 's'}"
    parts = [", ".join([f"{fit.entry.name}: {len(y)} samples", views, *task.count_words(y)])]
    strength = task.find_strength(fitted)
    if strength is not None:
        how = "given" if _is_given(fit) else task.selection
        parts.append(f"{task.strength} = {escape_text(_format_strength(strength))} ({how})")
    if task.name == "classes" and hasattr(fitted, "status_"):
        gap = f", duality gap {fitted.gap_:.1e}" if hasattr(fitted, "gap_") else ""
        parts.append(fitted.status_ + gap)
    return parts


def _is_given(fit: _Fit) -> bool:
    """Whether the user has set the strength."""
    parameters = fit.plan.estimator.get_params()
    own = [parameters[name] for name in ("penalty", "alpha") if name in parameters]
    return fit.plan.C is not None or any(isinstance(value, Real) for value in own)


def _as_json(fit: _Fit, page: Path | None) -> dict[str, Any]:
    """What was learned and how good it is, for programs."""
    document: dict[str, Any] = {
        "method": fit.entry.name,
        "samples": len(fit.training.y),
        "groups": fit.training.data.n_groups,
        "not learned from": fit.training.dropped,
        "views": list(fit.fitted.names_in_),
        **fit.task.describe(fit.fitted, fit.training.y),
        "model": str(fit.output),
        "model holds": models.describe(fit.output)["holds"],
        "report": None if page is None else str(page),
        "notes": list(_find_notes(fit)),
    }
    if fit.scores:
        main, single = fit.task.main_score, len(next(iter(fit.scores.values()))) == 1
        key = f"cross-validated {main}" if single else "cross-validated"
        document[key] = {name: row[main] if single else row for name, row in fit.scores.items()}
    return document | ({"coverage": fit.coverage} if fit.coverage else {})


def _weight_table(fitted: Any) -> Table:
    weights = np.atleast_2d(fitted.weights_)
    heading = "weight" if len(weights) == 1 else "weight, mean of classes"
    table = make_table("view", heading)
    for name, column in zip(fitted.names_in_, weights.T, strict=True):
        table.add_row(escape_text(name), f"{column.mean():.3f}")
    return table


def _candidate_table(fitted: Any) -> Table:
    measure = next(iter(next(iter(fitted.candidates_.values()))))
    table = make_table("member", f"{'log-loss' if measure == 'loss' else measure}, left out", "weight")
    for name, row in fitted.candidates_.items():
        score, weight = row.values()
        table.add_row(escape_text(name), f"{score:.3f}", f"{weight:.2f}")
    return table


def _score_table(scores: Mapping[str, Mapping[str, Any]]) -> Table:
    """How well each method predicts what it has not seen, with intervals where there are any."""
    table = make_table("cross-validated")
    for measure, value in next(iter(scores.values())).items():
        for heading in (measure, "95% interval") if isinstance(value, Interval) else (measure,):
            table.add_column(heading)
    for name, row in scores.items():
        cells = []
        for measure, value in row.items():
            if isinstance(value, Interval):
                interval = f"{value.low:.3f} to {value.high:.3f}" if value.high > value.low else ""
                cells += [f"{value.value:.3f}", interval]
            elif value is None:
                cells.append("")
            else:
                cells.append(f"{value:.3f}" if measure == "accuracy" else f"{value:.4g}")
        table.add_row(name, *cells)
    return table


# ---------------------------------------------------------------------------------------------- the page


def _render(fit: _Fit, validation: Validation, remarks: Sequence[str]) -> str:
    """The page as a text of HTML: what all tasks show, and what each shows beside."""
    seen = fit.judged
    more = seen.notes[-1:] if seen.n_learned else ()
    common = {
        "names": fit.fitted.names_in_,
        "observed": seen.data.observed,
        "n_all": seen.n_all,
        "warnings": list(dict.fromkeys([*remarks, *more])),
        "facts": _facts(fit, validation),
        "absence": _absence(fit),
        "regions": fit.regions,
        "groups": seen.data.groups,
    }
    if fit.task.name == "classes":
        return _render_classes(fit, validation, common)
    return (_render_numbers if fit.task is REGRESSION else _render_survival)(fit, validation, common)


def _absence(fit: _Fit) -> inspection.Absence:
    """Why views are absent, of the samples that the method is judged on."""
    seen = fit.training.validated
    with limit_threads(fit.options.threads, len(seen.y)):
        return explain_absence(seen.data, seen.y, seen.task.name, seen.columns, seen.covariates)


def _facts(fit: _Fit, validation: Validation) -> dict[str, str]:
    """How it was done, by name."""
    task, seen = fit.task, fit.judged
    facts = {
        "file": str(fit.data),
        "labels": str(fit.labels),
        "method": f"{fit.entry.name}: {fit.entry.when}",
    }
    if fit.task.name != "classes" and hasattr(fit.fitted, "sentence_"):
        facts["members"] = fit.fitted.sentence_
    if fit.entry.takes != "features":
        features = isinstance(seen.data, Views)
        facts["kernel"] = _kernel_words(fit.training.samples.kernel) if features else "as given"
    for name, values in validation.strengths.items():
        by_view = bool(values) and isinstance(values[0], Mapping)
        folds = f"in the folds {('; ' if by_view else ', ').join(map(_format_strength, values))}"
        own = task.find_strength(fit.fitted)
        if values and name != fit.plan.name:
            facts[f"{task.strength} of the {name}"] = folds
        elif values and own is not None:
            facts[task.strength] = f"{_format_strength(own)}; {folds}"
    if task.name == "classes" and (words := decision_words(fit.fitted)):
        facts["decision"] = f"the class with the {words}"
    if fit.options.covariates:
        facts["covariates"] = ", ".join(fit.options.covariates)
    for sentence in describe_adjustment(fit.training.samples.covariates):
        facts["adjusted"] = f"{sentence}; learned in the training part of each fold"
    facts["folds"] = f"{validation.n_folds}, {task.fold_words}, seed 0"
    if fit.options.source.time is not None:
        n_early = len(fit.training.validated.y) - len(seen.y)
        facts["folds"] = (
            f"{validation.n_folds} blocks in time, each predicted from all that came before it; the "
            f"{n_early} earliest samples are learned from only"
        )
        facts["time"] = fit.options.source.time
    if (n_groups := seen.data.n_groups) is not None:
        facts["groups"] = f"{n_groups} of samples, none on both sides of a split; intervals are by group"
    facts["judged on"] = f"{len(seen.y)} samples"
    facts["parameters"] = parameters_in_words(fit.fitted.get_params())
    return facts | {"made with": made_with()}


def _format_strength(strength: Any) -> str:
    """C, a penalty, or penalties by view as they are read."""
    if isinstance(strength, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in strength.items() if value == value)
    return f"{strength:g}"


def _kernel_words(kernels: ViewKernels) -> str:
    """The kernel of all views, and the exceptions."""
    exceptions = [
        f"{view}: {', '.join('log(1 + x)' if key == 'log' else str(value) for key, value in own.items())}"
        for view, own in (kernels.per_view or {}).items()
    ]
    return "; ".join([str(kernels.kernel), *exceptions])


def _render_classes(fit: _Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    classifier, seen = fit.fitted, fit.judged
    classes = classifier.classes_
    from absentia.app.report.classification import ClassificationReport, render_classification

    data = ClassificationReport(
        title=f"{fit.data.name}, classified",
        summary=f"{len(classes)} classes, learned with {fit.entry.name} from the views that each sample "
        "has.",
        classes=[str(x) for x in classes.tolist()],
        weights=np.atleast_2d(classifier.weights_) if hasattr(classifier, "weights_") else None,
        truth=np.searchsorted(classes, seen.y),
        predictions={name: np.searchsorted(classes, x) for name, x in validation.predicted.items()},
        probabilities=validation.probabilities,
        ids=seen.data.ids,
        without=None if validation.without is None else np.searchsorted(classes, validation.without),
        **_model_fields(fit.model, validation),
        used=getattr(classifier, "sentence_", ""),
        figures=_main_figures(fit),
        n_learned=len(fit.training.y),
        **common,
    )
    return render_classification(data)


def _main_figures(fit: _Fit) -> list[tuple[str, str]]:
    """The score that counts, with its words, where the page does not have it anyway."""
    main = fit.task.metrics[0]
    value = fit.scores[fit.plan.name][main.name]
    if main.name in ("balanced accuracy", "accuracy") or value is None:
        return []
    return [(main.format(value), f"{main.name}, cross-validated, with {fit.plan.name}: {main.words}")]


def _render_numbers(fit: _Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    seen = fit.judged
    target = (fit.labels or "").rpartition(":")[2].rpartition("/")[2] or "number"
    assert validation.without is not None
    from absentia.app.report.regression import RegressionReport, render_numbers

    data = RegressionReport(
        title=f"{fit.data.name}, {target} predicted",
        summary=f"Numbers learned with {fit.entry.name} from the views that each sample has.",
        target=target,
        truth=seen.y,
        predictions=validation.predicted,
        ids=seen.data.ids,
        without=validation.without,
        **common,
    )
    return render_numbers(data)


def _render_survival(fit: _Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    seen, fitted = fit.judged, fit.fitted
    alone: Mapping[str, float] = getattr(fitted, "concordances_", {})  # of views that are fused
    completed = getattr(fitted, "completer", None) is not None and not alone
    how = "views that are absent completed." if completed else "nothing completed."
    if hasattr(fitted, "sentence_"):
        how = f"by {fitted.sentence_}."
    from absentia.app.report.survival import SurvivalReport, render_survival

    data = SurvivalReport(
        title=f"{fit.data.name}, survival",
        summary=f"Risks learned with {fit.entry.name} from the views that each sample has, {how}",
        time=seen.y[:, 0],
        event=seen.y[:, 1] == 1,
        predictions=validation.predicted,
        fold=validation.fold,
        unit=(fit.labels or "time").rpartition(":")[2].partition(",")[0],
        views={name: (f"{fitted.weights_[name]:.3f}", f"{value:.3f}") for name, value in alone.items()},
        **common,
    )
    return render_survival(data)


def _model_fields(model: Model, validation: Validation) -> dict[str, Any]:
    """Fields of a classification's page: gains, features, and the rule of decision."""
    fields: dict[str, Any] = {"gains": validation.gains}
    if rule := decision_words(model.classifier):
        fields["rule"] = f"with the {rule}, which need not be the most probable one"
    if validation.gains is None:
        fields["why_no_gains"] = _why_no_gains(model, validation)
    try:
        table = inspection.feature_importance(model)
    except ValueError:  # it has none
        return fields
    fields["importance"] = list(table.itertuples(index=False, name=None))
    shares = table.attrs.get("of", {})
    parts = ", ".join(f"{name} ({100 * share:.0f}%)" for name, share in shares.items())
    fields["importance_of"] = f"the mean of {parts}" if parts else ""
    return fields


def _why_no_gains(model: Model, validation: Validation) -> str:
    if not model.takes_features:
        return "it takes features, and the data are kernels"
    return "the method was fitted without probabilities" if validation.probabilities is None else ""
