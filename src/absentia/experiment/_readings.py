"""What out-of-fold decisions rest on, and what held-out samples would gain from one more view."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import entropy

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.methods import inspection
from absentia.methods.models import Model

MOST = 60  # samples whose absent views are tried, those of least certainty first
DRAWS = 10  # values tried of each absent view


class Gain(NamedTuple):
    """A sample and a view that it lacks, by position: how sure the model is now, and would be with it."""

    sample: int
    view: int
    entropy: float
    expected: float
    gain: float
    changes: float


class Readings:
    """Filled fold by fold; `parts`: what views add to scores, (samples, views, classes)."""

    def __init__(self, data: Views | KernelViews, n_classes: int, n_folds: int) -> None:
        self.data = data
        self.parts = np.zeros((*data.observed.shape, n_classes))
        self.exact = False
        self.gains: list[Gain] | None = [] if isinstance(data, Views) else None
        self._share = -(-MOST // n_folds)

    def read(self, model: Model, train: Array, test: Array, rows: Any, probabilities: Array | None) -> None:
        """The samples `test` (`rows` as the classifier takes them), by a model learned from `train`."""
        found = inspection.contributions(model.classifier, rows)
        self.parts[test] = found["contribution"].to_numpy().reshape(len(test), *self.parts.shape[1:])
        self.exact = found.attrs["how"] == "exact"
        if self.gains is not None and probabilities is not None:
            doubtful = np.argsort(-entropy(probabilities, axis=1), kind="stable")
            lacks = np.asarray((~self.data.observed[test]).any(axis=1))
            self._try_views(model, train, test[doubtful[lacks[doubtful]][: self._share]])

    def _try_views(self, model: Model, train: Array, test: Array) -> None:
        assert isinstance(self.data, Views)
        assert self.gains is not None
        if not len(test):
            return
        found = inspection.value_of_views(model, self.data[test], self.data[train], n_draws=DRAWS)
        place = dict(zip(self.data.ids[test].tolist(), test.tolist(), strict=True))
        for sample, view, *numbers in found.itertuples(index=False):
            self.gains.append(Gain(place[sample], self.data.names.index(view), *map(float, numbers)))
