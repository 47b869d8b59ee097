"""``absentia predict`` with a model of numbers: one for each sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absentia.data import KernelViews, Views
    from absentia.methods.models import Model

NO_VIEW = "no usable view: mean returned"


def tells_numbers(fitted: Any) -> bool:
    """Whether a fitted estimator tells a number of samples in views."""
    from sklearn.base import is_regressor

    return hasattr(fitted, "unusable") and bool(is_regressor(fitted))


def numbers_header(model: Model) -> list[str]:
    """The first line of the table."""
    return ["id", "predicted", *(f"view={name}" for name in model.names), "flag"]


def numbers_lines(model: Model, rows: Views | KernelViews, had: list[list[int]]) -> Iterator[list[Any]]:
    """The lines of these samples; `had` says who has which view."""
    import numpy as np

    from absentia.methods.models import check_scores

    with np.errstate(all="ignore"):  # what is not finite is refused below
        said, blind = model.classifier.predict(rows), model.classifier.unusable(rows)
        check_scores(rows, said)
    for i, sample in enumerate(rows.ids.tolist()):
        yield [str(sample), f"{said[i]:.6g}", *had[i], NO_VIEW if blind[i] else ""]
