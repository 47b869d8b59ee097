"""Fitted models as files, and models that take features or kernels of new samples alike.

:func:`save` and :func:`load` keep any estimator of absentia, and pipelines with scikit-learn's, in one file
of arrays and a text: no pickle, no code (``docs/models.md``).  :func:`export` frees a model of its training
samples, :func:`describe` says what is in a file without building it, and what of it is by sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Serialized, deserialize, serializable, serialize, warn
from absentia.data import KernelViews, Presence, Views, show_id
from absentia.files import FileError, one_line, read_state, write_state
from absentia.kernels import AdjustViews, ViewKernels
from absentia.methods.prediction import export_estimator, is_sum

_MAX_KERNEL = 1e100  # products of larger kernel values with weights and coefficients may overflow
#: Attributes that are rows of features of samples, and those that have a number for each feature.
_ROWS = ("landmarks", "support_vectors_", "X_fit_", "_fit_X", "_X", "completed_", "points")
_SCALES = ("fill", "scale", "scale_")
_BLOCK_ENTRIES = 1 << 22  # kernel values that one block of new samples may take, 32 MiB


def save(estimator: Any, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> Path:
    """Write a fitted estimator, a pipeline, or a :class:`Model` to a file.

    Parameters
    ----------
    estimator : a fitted estimator
        Of absentia, or a :class:`sklearn.pipeline.Pipeline` of such and of those of scikit-learn's
        that ``docs/models.md`` lists.  A ``callback`` is left behind.
    path : path
        The file's name, which is used as it is: ``.absentia``, ``.npz`` or any other.
    about : dict, optional
        Anything that JSON can hold and :func:`describe` is to show.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import absentia, numpy as np
    >>> blocks = {"a": ([0, 1, 2], np.eye(3)), "b": ([0, 1], np.eye(2))}
    >>> completer = absentia.CVKT().fit(absentia.KernelViews.from_blocks(blocks))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = absentia.save(completer, pathlib.Path(folder) / "model.absentia")
    ...     back = absentia.load(path)
    >>> back
    CVKT()
    """
    _check_fitted(estimator)
    if isinstance(estimator, Model):
        state = serialize(estimator.compact())
    else:
        state = serialize(estimator, type(estimator).__name__)
    return write_state(path, state, about or {})


def _check_fitted(estimator: Any) -> None:
    fitted = estimator.classifier if isinstance(estimator, Model) else estimator
    if isinstance(fitted, type) or not hasattr(fitted, "fit"):
        came = fitted.__name__ if isinstance(fitted, type) else type(fitted).__name__
        raise TypeError(
            f"{came} came, a fitted estimator is wanted; write views and kernels with absentia.io.write"
        )
    try:
        check_is_fitted(fitted)
    except NotFittedError:
        name = type(fitted).__name__
        raise NotFittedError(
            f"this {name} is not fitted: there is nothing to save; call fit first"
        ) from None


def export(model: Any) -> Any:
    """The same fitted model without ids, feature rows or predictions of training samples.

    Of models that need sums over these alone: the defaults with ``candidates="no-rows"``, linear models of
    features, and, with kernels that are linear or given by random Fourier features, late fusion and
    regressions on kernels as they are or completed by CVKT.  Predictions are the same but for rounding, and
    but for views that CVKT predicts longer than any that was seen; prediction sets are not part of it.
    What is promised, and what is not, is in ``docs/models.md``.

    Parameters
    ----------
    model : a fitted estimator or :class:`Model`
        A ValueError says why it cannot be exported.

    Examples
    --------
    >>> from absentia import AutoClassifier, datasets, models
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> auto = AutoClassifier("no-rows").fit(views.select(["fourier", "moments"]), y < 5)
    >>> models.export(auto).ids_.tolist()
    ['(weights) 0']
    """
    _check_fitted(model)
    if not isinstance(model, Model):
        return export_estimator(model)
    if model.kernels is not None:
        raise ValueError(
            f"{model.classifier!r} compares new samples with training samples; take method auto"
        )
    return replace(model, classifier=export_estimator(model.classifier))


def load(path: str | os.PathLike[str]) -> Any:
    """What was saved, as it was; nothing in the file is run.

    Parameters
    ----------
    path : path
        A file of :func:`save`.  An :class:`absentia.io.FileError` says what is wrong with any other.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import EarlyFusionClassifier, datasets, load, save
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(EarlyFusionClassifier("linear").fit(views, y), f"{folder}/model.absentia")
    ...     load(path).predict(views[:5]).shape
    (5,)
    """
    state, description = read_state(path)
    _load_classes()
    try:
        model = deserialize(state.tree, state.arrays)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # whatever somebody may have put together
        raise FileError(f"{path}: not a valid model: {one_line(error)}") from error
    _warn_of_version(path, state, description["made"].get("scikit-learn"))
    return model


def _warn_of_version(path: Any, state: Serialized, made: Any) -> None:
    """Attributes of scikit-learn's estimators are its own affair and may mean something else."""
    names = state.sklearn_classes()
    if names and made != sklearn.__version__:
        warn(
            f"{path}: its {', '.join(names)} was written with scikit-learn {made} and is read with "
            f"{sklearn.__version__}, which may predict otherwise; check it, or fit it again"
        )


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a file of :func:`save`, which is checked but not built.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict
        ``class``, its ``steps`` if it has any, ``version`` of the format, ``made`` (what wrote it),
        ``about``, names of the ``views``, ``features`` (their names by view, or how many if they have
        none), ``classes``, number of training ``samples`` in it, ``holds`` (of how many training samples it
        has ids, who has which view, feature rows of one view, kernel values and other numbers), the same
        in words (``personal data``), and ``size`` in bytes.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import EarlyFusionClassifier, datasets, models
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = models.save(EarlyFusionClassifier("linear").fit(views, y), f"{folder}/model.absentia")
    ...     "version" in models.describe(path)
    True
    """
    state, description = read_state(path)
    try:
        outline = _Outline(state).all()
    except Exception as error:  # whatever somebody may have put together
        raise FileError(f"{path}: not a valid model: {one_line(error)}") from error
    return outline | description | {"size": os.stat(path).st_size}


def _load_classes() -> None:
    """Load all that may be in a file: what the packages hand out, and what is offered by name."""
    from absentia.methods import _embedding, catalogue, completion, learning, matrix  # noqa: F401

    for entry in catalogue.CATALOGUE:
        entry.load()


@serializable
@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted classifier and, if it was learned from features, the kernels before it.

    Attributes
    ----------
    classifier : a classifier of absentia
    kernels : ViewKernels or None
        None: the model takes what the classifier takes: :class:`Views`, or rows of :class:`KernelViews`
        of new samples against the training samples.
    about : dict
        Anything worth remembering that JSON can hold.
    adjust : AdjustViews or None
        What adjusts features for covariates first, which are one of the views then.

    Examples
    --------
    >>> from absentia import AbsentMKLClassifier, ViewKernels, datasets, models
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels()
    >>> classifier = AbsentMKLClassifier().fit(kernels.fit_transform(views), y < 5)
    >>> models.Model(classifier, kernels).predict(views[:3]).shape
    (3,)
    """

    classifier: Any
    kernels: ViewKernels | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    adjust: AdjustViews | None = None

    def __repr__(self) -> str:
        classes = ", ".join(map(str, self.classes[:5])) + (", ..." if len(self.classes) > 5 else "")
        before = "" if self.kernels is None else f"{self.kernels!r}, "
        return (
            f"Model: {before}{self.classifier!r}\n"
            f"  learned from {len(self.classifier.ids_)} samples; views: {', '.join(self.names)}\n"
            f"  takes {'features' if self.takes_features else 'kernels'}; "
            f"{len(self.classes)} classes: {classes}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.classifier.names_in_)

    @property
    def classes(self) -> Array:
        return np.asarray(self.classifier.classes_)

    @property
    def takes_features(self) -> bool:
        return self.kernels is not None or getattr(self.classifier, "_coding", None) is not None

    def compact(self) -> Model:
        """The same model without the training samples that it does not rest on."""
        measure_support = getattr(self.classifier, "measure_support", None)
        if measure_support is None:
            return self
        in_use = measure_support()  # samples x views
        samples = np.flatnonzero(in_use.any(axis=1))
        samples = samples if len(samples) else np.arange(1)
        kernels = None if self.kernels is None else self.kernels.restrict(samples, in_use[samples])
        if kernels is not None and len(kernels.ids_) != len(samples):
            return self
        return replace(self, classifier=self.classifier.restrict(samples), kernels=kernels)

    def rows(self, data: Views | KernelViews) -> Views | KernelViews:
        """What the classifier takes of new samples, views in the model's order."""
        if self.takes_features != isinstance(data, Views):
            came, wanted = ("kernels", "features") if self.takes_features else ("features", "kernels")
            more = "" if self.takes_features else " of the new samples against the training samples"
            raise ValueError(
                f"the model was learned from {wanted} of the views {list(self.names)}, but {came} came; "
                f"give {wanted}{more}"
            )
        if self.adjust is not None and isinstance(data, Views):
            data = self.adjust.transform(data)
        if self.kernels is None and isinstance(data, Views):
            return self.classifier._coding.in_views(data)  # views that nobody has may be left out
        if isinstance(data, Views):
            assert self.kernels is not None
            with np.errstate(over="ignore", invalid="ignore"):  # said below, with the sample's name
                rows = self.kernels.transform(data)
        else:
            known = Presence(self.classifier.ids_, self.names, self.classifier._observed)
            rows = _align_kernel_rows(data, known)
        _check_rows(rows)
        return rows

    def blocks(
        self, data: Views | KernelViews, entries: int = _BLOCK_ENTRIES
    ) -> Iterator[Views | KernelViews]:
        """:meth:`rows` for some samples at a time, in order, so that a block has about `entries` values."""
        size = max(1, entries // max(1, len(self.classifier.ids_) * len(self.names)))
        for begin in range(0, max(len(data), 1), size):
            yield self.rows(data[begin : begin + size])

    def predict(self, data: Views | KernelViews) -> Array:
        """The class of each sample; the number or the risk, of models of these."""
        classifier = self.classifier
        if not hasattr(classifier, "decision_function"):
            return self._predict_blocks(data, classifier.predict)
        if getattr(classifier, "_native_probabilities", False):
            return self._predict_blocks(data, classifier.predict_proba, classifier.decide)
        decide = lambda rows, _: classifier.predict(rows)  # noqa: E731
        return self._predict_blocks(data, classifier.decision_function, decide)

    def decision_function(self, data: Views | KernelViews) -> Array:
        """Scores, as the classifier gives them."""
        return self._predict_blocks(data, self.classifier.decision_function)

    def predict_proba(self, data: Views | KernelViews) -> Array:
        """Probabilities of the classes, if the classifier was fitted with ``probability``."""
        classifier = self.classifier
        if getattr(classifier, "_native_probabilities", False):  # of which scores are made
            return self._predict_blocks(data, classifier.predict_proba)
        decide = lambda rows, _: classifier.predict_proba(rows)  # noqa: E731
        return self._predict_blocks(data, classifier.decision_function, decide)

    def _predict_blocks(
        self,
        data: Views | KernelViews,
        score: Callable[[Any], Array],
        decide: Callable[[Any, Array], Array] = lambda _, scores: scores,
    ) -> Array:
        """What is decided of every block from its scores, if these are numbers."""
        predictions = []
        for rows in self.blocks(data):
            scores = np.asarray(score(rows))
            check_scores(rows, scores)
            predictions.append(np.asarray(decide(rows, scores)))
        return np.concatenate(predictions)


def as_model(fitted: Any) -> Model:
    """A fitted estimator, or a pipeline of `AdjustViews`, `ViewKernels` and one, as a :class:`Model`."""
    if isinstance(fitted, Model):
        return fitted
    steps = [step for _, step in fitted.steps] if isinstance(fitted, Pipeline) else [fitted]
    adjust = steps.pop(0) if isinstance(steps[0], AdjustViews) else None
    kernels = steps.pop(0) if len(steps) == 2 and isinstance(steps[0], ViewKernels) else None
    if len(steps) > 1 or not (hasattr(steps[0], "predict") and hasattr(steps[0], "ids_")):
        raise ValueError(f"a {type(fitted).__name__} is no fitted model of classes, numbers or survival")
    return Model(steps[0], kernels, adjust=adjust)


def adjust_before(adjust: AdjustViews, model: Any) -> Any:
    """A model that adjusts views for covariates first, out of one of adjusted views.

    `model` is a :class:`Model`, a pipeline or an estimator; what is none of the first becomes a pipeline.
    """
    if isinstance(model, Model):
        return replace(model, adjust=adjust)
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    return Pipeline([("adjust", adjust), *steps])


def check_scores(rows: Presence, scores: Array) -> None:
    """Refuse to pass on scores that are no numbers: they would become a class without a word."""
    bad = ~np.isfinite(scores.reshape(len(rows), -1)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{bad.sum()} sample(s), e.g. {show_id(rows.ids[bad.argmax()])}, would get scores that are not "
            "finite; values this large are beyond the model, or the model is damaged: check both"
        )


def _check_rows(rows: KernelViews) -> None:
    """Kernel values that overflow, or nearly do, are an error of the sample's values."""
    for v, name in enumerate(rows.names):
        values = rows.block(name)
        largest = float(np.abs(values).max(initial=0.0))
        if not largest <= _MAX_KERNEL:
            bad = ~(np.abs(values) <= _MAX_KERNEL).all(axis=1)
            sample = rows.ids[rows.observed[:, v]][np.argmax(bad)]
            raise ValueError(
                f"view {name!r}, sample {show_id(sample)}: its kernel with training samples is not finite "
                f"or beyond {_MAX_KERNEL:g}; check the values of this sample"
            )


def _align_kernel_rows(data: KernelViews, training: Presence) -> KernelViews:
    """`data` with the training samples as columns, found by id, and their views."""
    unknown = [name for name in data.names if name not in training.names]
    if unknown:
        raise ValueError(f"view {unknown[0]!r} was not there in training: {list(training.names)}")
    where = {str(x): position for position, x in enumerate(data.column_ids.tolist())}
    missing = [x for x in training.ids if str(x) not in where]
    if missing:
        raise ValueError(
            f"{len(missing)} of the {len(training)} training samples that the model needs, e.g. "
            f"{show_id(missing[0])}, are not among the columns of the new kernels; "
            "give kernels of the new samples against all training samples, with the ids of both"
        )
    part = data[np.ix_(np.arange(len(data)), np.array([where[str(x)] for x in training.ids], dtype=int))]
    rows = np.zeros((len(data), training.n_views), bool)
    columns = np.zeros((len(training), training.n_views), bool)
    blocks, diagonals = {}, {}
    for v, name in enumerate(training.names):
        if name not in part.names:
            blocks[name], diagonals[name] = np.zeros((0, 0)), np.zeros(0)
            continue
        own = part.names.index(name)
        rows[:, v], columns[:, v] = part.observed[:, own], part.column_observed[:, own]
        lacking = training.observed[:, v] & ~columns[:, v]
        if lacking.any() and rows[:, v].any():
            raise ValueError(
                f"view {name!r}: the new kernels have no values against training sample "
                f"{show_id(training.ids[np.argmax(lacking)])}, which had the view in training"
            )
        blocks[name], diagonals[name] = part.block(name), part.diagonal(name)
    known = Presence(training.ids, training.names, columns)
    return KernelViews.between(Presence(data.ids, training.names, rows), known, blocks, diagonals)


class _Outline:
    """What a state says of the model that it is of."""

    def __init__(self, state: Serialized) -> None:
        self.state, self.parts = state, list(state.parts())

    def all(self) -> dict[str, Any]:
        views, holds = self.first("names_in_"), self.count_holdings()
        return {
            "class": _class_name(self.parts[0][0]),
            "steps": self.steps(),
            "views": [str(name) for name in views or ()],
            "features": self.features(),
            "classes": _as_json_list(self.first("classes_")),
            "samples": holds["ids"] or None,
            "holds": holds,
            "personal data": _describe_holdings(holds),
        }

    def value(self, tree: Any) -> Any:
        return deserialize(tree, self.state.arrays, objects=False)

    def first(self, key: str) -> Any:
        """The outermost attribute of that name."""
        return next((self.value(state[key]) for _, state in self.parts if key in state), None)

    def steps(self) -> list[str]:
        """The estimators that a pipeline or a model consists of, in order."""
        kind, state = self.parts[0]
        names = ("adjust", "kernels", "classifier")
        inside = [state.get(name) for name in names] if kind == "models.Model" else []
        if kind == "Pipeline":
            inside = [pair["items"][1] for pair in state["steps"]]
        return [_class_name(step["is"]) if isinstance(step, dict) else str(step) for step in inside if step]

    def features(self) -> dict[str, Any]:
        """Names of the features, or how many there are, by view; of a table as ``"X"``."""
        features: dict[str, Any] = {}
        for kind, state in self.parts:
            if kind == "data.ViewCoding":
                names = _as_json_list(self.value(state["columns"]))
                features[str(state["name"])] = state["width"] if names is None else names
        if not features and self.first("names_in_") is None:
            names, count = _as_json_list(self.first("feature_names_in_")), self.first("n_features_in_")
            features = {} if count is None else {"X": count if names is None else names}
        return features

    def count_holdings(self) -> dict[str, int]:
        """Of how many training samples there is what, by the shapes of the arrays.

        Attributes that list samples, or who has which view, say how many samples there may be on an axis;
        scales of features how many features.  Arrays of samples x features are feature rows, of samples x
        samples kernel values, and others with an axis of samples other numbers of these.  Where there
        happen to be as many of something else, more is said than is there, never less.
        """
        counts, ids = self.count_samples()
        widths = {state["width"] for kind, state in self.parts if kind == "data.ViewCoding"}
        widths |= {shape[0] for key, _, shape in self.arrays() if key in _SCALES and len(shape) == 1}
        holds = {"ids": ids, "presence": 0, "feature rows": 0, "kernel values": 0, "other numbers": 0}
        for key, kind, shape in self.arrays():
            samples = counts.intersection(shape)
            if kind not in "bfiu" or not samples:
                continue
            what = "presence" if kind == "b" else "other numbers"
            if (
                kind != "b"
                and len(shape) == 2
                and shape[0] in counts
                and not key.startswith(("loo_", "held_out_"))
            ):
                if shape[1] in widths or (key in _ROWS and shape[1] not in counts):
                    what = "feature rows"
                elif shape[1] in counts:
                    what = "kernel values"
            holds[what] = max(holds[what], *samples)
        return holds

    def count_samples(self) -> tuple[set[int], int]:
        """How many samples an axis of an array may be of, and how many ids there are."""
        lists = {shape[0] for key, _, shape in self.arrays() if key in _ROWS and shape}
        lists |= {shape[0] for key, _, shape in self.arrays() if key == "support_"}
        n_ids = 0
        for _, state in self.parts:
            ids = next((self.value(state[key]) for key in ("ids_", "ids") if key in state), None)
            if ids is None or is_sum(ids):
                continue
            n_ids = max(n_ids, len(ids))
            tables = [self.value(state[key]) for key in ("_observed", "observed") if key in state]
            lists |= {len(ids), *(n for table in tables for n in table.sum(axis=0).tolist())}
        return lists - {0}, n_ids

    def arrays(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Of every array, the attribute that it is or is part of, the kind of its values, and its shape."""
        waiting = [("", self.state.tree)]
        while waiting:
            key, node = waiting.pop()
            if isinstance(node, dict) and node.get("is") in ("array", "sparse", "symmetric"):
                kind = np.dtype(node["dtype"]).kind if node["is"] == "array" else "f"
                yield key, kind, tuple(node["shape"])
            elif isinstance(node, dict) and node.get("is") == "reordered":
                waiting.append((key, node["of"]))
            elif isinstance(node, dict):
                waiting += [(key if name in ("state", "items") else name, x) for name, x in node.items()]
            elif isinstance(node, list):
                waiting += [(key, part) for part in node]


def _describe_holdings(holds: Mapping[str, int]) -> str:
    """In a line, what a file holds of training samples."""
    if not any(holds.values()):
        return "of training samples no id, feature row or other number, but sums over them"
    words = {
        "ids": "ids",
        "presence": "who has which view",
        "feature rows": "feature rows",
        "kernel values": "numbers between pairs (kernels)",
        "other numbers": "numbers computed of each, from which labels may be told",
    }
    parts = [f"{words[what]} ({n})" for what, n in holds.items() if n]
    return f"of training samples: {', '.join(parts)}" + (
        "" if holds["feature rows"] else "; no feature rows"
    )


def _class_name(kind: str) -> str:
    return kind.rpartition(".")[2]


def _as_json_list(values: Any) -> list[Any] | None:
    """As a list of what JSON can hold."""
    if values is None:
        return None
    plain = values.tolist() if hasattr(values, "tolist") and values.dtype.kind not in "mM" else list(values)
    return [x if isinstance(x, str | bool | int | float) else str(x) for x in plain]
