"""Methods that learn numbers."""

from functools import partial
from typing import Any

from absentia.methods.catalogue._entry import Entry

_COMPARED: dict[str, Any] = {"compared": ("numbers",)}
_BASELINE: dict[str, Any] = {"baseline": True, **_COMPARED}
_regressor = partial(Entry, "regressor", "views or kernels", "numbers", compared=("numbers",))
_feature_regressor = partial(Entry, "regressor", "features", "numbers")

_RIDGE = _regressor(
    "ridge",
    "prediction:AbsentRegressor",
    "kernels completed (--completer, by default cvkt), ridge regression on their average",
    fixed={"combine": "average"},
    without=("norm", "C"),
    aliases=("kernel-ridge",),
)
_FUSION = _regressor(
    "ridge-fusion",
    "prediction:AbsentRegressor",
    "ridge regression per view on the samples that have it, predictions averaged; nothing is completed",
    "see what only views together tell",
    {"combine": "fusion"},
    ("norm", "C", "completer"),
)

ENTRIES: tuple[Entry, ...] = (
    _RIDGE.variant(
        "ridge-zero",
        "baseline: ridge regression on the average of kernels in which absent views are zero",
        {"completer": None},
        without=("norm", "C", "random_state"),
        **_BASELINE,
    ),
    _feature_regressor(
        "complete-regression",
        "prediction:EarlyFusionRegressor",
        "baseline: ridge regression on the samples that have every view",
        "learn where no two samples have every view",
        {"model": "ridge", "complete_cases": True},
        ("n_trees", "random_state"),
        **_BASELINE,
    ),
    _RIDGE.variant(
        "ridge-mean",
        "baseline: absent samples are the average sample, ridge regression on the average kernel",
        {"completer": "mean"},
        without=("norm", "C", "random_state"),
        **_BASELINE,
    ),
    _feature_regressor(
        "factors-ridge",
        "prediction:FactorRidge",
        "very many samples, also in chunks: ridge regression on factors, side by side and per view",
        "learn from kernels",
    ),
    _feature_regressor(
        "linear-regression",
        "prediction:EarlyFusionRegressor",
        "ridge regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or what is curved",
        {"model": "ridge"},
        ("complete_cases", "n_trees", "random_state"),
        **_BASELINE,
    ),
    _feature_regressor(
        "forest-regression",
        "prediction:EarlyFusionRegressor",
        "a random forest on all features side by side, absent ones the mean; few assumptions",
        "learn from kernels, or say numbers beyond those of training",
        {"model": "forest"},
        ("complete_cases", "alpha"),
        **_BASELINE,
    ),
    _feature_regressor(
        "boosting-regression",
        "prediction:EarlyFusionRegressor",
        "boosted trees on all features side by side, absent ones as they are; hundreds of samples",
        "learn from kernels, or from a few dozen samples",
        {"model": "boosting"},
        ("complete_cases", "alpha"),
        **_BASELINE,
    ),
    _RIDGE,
    *_RIDGE.by_kernel(
        "ridge-cvkt", "{} kernels completed by cvkt, ridge regression on their average", completer="cvkt"
    ),
    _FUSION,
    *_FUSION.by_kernel("ridge-fusion", "the same with {} kernels"),
    _regressor(
        "mkl-regression",
        "prediction:AbsentRegressor",
        "kernels completed (--completer), weights of the views learned with a support vector machine",
        fixed={"combine": "mkl"},
        without=("penalty",),
    ),
    Entry(
        "regressor",
        "kernels",
        "numbers",
        "mkl-zero",
        "learning:MKLRegressor",
        "the same on kernels in which absent views are zero: most samples have most views",
        "choose C and epsilon, which are in units of the numbers",
        compared=("numbers",),
    ),
    Entry.average_of_kinds("regressor", "numbers", "prediction:AutoRegressor", **_COMPARED),
)
