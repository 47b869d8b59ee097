"""Methods that learn times to an event."""

from functools import partial
from importlib.util import find_spec

from absentia.methods.catalogue._entry import Entry

_survival = partial(Entry, "survival", "views or kernels", "risks", compared=("survival",))

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
_FOREST = Entry(
    "survival",
    "features",
    "risks",
    "survival-forest",
    "prediction:SurvivalForest",
    "a random survival forest on all features side by side, absent ones as they are",
    "learn from kernels, or without scikit-survival",
    baseline=True,
    compared=("survival",),
)

ENTRIES: tuple[Entry, ...] = (
    _COX.variant(
        "cox-zero",
        "baseline: ridge Cox regression on the average of kernels in which absent views are zero",
        {"completer": None},
        baseline=True,
        compared=("survival",),
    ),
    Entry(
        "survival",
        "features",
        "risks",
        "linear-cox",
        "prediction:EarlyFusionSurvival",
        "ridge Cox regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or what is curved",
        baseline=True,
        compared=("survival",),
    ),
    Entry(
        "survival",
        "features",
        "risks",
        "factors-cox",
        "prediction:FactorCox",
        "very many samples, also in chunks: Cox regression on factors, side by side and per view",
        "learn from kernels",
    ),
    *([_FOREST] if find_spec("sksurv") else []),
    _COX,
    *(
        _COX.variant(
            f"cox-cvkt-{kernel}",
            f"{kernel} kernels completed by cvkt, ridge Cox regression on their average",
            {"completer": "cvkt", "kernel": kernel},
        )
        for kernel in ("linear", "rbf")
    ),
    _FUSION,
    *(
        _FUSION.variant(f"cox-fusion-{kernel}", f"the same with {kernel} kernels", {"kernel": kernel})
        for kernel in ("linear", "rbf")
    ),
    _survival(
        "auto",
        "prediction:AutoSurvival",
        "start here: several kinds of methods, weighted by what they tell of samples left out",
        "say in one number what each view counts",
        default=True,
    ),
)
