"""Write one small file of each kind of model in the present format, which later versions have to read.

    python tests/files/make_archives.py

Files of earlier formats stay as they are: what they were given, and what they answered, is in their ``about``.
"""

from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import absentia
from absentia import (
    CVKT,
    AbsentMKLClassifier,
    CombineKernels,
    KernelViews,
    PMAImputer,
    ViewKernels,
    Views,
    models,
)

HERE = Path(__file__).parent / "archives"


def listed(array):
    """Numbers exactly, None where there is none."""
    return np.where(np.isnan(array), None, array.astype(object)).tolist()


def arrays(lists):
    return np.array(lists, dtype=float)


def answers(model, given):
    """What a model of an archive says of what is given in it, as one array."""
    if isinstance(model, PMAImputer):
        return model.transform(arrays(given))
    if isinstance(model, CVKT):
        return model.transform(KernelViews.from_dense(arrays(given))).to_dense()
    views = Views.from_dict({name: arrays(table) for name, table in given.items()})
    try:
        return model.predict_proba(views)
    except (
        AttributeError,
        NotFittedError,
    ):  # a machine without probabilities; old scikit-learn offers them
        return model.decision_function(views)


def classifier(rng):
    import pandas as pd

    z = rng.standard_normal((24, 2))
    ids = [f"P-{i:02}" for i in range(24)]
    tables = {}
    for name, columns in {"expression": ["ESR1", "ERBB2", "MKI67"], "clinical": ["age", "stage"]}.items():
        values = (z @ rng.standard_normal((2, len(columns)))).round(2)
        tables[name] = pd.DataFrame(values, index=ids, columns=columns)
    tables["clinical"] = tables["clinical"].iloc[:-5]
    views = Views.from_dict(tables)
    y = np.where(z[:, 0] > 0, "Basal", "LumA")
    given = {name: listed(table) for name, table in views[12:].to_dict().items()}
    return make_pipeline(ViewKernels(), AbsentMKLClassifier(probability=True)).fit(views, y), given


def machine(rng):
    from sklearn.svm import SVC

    z = rng.standard_normal((20, 2)).round(2)
    views = Views.from_dict({"a": z, "b": (z[:, :1] + 1).round(2)})
    last = SVC(kernel="precomputed")
    given = {name: listed(table) for name, table in views[:6].to_dict().items()}
    return make_pipeline(ViewKernels(), CombineKernels(), last).fit(views, z[:, 0] > 0), given


def completer(rng):
    X = rng.standard_normal((10, 3))
    K = np.array([X @ X.T + np.eye(10), np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))]).round(6)
    K[0, :3], K[0, :, :3] = np.nan, np.nan
    K[1, 8:], K[1, :, 8:] = np.nan, np.nan
    return CVKT().fit(KernelViews.from_dense(K)), listed(K)


def imputer(rng):
    X = (rng.standard_normal((12, 2)) @ rng.standard_normal((2, 4))).round(2)
    X[rng.random(X.shape) < 0.2] = np.nan
    return PMAImputer().fit(X), listed(X)


def main():
    HERE.mkdir(exist_ok=True)
    for make in (classifier, machine, completer, imputer):
        model, given = make(np.random.default_rng(0))
        about = {"given": given, "answers": answers(model, given).tolist()}
        path = absentia.save(model, HERE / f"{make.__name__}.npz", about)
        path.rename(HERE / f"v{models.describe(path)['version']}_{path.name}")


if __name__ == "__main__":
    main()
