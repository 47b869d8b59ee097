"""How much each feature counts, where a model is linear in features or has importances of its own.

A machine on linear kernels is linear in the features of each view, ``w_v = eta_v sum_i a_i x_i`` over the
training samples that have the view.  Where kernels were completed, an absent training sample is a
combination of those that have the view, and its coefficient goes to them
(``SubspaceCompleter.onto_observed``).
"""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.kernels import ViewKernels
from absentia.methods.learning import KernelClassifier, KernelLogistic
from absentia.methods.models import Model
from absentia.methods.prediction import AbsentClassifier, AutoClassifier, LateFusion, ViewStacking

_WANTED = (
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
    raise ValueError(f"{type(model).__name__}: {_WANTED}")


def _of_machine(machine: Any, kernels: Any, completer: Any, names: tuple[str, ...]) -> Any:
    """Of a machine on `kernels` (a ViewKernels) that `completer` completed, views in the order `names`."""
    import pandas as pd

    parts, eta = {}, np.atleast_2d(machine.weights_)
    for v, name in enumerate(machine.names_in_):
        coefficients = eta[:, [v]] * _coefficients_of_observed(machine, completer, name)
        try:
            features, weights = kernels.linear_weights(name, coefficients)
        except ValueError as error:
            raise ValueError(f"{error}; {_WANTED}") from None
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
        raise ValueError(f"{type(model).__name__} on kernels or under a `final` model: {_WANTED}")
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
        raise ValueError(f"{type(estimator).__name__}: {_WANTED}")
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
        raise ValueError(f"{', '.join(auto.estimators_)}, which the AutoClassifier uses: {_WANTED}")
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
