"""What a report tells of a model beyond how often it is right, out of what was read in it."""

from typing import Any

from absentia.experiment import Validation
from absentia.methods import inspection
from absentia.methods.models import Model


def read_in_words(model: Model, judged: Validation) -> dict[str, Any]:
    """Fields of a classification story."""
    found: dict[str, Any] = {"parts": judged.parts, "exact": judged.exact, "gains": judged.gains}
    if balance := model.classifier.get_params().get("balance"):
        found["rule"] = (
            "whose chance, divided by its frequency among the samples learned from to the power of "
            f"{balance:g} (the parameter balance), is the largest: a rare class may be predicted over a "
            "frequent one that has more chance"
        )
    if judged.gains is None:
        found["why_no_gains"] = _why(model, judged)
    try:
        table = inspection.feature_importance(model)
    except ValueError:  # it has none
        return found
    found["importance"] = list(table.itertuples(index=False, name=None))
    shares = table.attrs.get("of", {})
    parts = ", ".join(f"{name} ({100 * share:.0f}%)" for name, share in shares.items())
    found["importance_of"] = f"the mean of {parts}" if parts else ""
    return found


def _why(model: Model, judged: Validation) -> str:
    if not model.takes_features:
        return "it takes features, and the data are kernels"
    return "the method was fitted without probabilities" if judged.probabilities is None else ""
