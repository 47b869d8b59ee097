"""Methods that learn times to an event."""

from functools import partial
from importlib.util import find_spec
from typing import Any

from absentia.methods.catalogue._entry import Entry

_COMPARED: dict[str, Any] = {"compared": ("survival",)}
_BASELINE: dict[str, Any] = {"baseline": True, **_COMPARED}
_survival = partial(Entry, "survival", "views or kernels", "risks", compared=("survival",))
_feature_survival = partial(Entry, "survival", "features", "risks")

_COX = _survival(
    "cox",
    "prediction:AbsentSurvival",
    "times and events: ridge Cox regression on the average of the completed kernels",
    fixed={"combine": "average"},
)
_FUSION = _survival(
    "cox-fusion",
    "prediction:AbsentSurvival",
    "the same for each view on the samples that have it, risks averaged; nothing is completed",
    fixed={"combine": "fusion"},
    without=("completer",),
)

#: Offered where scikit-survival, which grows the trees, is installed.
_FOREST = _feature_survival(
    "survival-forest",
    "prediction:SurvivalForest",
    "a random survival forest on all features side by side, absent ones as they are",
    "learn from kernels, or without scikit-survival",
    **_BASELINE,
)

ENTRIES: tuple[Entry, ...] = (
    _COX.variant(
        "cox-zero",
        "baseline: ridge Cox regression on the average of kernels in which absent views are zero",
        {"completer": None},
        **_BASELINE,
    ),
    _feature_survival(
        "linear-cox",
        "prediction:EarlyFusionSurvival",
        "ridge Cox regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or what is curved",
        **_BASELINE,
    ),
    _feature_survival(
        "factors-cox",
        "prediction:FactorCox",
        "very many samples, also in chunks: Cox regression on factors, side by side and per view",
        "learn from kernels",
    ),
    *([_FOREST] if find_spec("sksurv") else []),
    _COX,
    *_COX.by_kernel(
        "cox-cvkt", "{} kernels completed by cvkt, ridge Cox regression on their average", completer="cvkt"
    ),
    _FUSION,
    *_FUSION.by_kernel("cox-fusion", "the same with {} kernels"),
    Entry.average_of_kinds("survival", "risks", "prediction:AutoSurvival", **_COMPARED),
)
