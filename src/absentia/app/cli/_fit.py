"""The commands ``absentia fit`` and ``absentia predict``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import numpy as np

from absentia.app._terminal import MaybeWhole, out, printable, step_bar, warnings_kept
from absentia.core import warn

# isort: split
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

import absentia
from absentia import core as linalg
from absentia import experiment as validation
from absentia import files as io
from absentia.app import _endings as endings
from absentia.app._calls import (
    check_ending,
    check_outputs,
    check_report,
    check_threads,
    price_of,
)
from absentia.core import Array, at_most, check_name
from absentia.data import AbsenceWarning, KernelViews, Views, shown
from absentia.experiment import Plan, Validation
from absentia.files import csv_rows, read_labels, read_new
from absentia.kernels import KERNELS
from absentia.methods import models
from absentia.methods.catalogue import find, offered
from absentia.methods.models import Model

if TYPE_CHECKING:
    from absentia.app.report import ClassificationStory

AVERAGED, MAJORITY = "averaged kernel SVM", "most frequent class"
NO_VIEW = "no usable view: prior returned"
DISAGREE = "probability favours another class"
BLOCK_BYTES = 32 * 2**20  # of kernels at a time when samples are classified


def fit(
    data: Annotated[Path | None, Parameter(name="DATA")] = None,
    /,
    *,
    labels: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    method: str = "amkl-convex",
    C: Annotated[str, Parameter(name="--C")] = "cv",
    kernel: str = "rbf",
    probability: bool = True,
    report: Annotated[Path | None, Parameter(name="--report")] = None,
    no_report: Annotated[bool, Parameter(name="--no-report", negative="")] = False,
    threads: MaybeWhole = None,
    list_methods: Annotated[bool, Parameter(name="--list", negative="")] = False,
) -> None:
    """Learn to classify samples from the views they have, nothing filled in, and write the model.

    Example: absentia fit patients.npz --labels diagnosis.csv -o model.npz

    Ctrl-C stops; nothing is written then.

    Parameters
    ----------
    data
        An .npz file with features (view_<name>) or kernels (K).
    labels
        The name of an array in DATA, or a CSV file with the columns id and label (empty: not used).
    output
        The model, an .npz file; it holds no code.
    method
        How to learn; see --list.
    C
        Price of a training error, or cv to choose it by cross-validation.
    kernel
        For feature views: rbf, linear, polynomial, laplacian, chi2, cosine, jaccard or tanimoto.
    probability
        Also learn to give the chances of the classes.
    report
        Where to write the HTML report; by default beside the model.
    no_report
        No report, and so no cross-validation of the method and the baselines.
    threads
        BLAS threads; by default one up to 1000 samples, and every core beyond.
    list_methods
        List the methods, one line each, and do nothing else.
    """
    if list_methods:
        out.print(method_table("classifier"))
        return
    if data is None or output is None or labels is None:
        raise ValueError("DATA, --labels and an output (-o MODEL.npz) are wanted; see absentia fit --help")
    check_threads(threads)
    plan = Plan(find(method, "classifier").make(probability=probability), kernel, price_of(C))
    check_name("kernel", kernel, KERNELS)
    page = _report_place(data, output, labels, report, no_report)
    endings.ledger.expect(output, page)
    with warnings_kept() as remarks:
        training = read_training(data, labels)
        with at_most(threads, len(training.y)):
            model, judged = _learn(method, plan, training, validate=page is not None)
    model = replace(model, about=_about(method, data, training, judged))
    html = None
    if judged is not None:
        from absentia.app import report as reporting

        story = classification_story(data, labels, plan, model, training, judged, remarks)
        html = reporting.render_classification(story)
    models.save(model, output)
    if html is not None and page is not None:
        reporting.save(html, page)
    _say_how_it_went(method, plan, model, training, judged)
    out.print(f"[bold]model[/]: {escape(str(output))}", soft_wrap=True)
    if page is not None:
        out.print(f"[bold]report[/]: {escape(str(page))}", soft_wrap=True)


def _learn(method: str, plan: Plan, training: Training, validate: bool) -> tuple[Model, Validation | None]:
    with step_bar(method, plan.steps(training.y, validate)) as tick:
        model = validation.learn(training.data, training.y, plan, tick)
        judged = validation.cross_validate(training.data, training.y, plan, tick) if validate else None
    return model, judged


def predict(
    model: Annotated[Path, Parameter(name="MODEL")],
    new: Annotated[Path, Parameter(name="NEW")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    threads: MaybeWhole = None,
) -> None:
    """Classify new samples from the views they have and write a table.

    Example: absentia predict model.npz new.npz -o predicted.csv

    Columns: id, predicted, probability=<class> (or score, without probabilities), view=<name> (1 = had it),
    flag (empty if there is nothing to say).  An id or a class that a spreadsheet would take for a formula
    (= + - @ first) stands behind an apostrophe.

    Parameters
    ----------
    model
        A model written by absentia fit.
    new
        An .npz file with the features of the new samples (views they all lack may be left out), or, for a
        model of kernels, K (views x new x training samples) with ids and column_ids.
    output
        The .csv file to write.
    threads
        BLAS threads; by default one if the model holds up to 1000 samples, and every core beyond.
    """
    check_threads(threads)
    check_ending(output, "the output", ".csv")
    check_outputs([model, new], [output])
    endings.ledger.expect(output)
    fitted = models.load(model)
    data = read_new(new)
    with at_most(threads, len(fitted.classifier.ids_)):
        try:
            flagged = write_predictions(output, fitted, data)
        except ValueError as error:
            raise ValueError(f"{new}: {error}") from error
    out.print(f"{len(data)} samples classified, {flagged} flagged")
    out.print(f"[bold]predictions[/]: {escape(str(output))}", soft_wrap=True)


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
        data = io.read(file)
    y, labelled = read_labels(source, file, data.ids)
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
        _check_classes(y[kept])
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    used = data[kept] if isinstance(data, Views) else data[np.ix_(kept, kept)]
    if isinstance(used, KernelViews):
        _warn_of_indefinite(used)
    return Training(used, y[kept], len(data), dropped)


def _warn_of_indefinite(kernels: KernelViews) -> None:
    for name in kernels.names:
        found = linalg.indefinite(kernels.block(name))
        if found is not None:
            warn(
                f"view {name!r}: the kernel is not positive semidefinite (eigenvalues from {found[0]:.4g} "
                f"to {found[1]:.4g}); what is learned from it may not be the best there is",
                AbsenceWarning,
            )


def _check_classes(y: Array) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        came = f"only the class {shown(classes[0])}" if len(classes) else "no class"
        raise ValueError(f"{came} among samples with a view; two classes or more are wanted")
    if counts.min() < validation.FEWEST:
        rare = shown(classes[counts.argmin()])
        raise ValueError(
            f"class {rare} has {counts.min()} sample(s) with a view; at least {validation.FEWEST} are "
            "wanted for cross-validation: give it more, or leave its labels empty"
        )


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


def write_predictions(output: Path, model: Model, data: Views | KernelViews) -> int:
    """Classify block after block into a table, whole or not at all; how many samples are flagged.

    In memory are one block's kernels against the training samples, whatever the number of samples.
    """
    flagged, rows = 0, block_rows(model)
    steps = max(1, -(-len(data) // rows))

    def save(file: BinaryIO) -> None:
        nonlocal flagged
        file.writelines(csv_rows([prediction_header(model)]))
        with step_bar("predict", steps) as tick:
            for start in range(0, len(data), rows):
                lines = list(prediction_lines(model, model.rows(data[start : start + rows])))
                file.writelines(csv_rows(lines))
                flagged += sum(bool(line[-1]) for line in lines)
                tick()

    io.write_whole(output, save)
    return flagged


def block_rows(model: Model) -> int:
    """How many samples at a time: as many as fill :data:`BLOCK_BYTES` with kernels of every view."""
    one = 8 * max(1, len(model.classifier.ids_)) * max(1, len(model.names))
    return int(np.clip(BLOCK_BYTES // one, 1, 4096))


def prediction_header(model: Model) -> list[str]:
    """The first line of the table of predictions."""
    classes = model.classes.tolist()
    if model.classifier.probability:
        numbers = [f"probability={label}" for label in classes]
    else:
        numbers = [f"score={label}" for label in (classes if len(classes) > 2 else classes[1:])]
    return ["id", "predicted", *numbers, *(f"view={name}" for name in model.names), "flag"]


def prediction_lines(model: Model, rows: Views | KernelViews) -> Iterator[list[Any]]:
    """The lines of these samples in the table of predictions."""
    classifier = model.classifier
    with np.errstate(all="ignore"):  # what is not finite is refused below
        scores = classifier.decision_function(rows).reshape(len(rows), -1)
        _check_scores(rows, scores)
        numbers = classifier.predict_proba(rows) if classifier.probability else scores
        _check_scores(rows, numbers)
        predicted, blind = classifier.predict(rows), classifier.unusable(rows)
    for i, sample in enumerate(rows.ids.tolist()):
        flag = NO_VIEW if blind[i] else ""
        if classifier.probability and not blind[i]:
            best = model.classes[numbers[i].argmax()]
            flag = DISAGREE if best != predicted[i] else ""
        shares = [f"{x:.6g}" for x in numbers[i]]
        had = rows.observed[i].astype(int).tolist()
        yield [str(sample), str(predicted[i]), *shares, *had, flag]


def _check_scores(rows: Views | KernelViews, scores: Array) -> None:
    """Refuse to pass on scores that are no numbers."""
    bad = ~np.isfinite(scores).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{bad.sum()} sample(s), e.g. {shown(rows.ids[bad.argmax()])}, would get scores that are not "
            "finite; values this large are beyond the model, or the model is damaged: check both"
        )


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
    classifier = model.classifier
    how = "given" if plan.C is not None else "chosen by cross-validation"
    views = f"{len(model.names)} view{'' if len(model.names) == 1 else 's'}"
    out.print(
        f"{method}: {len(training.y)} samples, {views}, {len(model.classes)} classes; "
        f"C = {classifier.C:g} ({how}); {classifier.status_}, duality gap {classifier.gap_:.1e}",
        soft_wrap=True,
    )
    out.print(weight_table(model))
    if judged is not None:
        out.print(accuracy_table(method, training.y, judged))


def weight_table(model: Model) -> Table:
    weights = model.classifier._weights
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


def method_table(*families: Any) -> Table:
    """Methods that are offered by name, and when to use them."""
    table = Table("method", "when to use it", box=None, pad_edge=False)
    for name, entry in offered(*families).items():
        table.add_row(name, entry.when)
    return table


def classification_story(
    data: Path,
    labels: str,
    plan: Plan,
    model: Model,
    training: Training,
    judged: Validation,
    remarks: Sequence[str],
) -> ClassificationStory:
    """What the report of one fit shows."""
    from absentia.app.report import ClassificationStory

    method, classifier = model.about["method"], model.classifier
    chosen = ", ".join(f"{C:g}" for C in judged.prices)
    parameters = {k: v for k, v in classifier.get_params().items() if k != "callback"}
    kernel = "as given" if model.kernels is None else plan.kernel
    return ClassificationStory(
        title=f"{data.name}, classified",
        summary=f"{len(model.classes)} classes, learned with {method} from the views that each sample has; "
        "nothing was filled in.",
        names=model.names,
        observed=training.data.observed,
        classes=[str(x) for x in model.classes.tolist()],
        weights=classifier._weights,
        truth=np.searchsorted(model.classes, training.y),
        predictions={
            name: np.searchsorted(model.classes, predicted)
            for name, predicted in _predictions(method, judged).items()
        },
        chances=judged.chances,
        n_all=training.n_all,
        dropped=training.dropped,
        warnings=list(dict.fromkeys(remarks)),
        facts={
            "file": str(data),
            "labels": labels,
            "method": f"{method}: {offered('classifier')[method].when}",
            "kernel": kernel,
            "C": f"{classifier.C:g}; in the folds {chosen}",
            f"C of the {AVERAGED}": "in the folds " + ", ".join(f"{C:g}" for C in judged.averaged_prices),
            "folds": f"{len(judged.prices)}, stratified by class, seed 0",
            "parameters": ", ".join(f"{name}={value!r}" for name, value in parameters.items()),
            "made with": f"absentia {absentia.__version__}, NumPy {np.__version__}",
        },
    )
