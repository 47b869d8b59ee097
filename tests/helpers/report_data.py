"""Stories for the pages of the report."""

import base64
import io

import numpy as np
import pytest

from absentia.app.report.classification import ClassificationReport
from absentia.app.report.completion import CompletionReport
from absentia.data import KernelViews, Presence

PIL_Image = pytest.importorskip("PIL.Image")


def hide(kernels, observed):
    before = kernels.copy()
    for v in range(len(kernels)):
        before[v][~observed[:, v]] = np.nan
        before[v][:, ~observed[:, v]] = np.nan
    return before


def views_of(kernels, names, observed=None):
    """Arrays (views, n, n) as kernels, over everybody or those observed."""
    n = kernels.shape[1]
    observed = np.ones((n, len(names)), dtype=bool) if observed is None else observed
    blocks = {
        name: K if seen.all() else K[np.ix_(seen, seen)]
        for name, K, seen in zip(names, kernels, observed.T, strict=True)
    }
    return KernelViews.within(Presence(np.arange(n), tuple(names), observed), blocks)


def make_story(n=24, n_views=3, rate=0.3, seed=0, **changes):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_views, n, 4))
    truth = X @ X.transpose(0, 2, 1)
    observed = rng.random((n, n_views)) > rate
    before = hide(truth, observed)
    values = {
        "title": "A title",
        "summary": "A summary.",
        "method": "method 0",
        "before": before,
        "after": np.where(np.isnan(before), 0.1, before),
        "facts": {"seed": "0"},
    }
    names = changes.pop("names", [f"view {v}" for v in range(n_views)])
    observed = changes.pop("observed", observed)
    values |= changes
    values["before"] = views_of(values["before"], names, observed)
    values["after"] = views_of(values["after"], names)
    return CompletionReport(**values)


def decode(uri):
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"), validate=True)
    image = PIL_Image.open(io.BytesIO(data))
    image.load()
    return image


def classification_story(n=120, n_views=3, n_classes=3, seed=0, own=0.9, averaged=0.8, **changes):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    observed = rng.random((n, n_views)) > 0.3
    observed[~observed.any(axis=1), 0] = True

    def guess(share):
        return np.where(rng.random(n) < share, truth, (truth + 1) % n_classes)

    values = {
        "title": "A title",
        "summary": "A summary.",
        "names": [f"view {v}" for v in range(n_views)],
        "observed": observed,
        "classes": [f"class {c}" for c in range(n_classes)],
        "weights": rng.random((1 if n_classes == 2 else n_classes, n_views)),
        "truth": truth,
        "predictions": {"the method": guess(own), "averaged": guess(averaged), "frequent": 0 * truth},
        "probabilities": rng.dirichlet(np.ones(n_classes), n),
        "n_all": n,
        "facts": {"seed": "0"},
    }
    return ClassificationReport(**(values | changes))
