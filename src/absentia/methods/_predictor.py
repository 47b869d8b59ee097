"""A fitted model that stays in memory, for services that predict a sample at a time.

A sample comes as a mapping from views to rows, without a data frame, and is coded by what the model
remembers of its columns.  Python's filters of warnings, which members of a model set while they predict,
belong to all threads: calls of several threads take turns, in all predictors of a process.
"""

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any
from warnings import catch_warnings

import numpy as np

from absentia.core import Array
from absentia.data import AbsenceWarning, Views, is_missing, name_features
from absentia.methods.models import Model, as_model, load

_turn = Lock()


class Predictor:
    """Predict samples as they come, from any thread, with one model that is read and prepared once.

    Parameters
    ----------
    model : a fitted model of features, or the path of its file
        What :func:`absentia.load` gives of it: an estimator, a pipeline, or a :class:`models.Model`.

    Attributes
    ----------
    names : tuple of str
        The views that are looked at, those of covariates last.
    classes_ : ndarray of shape (n_classes,)
        Of models of classes: the columns of probabilities.

    Examples
    --------
    >>> from absentia import AutoClassifier, Predictor, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> predictor = Predictor(AutoClassifier("no-rows").fit(views[:50], y[:50] < 5))
    >>> row = views[50:]["moments"].iloc[0]
    >>> predictor.predict_proba({"moments": row}).shape
    (1, 2)
    """

    def __init__(self, model: Any) -> None:
        self.model: Model = as_model(load(model) if isinstance(model, str | os.PathLike) else model)
        if not self.model.takes_features:
            raise ValueError(
                f"{self.model.classifier!r} was learned from kernels, and a predictor takes features; put "
                "ViewKernels before it, in a pipeline"
            )
        self._coding = (self.model.kernels or self.model.classifier)._coding
        besides = () if self.model.adjust is None else (self.model.adjust.covariates,)
        self.names = (*self.model.names, *besides)
        if hasattr(self.model.classifier, "classes_"):
            self.classes_ = self.model.classes
        warm = {name: np.zeros(self._coding.views[name].width) for name in self.model.names}
        if not besides:  # what is imported or kept at the first prediction is then there
            self.predict({name: row for name, row in warm.items() if len(row)})

    def predict(self, sample: Any) -> Array:
        """The class, number or risk of a sample, an array of length 1; of :class:`Views`, of each.

        Parameters
        ----------
        sample : mapping of str to row, or Views
            By view the features of one sample, as a mapping or Series by name, or as an array in the order
            of training; None, or a view that is left out: the sample lacks it.  Missing values are None or
            NaN, categories are texts.  Of a sample without any view the most frequent class is predicted.
        """
        return self._predict(self.model.predict, sample)

    def predict_proba(self, sample: Any) -> Array:
        """Probabilities of the classes, (1, classes); of :class:`Views`, (samples, classes).

        Parameters
        ----------
        sample : mapping of str to row, or Views
            As in :meth:`predict`.
        """
        return self._predict(self.model.predict_proba, sample)

    def _predict(self, method: Any, sample: Any) -> Array:
        with _turn:
            if not isinstance(sample, Views):
                with catch_warnings(action="ignore", category=AbsenceWarning):  # of views that it lacks
                    sample = self._make_views(sample)
            return np.asarray(method(sample))

    def _make_views(self, sample: Any) -> Views:
        """One sample as views."""
        if not isinstance(sample, Mapping):
            raise ValueError(
                f"a mapping from views to rows, or Views, is wanted, not {type(sample).__name__}; the "
                f"views are {list(self.names)}"
            )
        if unknown := [name for name in sample if name not in self.names]:
            raise ValueError(f"view {unknown[0]!r} was not there in training: {list(self.names)}")
        rows: dict[str, Array] = {}
        features: dict[str, list[str]] = {}
        levels: dict[str, dict[str, tuple[str, ...]]] = {}
        for name, row in sample.items():
            if row is not None:
                rows[name], columns, levels[name] = _read_row(name, row)
                if columns is not None:
                    features[name] = columns
        if not rows:
            width = self._coding.views[self.names[0]].width
            return Views.from_dict({self.names[0]: np.full((1, width), np.nan)})
        views = Views.from_dict({name: row[None] for name, row in rows.items()})
        return name_features(views, features, {name: levels[name] for name in features})


def _read_row(name: str, row: Any) -> tuple[Array, list[str] | None, dict[str, tuple[str, ...]]]:
    """Values of one row, names of its features if it has any, and the texts of categories."""
    named = row if isinstance(row, Mapping) else row.to_dict() if hasattr(row, "to_dict") else None
    columns = None if named is None else [str(column) for column in named]
    cells = list(named.values()) if named is not None else _as_list(name, row)
    texts = {k: cell for k, cell in enumerate(cells) if isinstance(cell, str)}
    if texts and columns is None:
        raise ValueError(f"view {name!r}: {next(iter(texts.values()))[:40]!r} is a text; name the features")
    for k, cell in texts.items():
        cells[k] = 0.0 if cell else np.nan
    try:
        values = np.array([np.nan if is_missing(cell) else cell for cell in cells], dtype=float)
    except (TypeError, ValueError):
        odd = next(cell for cell in cells if not isinstance(cell, int | float | np.number | np.bool_))
        raise ValueError(f"view {name!r}: {odd!r} is no number and no text; give one of these") from None
    levels: dict[str, tuple[str, ...]] = {}
    if columns is not None:
        levels = {columns[k]: (cell,) for k, cell in texts.items() if cell}
    return values, columns, levels


def _as_list(name: str, row: Any) -> list[Any]:
    """The cells of an array of one row."""
    array = np.asarray(row)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1:
        raise ValueError(
            f"view {name!r} has shape {array.shape}; one row is wanted, or Views of many samples"
        )
    return list(array.tolist())
