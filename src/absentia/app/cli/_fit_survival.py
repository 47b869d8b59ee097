"""``absentia fit`` with times and events as labels: a Cox model, and a page about how good it is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.app._terminal import out, printable, step_bar, warnings_kept

# isort: split
from rich.table import Table

import absentia
from absentia import experiment
from absentia.app.cli._source import Source, find_labels, kernels_in_words
from absentia.app.cli._training import Training, read_training
from absentia.app.cli._words import made_with, parameters_in_words, say, say_json, say_what_is_next
from absentia.core import at_most
from absentia.data.survival import Survival
from absentia.experiment import Outlook
from absentia.methods import models
from absentia.methods.catalogue import Entry, find, is_method, offered

if TYPE_CHECKING:
    from absentia.app.report import SurvivalStory
    from absentia.methods.prediction import AbsentSurvival

METHODS = offered("survival")
USUAL = "cox"
ZERO, NOTHING = "cox, zero-filled kernels", "no model"


def is_survival(method: str, usual: str, data: Path, source: Source, labels: str | None) -> bool:
    """Whether times and events are to be learned from: the method says so, or two columns look like it.

    A method of another kind that was asked for is not overruled.
    """
    if is_method(method, "survival"):
        return True
    if method != usual or labels is None or "," not in labels:
        return False
    with warnings.catch_warnings(action="ignore"):  # given when they are read to learn from
        return find_labels(data, source, source.open(data, labels), labels).kind == "survival"


@dataclass(frozen=True)
class Order:
    """What was asked for on the command line."""

    data: Path
    labels: str | None
    output: Path
    page: Path | None
    source: Source
    kernel: Sequence[str]
    log: Sequence[str]
    threads: int | None
    json: bool


def fit_survival(order: Order, method: str, flags: Mapping[str, str], C: str = "cv") -> None:
    """Learn risks from times and events, write the model and the report."""
    entry = find(method if is_method(method, "survival") else USUAL, "survival")
    if C != "cv":
        raise ValueError(f"--C does not apply to method {entry.name!r}; its penalty is --alpha")
    options = entry.read(flags)
    with warnings_kept() as remarks:
        training = read_training(
            order.data, order.source, order.labels, order.kernel, order.log, kinds=("survival",)
        )
        kernel = training.kernels if isinstance(training.data, absentia.Views) else "precomputed"
        model = entry.make(kernel=kernel, **options)
        with at_most(order.threads, len(training.y)):
            outlook = _learn(entry.name, model, training, order.page is not None)
    about = _about(entry, order.data, training, outlook)
    story = _story(order, entry, model, training, outlook, remarks)
    write_both(order, model, about, None if story is None else page_of(story))
    if order.json:
        return say_json(_as_json(entry, order, model, training, outlook))
    _say_how_it_went(entry, model, training, outlook)
    return say_what_is_next(order.output, order.page)


def _learn(name: str, model: AbsentSurvival, training: Training, validate: bool) -> Outlook | None:
    from absentia.methods.prediction import AbsentSurvival

    simple = AbsentSurvival(None, kernel=model.kernel, alpha=model.alpha, ties=model.ties, presence=False)
    methods = {name: model, ZERO: simple}
    folds = min(5, int(training.y[:, 1].sum())) if validate else 0
    with step_bar(name, 1 + folds * len(methods)) as tick:
        judged = None
        if validate:
            judged = experiment.cross_validate_survival(training.data, training.y, methods, tick)
            judged = replace(judged, risks={**judged.risks, NOTHING: 0.0 * judged.fold})
        model.fit(training.data, training.y)
        tick()
    return judged


def page_of(story: SurvivalStory) -> str:
    from absentia.app import report

    return report.render_survival(story)


def write_both(order: Order, model: Any, about: Mapping[str, Any], html: str | None) -> None:
    """The page is made before anything is written: what cannot be shown is not there by half."""
    models.save(model, order.output, about)
    if html is not None and order.page is not None:
        from absentia.app import report

        report.save(html, order.page)


# ---------------------------------------------------------------------------------- what goes out


def _concordances(training: Training, outlook: Outlook) -> dict[str, Any]:
    y = Survival(training.y[:, 0], training.y[:, 1] == 1)
    return {name: experiment.concordance(y, risk, outlook.fold) for name, risk in outlook.risks.items()}


def _about(entry: Entry, data: Path, training: Training, outlook: Outlook | None) -> dict[str, Any]:
    about = training.about(entry.name, data) | {"events": int(training.y[:, 1].sum())}
    if outlook is not None:
        about["cross-validated concordance"] = _concordances(training, outlook)[entry.name].value
    return about


def _alpha_in_words(alpha: Any) -> str:
    if isinstance(alpha, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in alpha.items() if value == value)
    return f"{alpha:g}"


def _say_how_it_went(
    entry: Entry, model: AbsentSurvival, training: Training, outlook: Outlook | None
) -> None:
    for note in training.notes:
        say(printable(note))
    views = f"{len(model.names_in_)} view{'' if len(model.names_in_) == 1 else 's'}"
    how = "chosen by cross-validation" if model.alpha == "cv" else "given"
    say(
        f"{entry.name}: {len(training.y)} samples, {views}, {int(training.y[:, 1].sum())} events; "
        f"alpha = {printable(_alpha_in_words(model.alpha_))} ({how})"
    )
    if outlook is None:
        return
    table = Table("cross-validated", "concordance", "95% interval", box=None, pad_edge=False)
    for name, (value, low, high) in _concordances(training, outlook).items():
        table.add_row(name, f"{value:.3f}", f"{low:.3f} to {high:.3f}" if high > low else "")
    out.print(table)


def _as_json(
    entry: Entry, order: Order, model: AbsentSurvival, training: Training, outlook: Outlook | None
) -> dict[str, Any]:
    """What was learned and how good it is, for programs."""
    found: dict[str, Any] = {
        "method": entry.name,
        "samples": len(training.y),
        "events": int(training.y[:, 1].sum()),
        "not learned from": training.dropped,
        "views": list(model.names_in_),
        "alpha": _plain(model.alpha_),
        "weights": getattr(model, "weights_", None),
        "model": str(order.output),
        "report": None if order.page is None else str(order.page),
    }
    if outlook is not None:
        values = _concordances(training, outlook)
        found["cross-validated concordance"] = {name: one._asdict() for name, one in values.items()}
    return found


def _plain(alpha: Any) -> Any:
    """Without what JSON cannot say: a view without a model has no penalty."""
    if isinstance(alpha, Mapping):
        return {name: value if value == value else None for name, value in alpha.items()}
    return alpha


def _story(
    order: Order,
    entry: Entry,
    model: AbsentSurvival,
    training: Training,
    outlook: Outlook | None,
    remarks: Sequence[str],
) -> SurvivalStory | None:
    """What the report shows, if there is one."""
    if outlook is None:
        return None
    from absentia.app.report import SurvivalStory

    features = model.kernel != "precomputed"
    weights: Mapping[str, float] = getattr(model, "weights_", {})
    return SurvivalStory(
        title=f"{order.data.name}, survival",
        summary=f"Risks learned with {entry.name} from the views that each sample has, "
        + ("views that are absent completed." if entry.name == USUAL else "nothing completed."),
        names=model.names_in_,
        observed=training.data.observed,
        time=training.y[:, 0],
        event=training.y[:, 1] == 1,
        risks=outlook.risks,
        fold=outlook.fold,
        unit=(order.labels or "time").rpartition(":")[2].partition(",")[0],
        views={name: (f"{w:.3f}", f"{model.concordances_[name]:.3f}") for name, w in weights.items()},
        n_all=training.n_all,
        dropped=training.dropped,
        warnings=list(dict.fromkeys(remarks)),
        facts={
            "file": str(order.data),
            "labels": order.labels or "as the manifest says",
            "method": f"{entry.name}: {entry.when}",
            "kernel": kernels_in_words(training.kernels) if features else "as given",
            "alpha": f"{_alpha_in_words(model.alpha_)}; in the folds "
            + "; ".join(map(_alpha_in_words, outlook.alphas)),
            "folds": f"{outlook.n_folds}, with their share of the events, seed 0",
            "parameters": parameters_in_words(model.get_params()),
            "made with": made_with(),
        },
    )
