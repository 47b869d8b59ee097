"""``absentia fit``: from samples with labels to a model and a page about how good it is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from absentia.app._terminal import out, printable, step_bar, warnings_kept

# isort: split
from cyclopts import Parameter
from rich.table import Table

import absentia
from absentia import experiment, files
from absentia.app import _endings as endings
from absentia.app._checks import check_ending, check_outputs, check_report, check_threads, price_of
from absentia.app.cli._flags import List, Threads, method_table, with_flags
from absentia.app.cli._words import indefinite_sentences, made_with, parameters_in_words, say, say_where
from absentia.core import Array, at_most, check_name, warn
from absentia.data import AbsenceWarning, KernelViews, Views
from absentia.experiment import Plan, Validation
from absentia.kernels import KERNELS
from absentia.methods import models
from absentia.methods.catalogue import Entry, find, offered
from absentia.methods.models import Model

if TYPE_CHECKING:
    from absentia.app.report import ClassificationStory

METHODS = offered("classifier")
AVERAGED, MAJORITY = "averaged kernel SVM", "most frequent class"

DATA = Parameter(name="DATA", help="An .npz file with features (`view_<name>`) or kernels (K).")
LABELS = Parameter(
    help="The name of an array in DATA, or a CSV file with the columns id and label (empty: not used)."
)
OUTPUT = Parameter(name=["--output", "-o"], help="The model, an .npz file; it holds no code.")
PRICE = Parameter(name="--C", help="Price of a training error, or cv to choose it by cross-validation.")
KERNEL = Parameter(help=f"For feature views: {', '.join(KERNELS)}.")
REPORT = Parameter(name="--report", help="Where to write the HTML report; by default beside the model.")
NO_REPORT = Parameter(
    name="--no-report",
    negative="",
    help="No report, and so no cross-validation of the method and the baselines.",
)


@with_flags(METHODS.values())
def fit(
    data: Annotated[Path | None, DATA] = None,
    /,
    *,
    labels: Annotated[str | None, LABELS] = None,
    output: Annotated[Path | None, OUTPUT] = None,
    method: Annotated[str, Parameter(help="How to learn; see --list.")] = "amkl-convex",
    C: Annotated[str, PRICE] = "cv",
    kernel: Annotated[str, KERNEL] = "rbf",
    probability: Annotated[bool, Parameter(help="Also learn to give the chances of the classes.")] = True,
    report: Annotated[Path | None, REPORT] = None,
    no_report: Annotated[bool, NO_REPORT] = False,
    threads: Threads = None,
    list_methods: List = False,
    flags: dict[str, str],
) -> None:
    """Learn to classify samples from the views they have, nothing filled in, and write the model.

    Example: absentia fit patients.npz --labels diagnosis.csv -o model.npz

    Ctrl-C stops; nothing is written then.
    """
    if list_methods:
        out.print(method_table(METHODS))
        return
    if data is None or output is None or labels is None:
        raise ValueError("DATA, --labels and an output (-o MODEL.npz) are wanted; see absentia fit --help")
    check_threads(threads)
    entry = find(method, "classifier")
    plan = _plan(entry, entry.read(flags), probability, kernel, C)
    page = _report_place(data, output, labels, report, no_report)
    endings.ledger.expect(output, page)
    with warnings_kept() as remarks:
        training = read_training(data, labels)
        with at_most(threads, len(training.y)):
            model, judged = _learn(method, plan, training, validate=page is not None)
    model = replace(model, about=_about(method, data, training, judged))
    story = None
    if judged is not None:
        story = classification_story(data, labels, entry, plan, model, training, judged, remarks)
    _write(output, page, model, story)
    _say_how_it_went(method, plan, model, training, judged)
    say_where(model=output, report=page)


def _plan(entry: Entry, options: dict[str, Any], probability: bool, kernel: str, C: str) -> Plan:
    """What to learn with; what the method does not have is not asked of it."""
    check_name("kernel", kernel, KERNELS)
    price = price_of(C)
    classifier = entry.make(**options)
    has = classifier.get_params()
    if "probability" in has:
        classifier.set_params(probability=probability)
    if "C" not in has and price is not None:
        raise ValueError(f"--C does not apply to method {entry.name!r}")
    return Plan(classifier, kernel, price)


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
    with step_bar(method, plan.steps(training.y, validate)) as tick:
        model = experiment.learn(training.data, training.y, plan, tick)
        judged = experiment.cross_validate(training.data, training.y, plan, tick) if validate else None
    return model, judged


# --------------------------------------------------------------------------------------- what came in


@dataclass(frozen=True, eq=False)
class Training:
    """The samples that are learned from, and how many came and why some are not used."""

    data: Views | KernelViews
    y: Array
    n_all: int
    dropped: dict[str, int]


def read_training(file: Path, source: str) -> Training:
    """Samples with a label and a view; who has not is counted, and warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsenceWarning)  # said below, in terms of what is learned from
        data = files.read(file)
    found = files.read_labels(source, data, file, kind="classes")
    data, y, labelled = found.without(data), found.values, found.known
    blind = ~data.observed.any(axis=1)
    dropped = {
        "without a label": int((~labelled).sum()),
        "with a label but without any view": int((labelled & blind).sum()),
    }
    for why, count in dropped.items():
        if count:
            warn(f"{count} of {len(data)} samples {why}: not learned from", AbsenceWarning)
    kept = np.flatnonzero(labelled & ~blind)
    try:
        experiment.check_classes(y[kept])
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    used = data[kept] if isinstance(data, Views) else data[np.ix_(kept, kept)]
    if isinstance(used, KernelViews):
        for sentence in indefinite_sentences(used, "what is learned from it may not be the best there is"):
            warn(sentence, AbsenceWarning)
    return Training(used, y[kept], len(data), dropped)


def _report_place(data: Path, output: Path, labels: str, report: Path | None, none: bool) -> Path | None:
    """Where the report goes; refuse, before any work, what could not be written."""
    check_ending(output, "the model", ".npz")
    if none and report is not None:
        raise ValueError("--report and --no-report exclude one another")
    page = None if none else report or output.with_suffix(".html")
    check_outputs([data, Path(labels)], [output, page])
    check_report(page, ", or give --no-report")
    return page


# -------------------------------------------------------------------------------------- what goes out


def _about(method: str, data: Path, training: Training, judged: Validation | None) -> dict[str, Any]:
    about: dict[str, Any] = {
        "method": method,
        "data": data.name,
        "samples": len(training.y),
        "written by": f"absentia {absentia.__version__}",
    }
    if judged is not None:
        about["cross-validated accuracy"] = float((judged.predicted == training.y).mean())
    return about


def _say_how_it_went(
    method: str, plan: Plan, model: Model, training: Training, judged: Validation | None
) -> None:
    classifier, views = model.classifier, f"{len(model.names)} view{'' if len(model.names) == 1 else 's'}"
    parts = [f"{method}: {len(training.y)} samples, {views}, {len(model.classes)} classes"]
    if hasattr(classifier, "C"):
        how = "given" if plan.C is not None else "chosen by cross-validation"
        parts.append(f"C = {classifier.C:g} ({how})")
    if hasattr(classifier, "status_"):
        gap = f", duality gap {classifier.gap_:.1e}" if hasattr(classifier, "gap_") else ""
        parts.append(classifier.status_ + gap)
    say("; ".join(parts))
    if hasattr(classifier, "weights_"):
        out.print(weight_table(model))
    if judged is not None:
        out.print(accuracy_table(method, training.y, judged))


def weight_table(model: Model) -> Table:
    weights = np.atleast_2d(model.classifier.weights_)
    few = len(weights) == 1
    table = Table("view", "weight" if few else "weight, mean of classes", box=None, pad_edge=False)
    for name, column in zip(model.names, weights.T, strict=True):
        table.add_row(printable(name), f"{column.mean():.3f}")
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
    labels: str,
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
        "has; nothing was filled in.",
        names=model.names,
        observed=training.data.observed,
        classes=[str(x) for x in model.classes.tolist()],
        weights=np.atleast_2d(classifier.weights_) if hasattr(classifier, "weights_") else None,
        truth=np.searchsorted(model.classes, training.y),
        predictions={
            name: np.searchsorted(model.classes, predicted)
            for name, predicted in _predictions(entry.name, judged).items()
        },
        chances=judged.chances,
        n_all=training.n_all,
        dropped=training.dropped,
        warnings=list(dict.fromkeys(remarks)),
        facts={
            "file": str(data),
            "labels": labels,
            "method": f"{entry.name}: {entry.when}",
            **_prices(plan, model, judged),
            "folds": f"{judged.n_folds}, stratified by class, seed 0",
            "parameters": parameters_in_words(classifier.get_params()),
            "made with": made_with(),
        },
    )


def _prices(plan: Plan, model: Model, judged: Validation) -> Mapping[str, str]:
    """The kernel and C of the method and of the baseline."""
    found = {"kernel": "as given" if model.kernels is None else plan.kernel}
    if judged.prices:
        found["C"] = f"{model.classifier.C:g}; in the folds {_listed(judged.prices)}"
    return found | {f"C of the {AVERAGED}": f"in the folds {_listed(judged.averaged_prices)}"}


def _listed(prices: Sequence[float]) -> str:
    return ", ".join(f"{C:g}" for C in prices)
