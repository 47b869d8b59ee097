"""The page of a fit: what each task shows beside what all of them do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.app import report
from absentia.app.cli._output import made_with, parameters_in_words
from absentia.app.cli._source import kernels_in_words
from absentia.data import Views
from absentia.methods import inspection
from absentia.methods.models import Model
from absentia.tasks import CLASSIFICATION, weight_words

if TYPE_CHECKING:
    from absentia.app.cli._fitting import Fit
    from absentia.experiment import Validation


def render_fit(fit: Fit, remarks: Sequence[str]) -> str:
    """The page as a text of HTML."""
    assert fit.validation is not None
    seen = fit.training.validated
    more = seen.notes[-1:] if seen.n_learned else ()
    common = {
        "names": fit.fitted.names_in_,
        "observed": seen.data.observed,
        "n_all": seen.n_all,
        "dropped": seen.dropped,
        "warnings": list(dict.fromkeys([*remarks, *more])),
        "facts": _facts(fit, fit.validation),
    }
    return _PAGES[fit.task.name](fit, fit.validation, common)


def _facts(fit: Fit, validation: Validation) -> dict[str, str]:
    """How it was done, by name."""
    options, task, seen = fit.options, fit.task, fit.training.validated
    facts = {
        "file": str(options.data),
        "labels": options.labels or "as the manifest says",
        "method": f"{fit.entry.name}: {fit.entry.when}",
    }
    if fit.entry.takes != "features":
        features = isinstance(seen.data, Views)
        facts["kernel"] = kernels_in_words(fit.training.kernels) if features else "as given"
    for name, values in validation.strengths.items():
        by_view = bool(values) and isinstance(values[0], Mapping)
        folds = f"in the folds {('; ' if by_view else ', ').join(map(format_strength, values))}"
        own = task.find_strength(fit.fitted)
        if values and name != fit.plan.name:
            facts[f"{task.strength} of the {name}"] = folds
        elif values and own is not None:
            facts[task.strength] = f"{format_strength(own)}; {folds}"
    if task is CLASSIFICATION and (words := weight_words(fit.fitted)):
        facts["decision"] = f"the class with the largest {words}"
    facts["folds"] = f"{validation.n_folds}, {task.fold_words}, seed 0"
    facts["judged on"] = f"{len(seen.y)} samples"
    facts["parameters"] = parameters_in_words(fit.fitted.get_params())
    return facts | {"made with": made_with()}


def format_strength(strength: Any) -> str:
    """C, a penalty, or penalties by view as they are read."""
    if isinstance(strength, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in strength.items() if value == value)
    return f"{strength:g}"


def _classification(fit: Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    classifier, seen = fit.fitted, fit.training.validated
    classes = classifier.classes_
    story = report.ClassificationStory(
        title=f"{fit.options.data.name}, classified",
        summary=f"{len(classes)} classes, learned with {fit.entry.name} from the views that each sample "
        "has.",
        classes=[str(x) for x in classes.tolist()],
        weights=np.atleast_2d(classifier.weights_) if hasattr(classifier, "weights_") else None,
        truth=np.searchsorted(classes, seen.y),
        predictions={name: np.searchsorted(classes, x) for name, x in validation.predicted.items()},
        probabilities=validation.probabilities,
        ids=seen.data.ids,
        scores=validation.scores,
        without=None if validation.without is None else np.searchsorted(classes, validation.without),
        **model_fields(fit.model, validation),
        tried=candidate_rows(classifier),
        used=getattr(classifier, "sentence_", ""),
        n_learned=seen.n_learned,
        **common,
    )
    return report.render_classification(story)


def candidate_rows(classifier: Any) -> list[list[str]]:
    """What was tried on held-out samples: name, accuracy, its mean over classes, log-loss, weight."""
    rows = []
    for name, candidate in getattr(classifier, "candidates_", {}).items():
        numbers = [f"{candidate[key]:.3f}" for key in ("accuracy", "balanced", "loss")]
        dropped = candidate["dropped"] and f"dropped after {candidate['dropped']} folds"
        rows.append([name, *numbers, dropped or f"{candidate['weight']:.2f}"])
    return rows


def _regression(fit: Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    seen = fit.training.validated
    target = (fit.options.labels or "").rpartition(":")[2].rpartition("/")[2] or "number"
    assert validation.without is not None
    story = report.NumbersStory(
        title=f"{fit.options.data.name}, {target} predicted",
        summary=f"Numbers learned with {fit.entry.name} from the views that each sample has.",
        target=target,
        truth=seen.y,
        predictions=validation.predicted,
        ids=seen.data.ids,
        without=validation.without,
        **common,
    )
    return report.render_numbers(story)


def _survival(fit: Fit, validation: Validation, common: Mapping[str, Any]) -> str:
    seen, fitted = fit.training.validated, fit.fitted
    alone: Mapping[str, float] = getattr(fitted, "concordances_", {})  # of views that are fused
    completed = getattr(fitted, "completer", None) is not None and not alone
    story = report.SurvivalStory(
        title=f"{fit.options.data.name}, survival",
        summary=f"Risks learned with {fit.entry.name} from the views that each sample has, "
        + ("views that are absent completed." if completed else "nothing completed."),
        time=seen.y[:, 0],
        event=seen.y[:, 1] == 1,
        risks=validation.predicted,
        fold=validation.fold,
        unit=(fit.options.labels or "time").rpartition(":")[2].partition(",")[0],
        views={name: (f"{fitted.weights_[name]:.3f}", f"{value:.3f}") for name, value in alone.items()},
        **common,
    )
    return report.render_survival(story)


_PAGES: dict[str, Callable[[Any, Any, Any], str]] = {
    "classes": _classification,
    "numbers": _regression,
    "survival": _survival,
}


# ------------------------------------------------------------------------------- what was read in a model


def model_fields(model: Model, validation: Validation) -> dict[str, Any]:
    """Fields of a classification's page: contributions, gains, features, and the rule of decision."""
    fields: dict[str, Any] = {
        "parts": validation.parts,
        "exact": validation.exact,
        "gains": validation.gains,
    }
    if rule := weight_words(model.classifier):
        fields["rule"] = (
            f"whose {rule} is the largest: a rare class may be predicted over a more probable one"
        )
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
