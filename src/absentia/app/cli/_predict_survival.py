"""``absentia predict`` with a model of times and events: risks, and probabilities at a few times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absentia.core import Array
    from absentia.data import KernelViews, Views
    from absentia.methods.models import Model

NO_VIEW = "no usable view: mean risk returned"


def tells_survival(fitted: Any) -> bool:
    """Whether a fitted estimator tells risks and survival."""
    return hasattr(fitted, "predict_survival_function")


def quartiles(model: Model) -> Array:
    """Times by which a quarter, half and three quarters of the times with events in training had come."""
    import numpy as np

    return np.unique(np.quantile(model.classifier.event_times_, [0.25, 0.5, 0.75], method="lower"))


def survival_header(model: Model) -> list[str]:
    """The first line of the table."""
    probabilities = [f"survival={time:.6g}" for time in quartiles(model).tolist()]
    return ["id", "risk", *probabilities, *(f"view={name}" for name in model.names), "flag"]


def survival_lines(model: Model, rows: Views | KernelViews, had: list[list[int]]) -> Iterator[list[Any]]:
    """The lines of these samples; `had` says who has which view."""
    import numpy as np

    from absentia.methods.models import check_scores

    fitted = model.classifier
    with np.errstate(all="ignore"):  # what is not finite is refused below
        risk, blind = fitted.predict(rows), fitted.unusable(rows)
        check_scores(rows, risk)
        probabilities = fitted.predict_survival_function(rows, quartiles(model))
    for i, sample in enumerate(rows.ids.tolist()):
        numbers = [f"{x:.6g}" for x in (risk[i], *probabilities[i])]
        yield [str(sample), *numbers, *had[i], NO_VIEW if blind[i] else ""]
