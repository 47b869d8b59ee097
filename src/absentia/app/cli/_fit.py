"""``absentia fit``: from samples with labels to a model and a page about how good it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from absentia.app._terminal import out, printable, step_bar, warnings_kept

# isort: split
from cyclopts import Parameter
from rich.table import Table

from absentia import experiment
from absentia.app import _endings as endings
from absentia.app._checks import check_ending, check_outputs, check_report, check_threads, price_of
from absentia.app.cli._fit_numbers import METHODS as NUMBERS
from absentia.app.cli._fit_numbers import fit_numbers
from absentia.app.cli._fit_survival import METHODS as SURVIVAL
from absentia.app.cli._fit_survival import Order, fit_survival, is_survival
from absentia.app.cli._flags import Force, List, method_groups, with_flags
from absentia.app.cli._inspect import JSON
from absentia.app.cli._read import read_in_words
from absentia.app.cli._source import (
    DATA,
    LABELS,
    Kernels,
    LabelledFeatures,
    Logs,
    Threads,
    check_kernel_names,
    kernels_in_words,
)
from absentia.app.cli._training import Learned, Training, read_training
from absentia.app.cli._words import made_with, parameters_in_words, say, say_json, say_what_is_next
from absentia.core import Array, at_most
from absentia.experiment import Plan, Validation
from absentia.methods import models
from absentia.methods.catalogue import Entry, find, is_method, offered
from absentia.methods.models import Model

if TYPE_CHECKING:
    from absentia.app.report import ClassificationStory

METHODS = offered("classifier")
USUAL = "auto"
KINDS: tuple[Learned, ...] = ("classes", "numbers")  # of labels; the second if no method is asked for
AVERAGED, MAJORITY = "averaged kernel SVM", "most frequent class"

OUTPUT = Parameter(name=["--output", "-o"], help="The model, .absentia or .npz; it holds no code.")
METHOD = Parameter(help="How to learn; see --list. Of numbers by default ridge, of FILE:TIME,EVENT cox.")
PRICE = Parameter(name="--C", help="Price of a training error, or cv to choose it by cross-validation.")
REPORT = Parameter(name="--report", help="Where to write the HTML report; by default beside the model.")
NO_REPORT = Parameter(
    name="--no-report",
    negative="",
    help="No report, and so no cross-validation of the method and the baselines.",
)


@with_flags([*METHODS.values(), *NUMBERS.values(), *SURVIVAL.values()])
def fit(
    data: Annotated[Path | None, Parameter(name="DATA", help=DATA)] = None,
    /,
    *,
    labels: Annotated[str | None, Parameter(help=LABELS)] = None,
    output: Annotated[Path | None, OUTPUT] = None,
    method: Annotated[str, METHOD] = USUAL,
    C: Annotated[str, PRICE] = "cv",
    source: LabelledFeatures = LabelledFeatures(),  # noqa: B008 - it is frozen
    kernel: Kernels = (),
    log: Logs = (),
    probability: Annotated[
        bool, Parameter(help="Also learn to give the probabilities of the classes.")
    ] = True,
    report: Annotated[Path | None, REPORT] = None,
    no_report: Annotated[bool, NO_REPORT] = False,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, JSON] = False,
    list_methods: List = False,
    flags: dict[str, str],
) -> None:
    """Learn classes, numbers or survival of samples from the views they have, and write the model.

    By default several kinds of methods for classes are tried on held-out samples, and used together.
    Ctrl-C stops; nothing is written then.

    Example: absentia fit breast/ --labels labels.csv:subtype -o model.absentia
    """
    if list_methods:
        return out.print(method_groups({"classes": METHODS, "numbers": NUMBERS, "survival": SURVIVAL}))
    if data is None or output is None:
        raise ValueError("DATA, --labels and -o MODEL.absentia are wanted; see absentia fit --help")
    _check_words(threads, kernel)
    page = _report_place(data, output, labels, report, no_report, force)
    order = Order(data, labels, output, page, source, kernel, log, threads, json)
    if other := _of_another_kind(order, method):
        return other(order, method, flags, C)
    entry = find(method, "classifier")
    method = entry.name
    plan = _plan(entry, entry.read(flags), probability, C)
    with warnings_kept() as remarks:
        training = read_training(data, source, labels, kernel, log, kinds=KINDS[: 1 + (method == USUAL)])
        if training.kind == "numbers":
            return fit_numbers(order, None, flags, C, (training, remarks))
        with at_most(threads, len(training.y)):
            model, judged = _learn(method, plan, training, validate=page is not None)
    seen = training.judged
    model = replace(model, about=_about(method, data, training, judged))
    told = (data, labels, entry, plan, model, seen)
    _write(output, page, model, classification_story(*told, judged, remarks) if judged else None)
    if json:
        return say_json(_as_json(method, model, training, judged, output, page))
    _say_how_it_went(method, plan, model, training, judged)
    return say_what_is_next(output, page)


def _check_words(threads: int | None, kernels: Sequence[str]) -> None:
    """Refuse, before any work, what means nothing."""
    check_threads(threads)
    check_kernel_names(kernels)


def _of_another_kind(order: Order, method: str) -> Callable[..., None] | None:
    """What learns something else than classes, if the method or the names of the labels ask for it."""
    if is_survival(method, USUAL, order.data, order.source, order.labels):
        return fit_survival
    return fit_numbers if is_method(method, "regressor") else None


def _plan(entry: Entry, options: dict[str, Any], probability: bool, C: str) -> Plan:
    """What to learn with; what the method does not have is not asked of it."""
    price = price_of(C)
    classifier = entry.make(**options)
    has = classifier.get_params()
    if "probability" in has:
        classifier.set_params(probability=probability)
    if price is not None and ("C" not in has or "C" in entry.without):
        raise ValueError(f"--C does not apply to method {entry.name!r}")
    return Plan(classifier, C=price)


def _write(output: Path, page: Path | None, model: Model, story: ClassificationStory | None) -> None:
    """The page is made before anything is written: what cannot be shown is not there by half."""
    if story is None or page is None:
        models.save(model, output, model.about)
        return
    from absentia.app import report

    html = report.render_classification(story)
    models.save(model, output, model.about)
    report.save(html, page)


def _learn(method: str, plan: Plan, training: Training, validate: bool) -> tuple[Model, Validation | None]:
    plan = replace(plan, kernel=training.kernels)
    with step_bar(method, plan.steps(training.y, validate)) as tick:
        model = experiment.learn(training.data, training.y, plan, tick)
        seen = training.judged
        judged = experiment.cross_validate(seen.data, seen.y, plan, tick) if validate else None
    return model, judged


def _report_place(
    data: Path, output: Path, labels: str | None, report: Path | None, none: bool, force: bool
) -> Path | None:
    """Where the report goes; refuse, before any work, what could not be written."""
    check_ending(output, "the model", ".absentia", ".npz")
    if none and report is not None:
        raise ValueError("--report and --no-report exclude one another")
    page = None if none else report or output.with_suffix(".html")
    named = [] if labels is None else [labels, labels.rpartition(":")[0] or labels]
    check_outputs([data, *map(Path, named)], [output, page], force)
    check_report(page, ", or give --no-report")
    endings.ledger.expect(output, page)
    return page


# -------------------------------------------------------------------------------------- what goes out


def _about(method: str, data: Path, training: Training, judged: Validation | None) -> dict[str, Any]:
    about = training.about(method, data)
    if judged is not None:
        about["cross-validated accuracy"] = float((judged.predicted == training.judged.y).mean())
    return about


def _say_how_it_went(
    method: str, plan: Plan, model: Model, training: Training, judged: Validation | None
) -> None:
    classifier, views = model.classifier, f"{len(model.names)} view{'' if len(model.names) == 1 else 's'}"
    parts = [f"{method}: {len(training.y)} samples, {views}, {len(model.classes)} classes"]
    found = experiment.price(classifier)
    if found is not None:
        how = "given" if plan.C is not None else "chosen by cross-validation"
        parts.append(f"C = {found:g} ({how})")
    if hasattr(classifier, "status_"):
        gap = f", duality gap {classifier.gap_:.1e}" if hasattr(classifier, "gap_") else ""
        parts.append(classifier.status_ + gap)
    for note in training.judged.notes if judged is not None else training.notes:
        say(printable(note))
    say("; ".join(parts))
    if hasattr(classifier, "candidates_"):
        say(printable(f"used: {classifier.sentence_}"))
        out.print(candidate_table(classifier))
    if hasattr(classifier, "weights_"):
        out.print(weight_table(model))
    if judged is not None:
        out.print(accuracy_table(method, training.judged.y, judged))


def _as_json(
    method: str,
    model: Model,
    training: Training,
    judged: Validation | None,
    output: Path,
    page: Path | None,
) -> dict[str, Any]:
    """What was learned and how good it is, for programs."""
    classifier = model.classifier
    weights = np.atleast_2d(getattr(classifier, "weights_", np.zeros((0, len(model.names)))))
    means = weights.mean(axis=0).tolist() if len(weights) else []
    found: dict[str, Any] = {
        "method": method,
        "samples": len(training.y),
        "not learned from": training.dropped,
        "views": list(model.names),
        "classes": model.classes.tolist(),
        "C": getattr(classifier, "C", None),
        "status": getattr(classifier, "status_", None),
        "weights": dict(zip(model.names, means, strict=True)) if means else None,
        "candidates": getattr(classifier, "candidates_", None),
        "model": str(output),
        "report": None if page is None else str(page),
    }
    if judged is not None:
        named = _predictions(method, judged).items()
        y = training.judged.y
        found["cross-validated accuracy"] = {k: float((p == y).mean()) for k, p in named}
    return found


def weight_table(model: Model) -> Table:
    weights = np.atleast_2d(model.classifier.weights_)
    few = len(weights) == 1
    table = Table("view", "weight" if few else "weight, mean of classes", box=None, pad_edge=False)
    for name, column in zip(model.names, weights.T, strict=True):
        table.add_row(printable(name), f"{column.mean():.3f}")
    return table


def candidate_rows(classifier: Any) -> list[list[str]]:
    """What a chooser tried: name, accuracy, its mean over classes, log-loss, weight."""
    rows = []
    for name, one in getattr(classifier, "candidates_", {}).items():
        numbers = [f"{one[key]:.3f}" for key in ("accuracy", "balanced", "loss")]
        dropped = one["dropped"] and f"dropped after {one['dropped']} folds"
        rows.append([name, *numbers, dropped or f"{one['weight']:.2f}"])
    return rows


def candidate_table(classifier: Any) -> Table:
    table = Table("tried", "accuracy", "balanced", "log-loss", "weight", box=None, pad_edge=False)
    for name, *cells in candidate_rows(classifier):
        table.add_row(printable(name), *cells)
    return table


def accuracy_table(method: str, y: Array, judged: Validation) -> Table:
    table = Table("cross-validated", "accuracy", box=None, pad_edge=False)
    for name, predicted in _predictions(method, judged).items():
        table.add_row(name, f"{(predicted == y).mean():.3f}")
    return table


def _predictions(method: str, judged: Validation) -> dict[str, Array]:
    return {method: judged.predicted, AVERAGED: judged.averaged, MAJORITY: judged.majority}


def classification_story(
    data: Path,
    labels: str | None,
    entry: Entry,
    plan: Plan,
    model: Model,
    training: Training,
    judged: Validation,
    remarks: Sequence[str],
) -> ClassificationStory:
    """What the report of one fit shows."""
    from absentia.app.report import ClassificationStory

    classifier = model.classifier
    return ClassificationStory(
        title=f"{data.name}, classified",
        summary=f"{len(model.classes)} classes, learned with {entry.name} from the views that each sample "
        "has.",
        names=model.names,
        observed=training.data.observed,
        classes=[str(x) for x in model.classes.tolist()],
        weights=np.atleast_2d(classifier.weights_) if hasattr(classifier, "weights_") else None,
        truth=np.searchsorted(model.classes, training.y),
        predictions={
            name: np.searchsorted(model.classes, predicted)
            for name, predicted in _predictions(entry.name, judged).items()
        },
        probabilities=judged.probabilities,
        ids=training.data.ids,
        scores=judged.scores,
        without=None if judged.without is None else np.searchsorted(model.classes, judged.without),
        **read_in_words(model, judged),
        tried=candidate_rows(classifier),
        used=getattr(classifier, "sentence_", ""),
        n_all=training.n_all,
        n_learned=training.n_learned,
        dropped=training.dropped,
        warnings=list(dict.fromkeys([*remarks, *(training.notes[-1:] if training.n_learned else ())])),
        facts={
            "file": str(data),
            "labels": labels or "as the manifest says",
            "method": f"{entry.name}: {entry.when}",
            **_prices(plan, model, judged),
            "folds": f"{judged.n_folds}, stratified by class, seed 0",
            "judged on": f"{len(training.y)} samples",
            "parameters": parameters_in_words(classifier.get_params()),
            "made with": made_with(),
        },
    )


def _prices(plan: Plan, model: Model, judged: Validation) -> Mapping[str, str]:
    """The kernel and C of the method and of the baseline."""
    found = {"kernel": "as given" if model.kernels is None else kernels_in_words(model.kernels)}
    if judged.prices and experiment.price(model.classifier) is not None:
        found["C"] = f"{experiment.price(model.classifier):g}; in the folds {_listed(judged.prices)}"
    return found | {f"C of the {AVERAGED}": f"in the folds {_listed(judged.averaged_prices)}"}


def _listed(prices: Sequence[float]) -> str:
    return ", ".join(f"{C:g}" for C in prices)
