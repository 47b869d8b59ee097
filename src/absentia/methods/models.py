"""Fitted classifiers as files: one ``.npz`` of plain arrays and one text, never a pickle, never code.

Keys
----
``model``
    JSON: format and version, the classifier's class and parameters, the views, how each view's kernel is
    computed, how the fit went, and whatever the writer had to say (``about``).
``classes``, ``prior``, ``weights``, ``norms``, ``dual_coef``, ``bias``, ``observed``
    The machines.  Only samples with a coefficient and views with a weight are kept: the others add zero.
``X_<v>``, ``fill_<v>``, ``scale_<v>``, ``diagonal_<v>``, ``features_<v>``
    For a model of features, view by view (by position): the kept samples' features as the kernel sees
    them, what to fill and to divide by, the samples' own kernel values, the features' names if any.
``ids``
    For a model of kernels: the kept samples, against which rows of new samples are wanted.
``chances_...``
    How scores become chances, if they do.

Everything is checked when a file is read, so that a damaged file is refused and not obeyed: what is there,
its type and shape (before it is read), and its magnitude.  Numbers are at most 1e40 and divisors at least
1e-40, so that with kernel values up to 1e100, which is checked too, every product that a prediction takes
is finite.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array
from absentia.data import KernelViews, Presence, Views, check_names, shown
from absentia.files import FileError, Member, against, archive, one_line, write_arrays
from absentia.kernels import KERNELS, FeatureKernel, Finish, Options, ViewKernels
from absentia.methods.learning import IsotonicChances, KernelClassifier, MKLClassifier, SigmoidChances
from absentia.methods.learning.amkl import AbsentMKLClassifier

FORMAT, VERSION = "absentia model", 1
CLASSIFIERS: dict[str, type[KernelClassifier]] = {
    "MKLClassifier": MKLClassifier,
    "AbsentMKLClassifier": AbsentMKLClassifier,
}
_FIT = ("gap_", "n_iter_", "converged_", "status_")
LARGEST, LARGEST_KERNEL = 1e40, 1e100  # see the module's docstring
LEAST_TAU = 1e-6
LONGEST_TEXT, LONGEST_DESCRIPTION = 1_000, 4_000_000
ENTRIES = 1 << 22  # kernel values that one block of new samples may take, 32 MiB


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier and, if it was learned from features, the kernels before it.

    Attributes
    ----------
    classifier : MKLClassifier or AbsentMKLClassifier
    kernels : ViewKernels or None
        None: the model takes :class:`KernelViews`, rows of new samples against the training samples.
    about : dict
        Anything worth remembering that JSON can hold.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from absentia import AbsentMKLClassifier, ViewKernels, datasets, models
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels()
    >>> classifier = AbsentMKLClassifier().fit(kernels.fit_transform(views), y < 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = models.save(pathlib.Path(folder) / "model.npz", models.Model(classifier, kernels))
    ...     back = models.load(path)
    >>> back.predict(views[:3]).shape
    (3,)
    """

    classifier: KernelClassifier
    kernels: ViewKernels | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return self.classifier.names_in_

    @property
    def classes(self) -> Array:
        return self.classifier.classes_

    def rows(self, data: Views | KernelViews) -> KernelViews:
        """Kernels of new samples against the training samples, views in the model's order."""
        if self.kernels is not None:
            if not isinstance(data, Views):
                raise ValueError(
                    f"the model was learned from features of the views {list(self.names)}, but kernels "
                    "came; give the new samples' features"
                )
            with np.errstate(over="ignore", invalid="ignore"):  # said below, with the sample's name
                rows = self.kernels.transform(data)
        elif not isinstance(data, KernelViews):
            raise ValueError(
                "the model was learned from kernels, but features came; give kernels of the new samples "
                "against the training samples"
            )
        else:
            rows = against(data, Presence(self.classifier.ids_, self.names, self.classifier._observed))
        _check_rows(rows)
        return rows

    def blocks(self, data: Views | KernelViews, entries: int = ENTRIES) -> Iterator[KernelViews]:
        """:meth:`rows` for some samples at a time, in order, so that a block has about `entries` values."""
        size = max(1, entries // max(1, len(self.classifier.ids_) * len(self.names)))
        for begin in range(0, max(len(data), 1), size):
            yield self.rows(data[begin : begin + size])

    def predict(self, data: Views | KernelViews) -> Array:
        """The class of each sample."""
        return self._each(data, self.classifier.predict)

    def decision_function(self, data: Views | KernelViews) -> Array:
        """Scores, as the classifier gives them."""
        return self._each(data, self.classifier.decision_function)

    def predict_proba(self, data: Views | KernelViews) -> Array:
        """Chances of the classes, if the classifier was fitted with ``probability``."""
        return self._each(data, self.classifier.predict_proba)

    def _each(self, data: Views | KernelViews, predict: Callable[[KernelViews], Array]) -> Array:
        """What `predict` says of every block, if the scores behind it are numbers."""
        found = []
        for rows in self.blocks(data):
            _check_finite(rows, self.classifier.decision_function(rows))
            found.append(np.asarray(predict(rows)))
        return np.concatenate(found)


def _check_finite(rows: KernelViews, scores: Array) -> None:
    """Scores that are no numbers would become a class without a word."""
    bad = ~np.isfinite(scores.reshape(len(rows), -1)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"sample {shown(rows.ids[np.argmax(bad)])}: the prediction is not finite; the model or the "
            "sample's values are too large: fit again on scaled features"
        )


def _check_rows(rows: KernelViews) -> None:
    """Kernel values that overflow, or nearly do, are an error of the sample's values."""
    for v, name in enumerate(rows.names):
        values = rows.block(name)
        largest = float(np.abs(values).max(initial=0.0))
        if not largest <= LARGEST_KERNEL:
            bad = ~(np.abs(values) <= LARGEST_KERNEL).all(axis=1)
            sample = rows.ids[rows.observed[:, v]][np.argmax(bad)]
            raise ValueError(
                f"view {name!r}, sample {shown(sample)}: its kernel with training samples is not finite or "
                f"beyond {LARGEST_KERNEL:g}; check the values of this sample"
            )


# ------------------------------------------------------------------------------------------- writing


def save(path: str | os.PathLike[str], model: Model) -> Path:
    """Write a model to ``.npz``, whole or not at all."""
    classifier, kernels = model.classifier, model.kernels
    check_is_fitted(classifier, "weights_")
    if type(classifier) not in CLASSIFIERS.values() or getattr(classifier, "paper_form", False):
        raise ValueError(
            f"{type(classifier).__name__} cannot be saved; {' and '.join(CLASSIFIERS)} can, "
            "without paper_form"
        )
    kept = np.flatnonzero(classifier.dual_coef_.any(axis=0))
    kept = kept if len(kept) else np.arange(1)
    observed = classifier._observed[kept] & classifier._weights.any(axis=0)
    described = {
        "format": FORMAT,
        "version": VERSION,
        "classifier": type(classifier).__name__,
        "parameters": _plain_parameters(classifier),
        "names": list(classifier.names_in_),
        "fit": {name: getattr(classifier, name) for name in _FIT},
        "views": None if kernels is None else [_described(kernels, name) for name in kernels.names_in_],
        "about": dict(model.about),
    }
    arrays: dict[str, Any] = {
        "model": json.dumps(described, default=_as_json),
        "classes": _texts_or_numbers(classifier.classes_),
        "prior": classifier._prior,
        "weights": classifier._weights,
        "norms": classifier._norms,
        "dual_coef": classifier.dual_coef_[:, kept],
        "bias": classifier.bias_,
        "observed": observed,
    }
    if kernels is None:
        arrays["ids"] = _texts_or_numbers(classifier.ids_[kept])
    else:
        arrays |= _feature_arrays(kernels, classifier._observed, kept, observed)
    if classifier.probability:
        arrays |= _chance_arrays(classifier._chances)
    _restored_model(_Shelf({key: np.asarray(value) for key, value in arrays.items()}))  # it will load again
    return write_arrays(path, arrays)


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a model's description cannot hold {type(value).__name__}")


def _texts_or_numbers(values: Array) -> Array:
    return values.astype(str) if values.dtype.kind not in "biufU" else values


def _plain_parameters(classifier: KernelClassifier) -> dict[str, Any]:
    """Parameters without what only training needs and a file cannot hold."""
    parameters = classifier.get_params()
    left_out = {"callback"} | ({"class_weight"} if isinstance(classifier.class_weight, Mapping) else set())
    return {name: value for name, value in parameters.items() if name not in left_out}


def _described(kernels: ViewKernels, name: str) -> dict[str, Any]:
    """How a view becomes a kernel."""
    view = kernels._raw.get(name)
    if not isinstance(view, FeatureKernel) or name in kernels._maps or view.options.kernel not in KERNELS:
        raise ValueError(
            f"view {name!r}: only kernels computed from features by name can be saved: "
            "no precomputed ones, functions or approximations"
        )
    if view.options.center:
        raise ValueError(f"view {name!r}: centred kernels cannot be saved; use center=False")
    return {
        "options": asdict(view.options),
        "gamma": view.gamma,
        "standardized": bool(view.center),
        "mean_diagonal": kernels._finish[name].mean_diagonal,
    }


def _feature_arrays(kernels: ViewKernels, had: Array, kept: Array, observed: Array) -> dict[str, Array]:
    """Features of those kept samples that a view has, as its kernel sees them."""
    arrays: dict[str, Array] = {}
    chosen = np.zeros_like(had)
    chosen[kept] = observed
    for v, name in enumerate(kernels.names_in_):
        view, finish = kernels._raw[name], kernels._finish[name]
        assert isinstance(view, FeatureKernel)
        rows = chosen[had[:, v], v]
        X = view.X[np.flatnonzero(rows)]
        arrays[f"X_{v}"] = X.toarray() if scipy.sparse.issparse(X) else X
        arrays[f"fill_{v}"], arrays[f"scale_{v}"] = view.fill, view.scale
        arrays[f"diagonal_{v}"] = finish.column_diagonal[rows]
        if view.names is not None:
            arrays[f"features_{v}"] = view.names.astype(str)
    return arrays


def _chance_arrays(chances: SigmoidChances | IsotonicChances) -> dict[str, Array]:
    if isinstance(chances, SigmoidChances):
        coef, intercept = chances.model.coef_, chances.model.intercept_
        return {"chances_spread": chances.spread, "chances_coef": coef, "chances_intercept": intercept}
    arrays = {}
    for k, step in enumerate(chances.models):
        arrays[f"chances_x_{k}"], arrays[f"chances_y_{k}"] = step.X_thresholds_, step.y_thresholds_
    return arrays


# ------------------------------------------------------------------------------------------- reading


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model; a ``_npz.FileError`` says what is wrong with a file that is none."""
    with archive(path) as members:
        if "model" not in members:
            raise ValueError(
                f"holds no model but {sorted(members)[:8] or 'nothing'}; make one with absentia fit"
            )
        try:
            return _restored_model(_Shelf(members))
        except ValueError as error:
            raise FileError(f"{path}: not a valid model: {one_line(error)}") from error
        except (MemoryError, OSError):
            raise
        except Exception as error:  # whatever a stranger may have put into the description
            raise FileError(f"{path}: damaged model ({type(error).__name__}: {one_line(error)})") from error


@dataclass(frozen=True)
class _Shelf:
    """Arrays of a file, each checked as it is taken: type and shape before it is read, values after."""

    arrays: Mapping[str, Array | Member]

    def take(
        self, key: str, shape: tuple[int | None, ...], kinds: str = "f", least: float | None = None
    ) -> Array:
        """An array of this shape (None: any), its numbers finite, at most LARGEST, at least `least`."""
        if key not in self.arrays:
            raise ValueError(f"{key!r} is missing")
        held = self.arrays[key]
        fits = len(held.shape) == len(shape) and all(
            wanted in (None, came) for wanted, came in zip(shape, held.shape, strict=True)
        )
        if not fits or held.dtype.kind not in kinds:
            wanted = " x ".join("any" if w is None else str(w) for w in shape) or "a single value"
            raise ValueError(
                f"{key!r} is {held.dtype} of shape {held.shape}; wanted {wanted}, of kind {kinds!r}"
            )
        if held.dtype.kind == "U" and held.dtype.itemsize > 4 * self._longest(key):
            raise ValueError(f"{key!r} holds texts of more than {self._longest(key)} characters")
        array = held.read() if isinstance(held, Member) else held
        if array.dtype.kind == "f":
            _check_magnitude(key, array, least)
        return array

    @staticmethod
    def _longest(key: str) -> int:
        return LONGEST_DESCRIPTION if key == "model" else LONGEST_TEXT

    def description(self) -> dict[str, Any]:
        try:
            described = json.loads(str(self.take("model", (), "U")))
        except RecursionError:
            raise ValueError("its description is nested too deeply") from None
        if not isinstance(described, dict) or described.get("format") != FORMAT:
            raise ValueError(f"its description does not say {FORMAT!r}")
        version = described.get("version")
        if version != VERSION:
            raise ValueError(
                f"its format is version {str(version)[:20]}, and this absentia reads {VERSION}; "
                "use the absentia that wrote it, or fit again"
            )
        return described


def _check_magnitude(key: str, array: Array, least: float | None) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"{key!r} holds values that are not finite")
    if (np.abs(array) > min(LARGEST, float(np.finfo(array.dtype).max))).any():
        raise ValueError(f"{key!r} holds values beyond {LARGEST:g}; fit again on scaled features")
    if least is not None and (array.astype(float) < least).any():
        raise ValueError(f"{key!r} must be positive, and at least {least:g}")


def _restored(cls: Any, **state: Any) -> Any:
    """An object with this state, its ``__init__`` (which would learn) not run."""
    thing = cls.__new__(cls)
    thing.__dict__.update(state)
    return thing


def _restored_model(shelf: _Shelf) -> Model:
    described = shelf.description()
    names = _names(described)
    classes = shelf.take("classes", (None,), "biufU")
    if len(classes) < 2 or not np.array_equal(classes, np.unique(classes)):
        raise ValueError("'classes' are not two or more different classes in order")
    machines = 1 if len(classes) == 2 else len(classes)
    observed = shelf.take("observed", (None, len(names)), "b")
    views = described.get("views")
    ids = np.arange(len(observed))
    if views is None:
        ids = shelf.take("ids", (len(observed),), "iufU")
        if len(set(ids.tolist())) < len(ids):
            raise ValueError("'ids' are not all different")
    training = Presence(ids, names, observed)
    classifier = _restored_classifier(shelf, described, training, classes, machines)
    kernels = None if views is None else _restored_kernels(shelf, views, training)
    about = described.get("about")
    return Model(classifier, kernels, about if isinstance(about, dict) else {})


def _names(described: Mapping[str, Any]) -> tuple[str, ...]:
    names = described.get("names")
    if not isinstance(names, list) or not all(_is_text(name) for name in names):
        raise ValueError("its description names no views")
    return check_names(names)


def _restored_classifier(
    shelf: _Shelf, described: Mapping[str, Any], training: Presence, classes: Array, machines: int
) -> KernelClassifier:
    cls = CLASSIFIERS.get(str(described.get("classifier")))
    parameters = described.get("parameters")
    if cls is None or not isinstance(parameters, dict):
        raise ValueError(f"its classifier {described.get('classifier')!r} is none of {list(CLASSIFIERS)}")
    unknown = set(parameters) - set(cls._get_param_names()) | set(parameters) & {"callback"}
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {sorted(unknown)[0]!r} that a file could set")
    odd = [name for name, value in parameters.items() if not _is_plain(value)]
    if odd:
        raise ValueError(f"its parameter {odd[0]} is neither a number nor a short text")
    classifier = cls(**parameters)
    _check_parameters(classifier)
    n, m = training.observed.shape
    prior, bias = shelf.take("prior", (len(classes),)), shelf.take("bias", (machines,))
    weights, norms = shelf.take("weights", (machines, m)), shelf.take("norms", (machines, m))
    if (weights < 0).any() or (norms < 0).any() or (prior < 0).any():
        raise ValueError("weights, norms and prior must not be negative")
    if abs(float(prior.sum()) - 1) > 1e-6:
        raise ValueError("'prior' must add up to one")
    fit = _how_it_went(described.get("fit"))
    classifier.__dict__.update(
        fit,
        names_in_=training.names,
        ids_=training.ids,
        classes_=classes,
        bias_=bias,
        dual_coef_=shelf.take("dual_coef", (machines, n)),
        support_=np.arange(n),
        weights_=weights[0] if machines == 1 else weights,
        _weights=weights,
        _norms=norms,
        _prior=prior,
        _observed=training.observed,
    )
    if classifier.probability:
        classifier._chances = _restored_chances(shelf, classifier.probability, classes, machines)
    return classifier


def _how_it_went(fit: Any) -> dict[str, Any]:
    fine = isinstance(fit, dict) and set(fit) == set(_FIT)
    fine = fine and isinstance(fit["gap_"], float | int) and isinstance(fit["converged_"], bool)
    if not fine or not _is_text(fit["status_"]) or not _number(fit["n_iter_"], 0, 1e18):
        raise ValueError("its description does not say how the fit went")
    return dict(fit)


def _is_text(value: Any) -> bool:
    """A text that can be shown: not endless, and without halves of characters."""
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and not re.search("[\ud800-\udfff]", value)


def _is_plain(value: Any) -> bool:
    return (
        value is None or isinstance(value, bool | float) or _is_text(value) or _number(value, -1e18, 1e18)
    )


def _check_parameters(classifier: KernelClassifier) -> None:
    """Those that matter for prediction."""
    if not any(classifier.probability is x for x in (False, True)) and (
        classifier.probability not in ("sigmoid", "isotonic")
    ):
        raise ValueError(f"its probability is {classifier.probability!r}")
    if not _number(classifier.tau_min, LEAST_TAU, 1):
        raise ValueError(
            f"its tau_min is {classifier.tau_min!r}, not a number above {LEAST_TAU:g} and up to 1"
        )
    if getattr(classifier, "paper_form", False) is not False:
        raise ValueError("the paper's forms cannot be saved")


def _restored_chances(shelf: _Shelf, how: bool | str, classes: Array, machines: int) -> Any:
    if how == "isotonic":
        steps = []
        for k in range(machines):
            x = shelf.take(f"chances_x_{k}", (None,))
            y = shelf.take(f"chances_y_{k}", (len(x),))
            if not len(x) or (np.diff(x) < 0).any() or (np.diff(y) < 0).any() or y[0] < 0 or y[-1] > 1:
                raise ValueError(f"'chances_x_{k}' and 'chances_y_{k}' are no rising chances")
            # thresholds that rise already are their own isotonic fit
            steps.append(IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(x, y))
        return _restored(IsotonicChances, models=steps)
    spread = shelf.take("chances_spread", (machines,), least=1 / LARGEST)
    model = LogisticRegression(max_iter=1000)
    model.classes_, model.n_features_in_ = classes, machines
    model.coef_ = shelf.take("chances_coef", (machines, machines))
    model.intercept_ = shelf.take("chances_intercept", (machines,))
    return _restored(SigmoidChances, spread=spread, model=model)


def _restored_kernels(shelf: _Shelf, views: Any, training: Presence) -> ViewKernels:
    if not isinstance(views, list) or len(views) != training.n_views:
        raise ValueError(f"its description is not one of {training.n_views} views")
    kernels = ViewKernels()
    kernels._raw, kernels._maps, kernels._finish, kernels._train = {}, {}, {}, training
    for v, (name, view) in enumerate(zip(training.names, views, strict=True)):
        seen = int(training.observed[:, v].sum())
        kernels._raw[name], kernels._finish[name] = _restored_view(shelf, v, name, view, seen)
    kernels.names_in_, kernels.ids_ = training.names, training.ids
    kernels.gamma_ = {name: raw.gamma for name, raw in kernels._raw.items()}
    return kernels


def _restored_view(
    shelf: _Shelf, v: int, name: str, described: Any, seen: int
) -> tuple[FeatureKernel, Finish]:
    options = _options(name, described)
    kernel, gamma = KERNELS[str(options.kernel)], described["gamma"]
    if (gamma is None) != (kernel.metric is None) or (gamma is not None and not _positive(gamma)):
        raise ValueError(f"view {name!r}: gamma {gamma!r} does not go with the {options.kernel} kernel")
    if not _positive(described["mean_diagonal"]):
        raise ValueError(f"view {name!r}: its mean_diagonal is {described['mean_diagonal']!r}")
    X = shelf.take(f"X_{v}", (seen, None))
    width = X.shape[1]
    scale = shelf.take(f"scale_{v}", (width,), least=1 / LARGEST)
    if width == 0:
        raise ValueError(f"view {name!r} has no feature; one at least is wanted")
    diagonal = shelf.take(f"diagonal_{v}", (seen,))
    if ((diagonal != 0) & (np.abs(diagonal) < 1 / LARGEST)).any():
        raise ValueError(f"'diagonal_{v}' holds values that are too small to divide by")
    features = shelf.take(f"features_{v}", (width,), "U") if f"features_{v}" in shelf.arrays else None
    if features is not None and len(set(features.tolist())) < width:
        raise ValueError(f"'features_{v}' are not all different")
    raw = _restored(
        FeatureKernel,
        name=name,
        options=options,
        n_features=width,
        names=features,
        kernel=kernel,
        fill=shelf.take(f"fill_{v}", (width,)),
        center=described["standardized"] is True,
        scale=scale,
        X=X,
        gamma=gamma,
    )
    finish = _restored(
        Finish,
        normalize=options.normalize,
        center=False,
        column_means=np.zeros(seen),
        grand_mean=0.0,
        column_diagonal=diagonal,
        mean_diagonal=float(described["mean_diagonal"]),
    )
    return raw, finish


def _options(name: str, described: Any) -> Options:
    given = described.get("options") if isinstance(described, dict) else None
    wanted = {"gamma", "standardized", "mean_diagonal"}
    if (
        not isinstance(given, dict)
        or set(given) != {f.name for f in fields(Options)}
        or wanted - set(described)
    ):
        raise ValueError(f"view {name!r}: its description does not say how its kernel is computed")
    options = Options(**given)
    fine = (
        isinstance(options.kernel, str)
        and options.kernel in KERNELS
        and options.normalize in ("diagonal", "trace", None)
        and options.missing_values in ("mean", "error")
        and (options.center, options.approx) == (False, None)
        and _number(options.degree, 1 / LARGEST, 100)
        and _number(options.coef0, -LARGEST, LARGEST)
    )
    if not fine:
        raise ValueError(f"view {name!r}: its kernel cannot be {one_line(given, 300)}")
    return options


def _positive(value: Any) -> bool:
    return _number(value, 1 / LARGEST, LARGEST)


def _number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and low <= value <= high
