"""Methods that learn times to an event."""

from functools import partial

from absentia.methods.catalogue._entry import Entry

_survival = partial(Entry, "survival", "views or kernels", "risks", compared=("survival",))

_COX = _survival(
    "cox",
    "prediction:AbsentSurvival",
    "times and events: ridge Cox regression on the average of the completed kernels",
    fixed={"combine": "average"},
    default=True,
)

ENTRIES: tuple[Entry, ...] = (
    _COX.variant(
        "cox-zero",
        "baseline: ridge Cox regression on the average of kernels in which absent views are zero",
        {"completer": None},
        baseline=True,
        compared=("survival",),
    ),
    _COX,
    _survival(
        "cox-fusion",
        "prediction:AbsentSurvival",
        "the same for each view on the samples that have it, risks averaged; nothing is completed",
        fixed={"combine": "fusion"},
        without=("completer",),
    ),
)
