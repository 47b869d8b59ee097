"""What a decision rests on: what each view adds to it, and which training samples do.

Sums of kernels and late fusion have parts, which are exact.  Of everything else a view's contribution is
the difference that hiding it makes: probabilities with the view less probabilities without it.  Such
differences need not sum to anything; views that say the same stand in for one another, and each may seem to
add little.

The score of a sample t by a kernel machine is ``sum_i z_i k(i, t) + b`` over the training samples i: each
brings a part.  Shares are absolute parts, divided by their sum.  Of an AutoClassifier the shares of the
machines among its candidates are averaged by their weights; candidates that are no kernel machines have
no part.

How much each feature counts, where a model is linear in features or has importances of its own.

A machine on linear kernels is linear in the features of each view, ``w_v = eta_v sum_i a_i x_i`` over the
training samples that have the view.  Where kernels were completed, an absent training sample is a
combination of those that have the view, and its coefficient goes to them
(``SubspaceCompleter.onto_observed``).
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.core.linalg import invert_permutation
from absentia.data import KernelViews
from absentia.kernels import ViewKernels
from absentia.methods.learning import KernelClassifier, KernelLogistic
from absentia.methods.models import Model
from absentia.methods.prediction import AbsentClassifier, AutoClassifier, LateFusion, ViewStacking

_WANTED = "AbsentClassifier, or a machine on kernels such as MKLClassifier, is wanted"


def _open_model(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier inside a Model or Pipeline, and the samples as it takes them, views as in training."""
    if isinstance(model, Model):
        model, X = model.classifier, model.rows(X)
    elif isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X) if len(model) > 1 else X
    if not hasattr(model, "classes_") or not hasattr(model, "names_in_"):
        raise ValueError(f"a fitted classifier of absentia is wanted, not {model!r}; call fit first")
    known = sorted(X.names) == sorted(model.names_in_)  # what is not, the classifier itself refuses
    return model, X.select(model.names_in_) if known else X


def _predict_proba_or_scores(model: Any, X: Any) -> Array:
    """Probabilities of the classes, rows x classes, or scores if no probabilities were learned."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    scores = np.asarray(model.decision_function(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def contributions(model: Any, X: Any, *, how: Literal["auto", "leaving out"] = "auto") -> Any:
    """What each view adds to each sample's decision: a pandas DataFrame (id, view, class, contribution).

    Parameters
    ----------
    model : fitted classifier, Model or Pipeline
        Of absentia.
    X : Views or KernelViews
        Samples as ``model.predict`` takes them.
    how : {"auto", "leaving out"}
        ``"auto"``: the exact parts where the classifier has them (its method ``contributions`` says of
        what), otherwise by leaving out: probabilities with the view less probabilities with the view
        hidden, zero where it is absent.  Scores take the place of probabilities that were not learned.

    Returns
    -------
    DataFrame
        Its ``attrs["how"]`` is ``"exact"`` or ``"leaving out"``.

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> parts = inspection.contributions(LateFusion().fit(views, y < 5), views[:4])
    >>> parts.columns.tolist(), len(parts)
    (['id', 'view', 'class', 'contribution'], 48)
    """
    if how not in ("auto", "leaving out"):
        raise ValueError(f"how must be 'auto' or 'leaving out', not {how!r}")
    import pandas as pd

    classifier, rows = _open_model(model, X)
    exact = how == "auto" and _has_parts(classifier)
    if exact:
        parts = np.asarray(classifier.contributions(rows))
        if parts.shape[2] < len(classifier.classes_):
            parts = np.concatenate([-parts, parts], axis=2)
    else:
        parts = _parts_by_leaving_out(classifier, rows)
    n, V, k = parts.shape
    frame = pd.DataFrame(
        {
            "id": np.repeat(X.ids, V * k),
            "view": np.tile(np.repeat(np.array(classifier.names_in_, dtype=object), k), n),
            "class": np.tile(classifier.classes_, n * V),
            "contribution": parts.ravel(),
        }
    )
    frame.attrs["how"] = "exact" if exact else "leaving out"
    return frame


def _has_parts(classifier: Any) -> bool:
    """Stacking has none under a second model of somebody else's."""
    return hasattr(classifier, "contributions") and getattr(classifier, "final", None) is None


def _parts_by_leaving_out(classifier: Any, X: Any) -> Array:
    """Probabilities with each view less probabilities without it, rows x views x classes."""
    whole = _predict_proba_or_scores(classifier, X)
    parts = np.zeros((len(X), X.n_views, whole.shape[1]))
    for v, has in enumerate(X.observed.T):
        if has.any():
            keep = np.ones_like(X.observed)
            keep[:, v] = False
            parts[has, v] = (whole - _predict_proba_or_scores(classifier, X.hide(keep)))[has]
    return parts


# ---------------------------------------------------------------------------- training samples


def support(model: Any, X: Any, n: int = 5) -> Any:
    """The training samples that each sample's decision rests on most: a pandas DataFrame.

    Parameters
    ----------
    model : fitted classifier, Model or Pipeline
        A machine on kernels (:class:`AbsentClassifier`, :class:`MKLClassifier` ...), or a
        :class:`AutoClassifier` that uses one.
    X : Views or KernelViews
        Samples as ``model.predict`` takes them.
    n : int, default 5
        How many training samples to name.

    Returns
    -------
    DataFrame
        ``id``, ``predicted``, ``sample`` (the training sample), its ``label`` (None where the machines do
        not tell: with more than two classes, of samples that are used only as not being of the others),
        ``share`` of the decision, and whether it speaks ``for`` or against the predicted class.
        ``attrs["of"]`` names the machines with their weights.

    Examples
    --------
    >>> from absentia import AbsentClassifier, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = AbsentClassifier().fit(views[:50], y[:50] < 5)
    >>> inspection.support(model, views[50:], n=3).shape
    (30, 6)
    """
    classifier, rows = _open_model(model, X)
    supports = _Shares(classifier)
    predicted = np.asarray(classifier.predict(rows))
    shares = supports.signed_shares(classifier, rows, np.searchsorted(classifier.classes_, predicted))
    frame = _largest_shares(supports, classifier, shares, n)
    frame.insert(0, "id", X.ids[frame.index])
    frame.insert(1, "predicted", predicted[frame.index])
    return frame.reset_index(drop=True)


def _largest_shares(supports: "_Shares", classifier: Any, shares: Array, n: int) -> Any:
    """The largest shares of each row; the index says of which row."""
    import pandas as pd

    order = np.argsort(-np.abs(shares), axis=1, kind="stable")[:, :n]
    t, i = np.repeat(np.arange(len(shares)), order.shape[1]), order.ravel()
    labels = [None if c < 0 else classifier.classes_[c] for c in supports.labels[i]]
    share = shares[t, i]
    table = {"sample": classifier.ids_[i], "label": labels, "share": np.abs(share), "for": share > 0}
    frame = pd.DataFrame(table, index=t).astype({"label": object})
    frame.attrs["of"] = supports.of
    return frame[frame["share"] > 0]


class _Shares:
    """Signed shares of training samples in decisions, and what the machines tell of their labels."""

    def __init__(self, classifier: Any) -> None:
        self.place = {x: i for i, x in enumerate(classifier.ids_.tolist())}
        self.labels = np.full(len(self.place), -1)  # positions among the classes
        self.of: dict[str, float] = {}

    def signed_shares(self, classifier: Any, X: Any, codes: Array) -> Array:
        """Rows x training samples, positive where they speak for the classes at positions `codes`."""
        if not isinstance(classifier, AutoClassifier):
            self.of[type(classifier).__name__] = 1.0
            return self._by_machine(classifier, X, codes, np.arange(len(classifier.classes_)))
        used = classifier.weights_by_candidate_
        weights = {name: w for name, w in used.items() if _is_machine(classifier.estimators_[name])}
        if not weights:
            raise ValueError(
                f"{', '.join(used)}, which the AutoClassifier uses, are no kernel machines; {_WANTED}, or "
                "give the AutoClassifier such candidates"
            )
        self.of = {name: w / sum(weights.values()) for name, w in weights.items()}
        X = classifier._check_rows(X)
        rows = np.flatnonzero(classifier._order.has_known_view(X))
        inside, order = classifier._order.select_rows(X, rows), classifier._class_order
        shares = np.zeros((len(X), len(self.place)))
        for name, weight in self.of.items():
            candidate = classifier.estimators_[name]
            shares[rows] += weight * self._by_machine(candidate, inside, codes[rows], order)
        return shares

    def _by_machine(self, classifier: Any, X: Any, codes: Array, class_order: Array) -> Array:
        """`class_order`: the place of each class among those of the classifier."""
        machine, rows, make = _machine_and_rows(classifier, X)
        class_order = getattr(classifier, "_class_order", np.arange(len(class_order)))[class_order]
        codes = class_order[codes]
        positions = np.array([self.place[x] for x in machine.ids_.tolist()], dtype=int)
        shares = np.zeros((len(X), len(self.place)))
        if not len(rows):
            return shares
        z, eta = machine.dual_coef_, np.atleast_2d(machine.weights_)
        self._learn_labels(z, positions, invert_permutation(class_order))
        two = len(z) == 1
        which = np.zeros(len(rows), dtype=int) if two else codes[rows]
        sign = 2 * codes[rows] - 1 if two else np.ones(len(rows))
        parts = sign[:, None] * z[which] * _combine(make(), eta, which)
        total = np.abs(parts).sum(axis=1, keepdims=True)
        shares[np.ix_(rows, positions)] = parts / np.where(total > 0, total, 1.0)
        return shares

    def _learn_labels(self, z: Array, positions: Array, classes: Array) -> None:
        """A coefficient is positive in the machine of a sample's own class, and negative elsewhere."""
        if len(z) == 1:
            codes = np.where(z[0] != 0, (z[0] > 0).astype(int), -1)
        else:
            codes = np.where((z > 0).any(axis=0), z.argmax(axis=0), -1)
        self.labels[positions] = np.where(codes >= 0, classes[codes], self.labels[positions])


def _is_machine(classifier: Any) -> bool:
    return isinstance(classifier, AbsentClassifier | KernelClassifier | KernelLogistic)


def _machine_and_rows(classifier: Any, X: Any) -> tuple[Any, Array, Callable[[], KernelViews]]:
    """The machine, the positions of the samples that have a view it knows, and what makes their kernels."""
    if not _is_machine(classifier):
        raise ValueError(f"{type(classifier).__name__} is no kernel machine; {_WANTED}")
    X = classifier._check_rows(X)
    if not isinstance(classifier, AbsentClassifier):
        rows = np.flatnonzero(X.observed.any(axis=1))
        return classifier, rows, lambda: X[rows]
    order = classifier._order
    rows = np.flatnonzero(order.has_known_view(X))
    return classifier._machine, rows, lambda: classifier._kernels.transform(order.select_rows(X, rows))


def _combine(K: KernelViews, eta: Array, which: Array) -> Array:
    """``sum_p eta_p K_p(i, t)``, rows x training samples, with the weights of each row's machine."""
    total = np.zeros((len(K), K.shape[1]))
    for v, name in enumerate(K.names):
        seen = np.ix_(K.observed[:, v], K.column_observed[:, v])
        total[seen] += eta[which[K.observed[:, v]], v][:, None] * K.block(name)
    return total


# ----------------------------------------------------------------------------------------------- features

_LINEAR_WANTED = (
    "importance needs a linear kernel, AbsentClassifier(kernel='linear'), or a model on features, "
    "EarlyFusionClassifier"
)


def feature_importance(model: Any) -> Any:
    """How much each feature counts in a model: a pandas DataFrame (view, feature, importance).

    Of machines on linear kernels: the norm, over the classes, of the weights of standardised features, for
    samples of usual length.  Where views were completed these are weights in the view's own part of the
    score of samples that have it; what such features tell of absent views is not counted.

    Of :class:`EarlyFusionClassifier`: its own.  Of :class:`LateFusion` and :class:`ViewStacking`: those of
    the views' models (``coef_`` or ``feature_importances_`` as they are), as shares within the view, times
    the weight of the view.  Of a :class:`AutoClassifier`: the mean of its candidates' importances, each as
    shares of the whole, by their weights; ``attrs["of"]`` says which candidates have any, with their
    weights there.

    Parameters
    ----------
    model : fitted classifier, Model or Pipeline
        Of absentia.

    Examples
    --------
    >>> from absentia import AbsentClassifier, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = AbsentClassifier(kernel="linear").fit(views, y < 5)
    >>> inspection.feature_importance(model).columns.tolist()
    ['view', 'feature', 'importance']
    """
    kernels = None
    if isinstance(model, Model):
        model, kernels = model.classifier, model.kernels
    elif isinstance(model, Pipeline):
        model, kernels = model[-1], next((step for step in model if isinstance(step, ViewKernels)), None)
    if hasattr(model, "feature_importance"):
        return model.feature_importance()
    if isinstance(model, AutoClassifier):
        return _of_several(model)
    if isinstance(model, LateFusion | ViewStacking):
        return _of_views(model)
    if isinstance(model, AbsentClassifier):
        before = model._kernels
        return _of_machine(model._machine, before.view_kernels_, before.completer_, model.names_in_)
    if isinstance(model, KernelClassifier | KernelLogistic) and kernels is not None:
        return _of_machine(model, kernels, None, model.names_in_)
    raise ValueError(f"{type(model).__name__}: {_LINEAR_WANTED}")


def _of_machine(machine: Any, kernels: Any, completer: Any, names: tuple[str, ...]) -> Any:
    """Of a machine on `kernels` (a ViewKernels) that `completer` completed, views in the order `names`."""
    import pandas as pd

    parts, eta = {}, np.atleast_2d(machine.weights_)
    for v, name in enumerate(machine.names_in_):
        coefficients = eta[:, [v]] * _coefficients_of_observed(machine, completer, name)
        try:
            features, weights = kernels.linear_weights(name, coefficients)
        except ValueError as error:
            raise ValueError(f"{error}; {_LINEAR_WANTED}") from None
        importance = np.linalg.norm(weights, axis=0)
        parts[name] = pd.DataFrame({"view": name, "feature": features, "importance": importance})
    return pd.concat([parts[name] for name in names if name in parts], ignore_index=True)


def _coefficients_of_observed(machine: Any, completer: Any, name: str) -> Array:
    """Coefficients of the training samples, those that lack the view carried to those that have it."""
    if completer is None:
        return np.asarray(machine.dual_coef_)
    project = getattr(completer, "onto_observed", None)
    coefficients = None if project is None else project(name, machine.dual_coef_)
    if coefficients is None:
        raise ValueError(
            f"{type(completer).__name__} completes kernels without saying where absent samples lie, and "
            f"so the view {name!r} has no weights of features; use completer='cvkt'"
        )
    return np.asarray(coefficients)


def _of_views(model: Any) -> Any:
    """Shares of the features within their view, times the weight of the view."""
    import pandas as pd

    views = model._order.views
    weights = model._view_weights if isinstance(model, LateFusion) else getattr(model, "weights_", None)
    if weights is None or model._coding is None:
        raise ValueError(f"{type(model).__name__} on kernels or under a `final` model: {_LINEAR_WANTED}")
    if isinstance(model, ViewStacking):
        weights = np.array([weights[model.names_in_.index(name)] for name in views])
    parts = {}
    for name, weight in zip(views, np.abs(weights) / max(np.abs(weights).sum(), 1e-300), strict=True):
        classifier = model._view_classifiers[name]
        width = model._widths[model.names_in_.index(name)]
        features = model._coding.views[name].names() or [str(j) for j in range(width)]
        by_feature = {} if classifier is None else _of_view_classifier(classifier, name)
        # levels that only samples of rare classes have are not among those of the view's model
        importance = np.array([by_feature.get(feature, 0.0) for feature in features])
        shares = weight * importance / max(importance.sum(), 1e-300)
        parts[name] = pd.DataFrame({"view": name, "feature": features, "importance": shares})
    return pd.concat([parts[name] for name in model.names_in_ if name in parts], ignore_index=True)


def _of_view_classifier(classifier: Any, view: str) -> dict[str, float]:
    """Importances of the features of one view, by name, in the model of that view."""
    if classifier.table is None:
        frame = feature_importance(classifier.estimator)
        return dict(zip(frame["feature"], frame["importance"], strict=True))
    estimator = classifier.estimator
    if hasattr(estimator, "feature_importances_"):
        values = np.asarray(estimator.feature_importances_)
    elif hasattr(estimator, "coef_"):
        values = np.linalg.norm(np.atleast_2d(estimator.coef_), axis=0)
    else:
        raise ValueError(f"{type(estimator).__name__}: {_LINEAR_WANTED}")
    names = classifier.table.coding.views[view].names() or [str(j) for j in range(len(values))]
    return dict(zip(names, values.tolist(), strict=True))


def _of_several(auto: Any) -> Any:
    """The mean of those candidates that have importances, each as shares."""
    import pandas as pd

    frames = {}
    for name, estimator in auto.estimators_.items():
        try:
            frames[name] = feature_importance(estimator)
        except ValueError:  # it has none
            continue
    if not frames:
        raise ValueError(f"{', '.join(auto.estimators_)}, which the AutoClassifier uses: {_LINEAR_WANTED}")
    weights = {name: auto.weights_by_candidate_[name] for name in frames}
    of = {name: weight / sum(weights.values()) for name, weight in weights.items()}
    shares = [
        frame.assign(importance=of[name] * frame["importance"] / max(frame["importance"].sum(), 1e-300))
        for name, frame in frames.items()
    ]
    together = pd.concat(shares).groupby(["view", "feature"], sort=False, as_index=False)
    result = together["importance"].sum()
    order = {view: v for v, view in enumerate(auto.names_in_)}
    result = result.sort_values("view", key=lambda s: s.map(order), kind="stable", ignore_index=True)
    result.attrs["of"] = of
    return result
