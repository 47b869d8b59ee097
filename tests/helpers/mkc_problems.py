"""Problems and points of multi-view kernel completion, for its tests."""

import numpy as np

from absentia.methods.completion.mkc._problem import KernelCoordinates, MKCProblem
from absentia.methods.completion.mkc._variants import Approximate, FreeKernels, Heterogeneous
from conftest import random_problem

VARIANTS = ["ht", "app", "sdp"]


MODELS = {"ht": Heterogeneous, "app": Approximate, "sdp": FreeKernels}


OPTIONS = [{}, {"center": False}, {"between": "observed"}, {"center": False, "between": "observed"}]


def small_problem(n=14, n_views=3, seed=0, center=True, **options):
    kv = random_problem(n, n_views, seed=seed)
    views = [KernelCoordinates.of(kv.block(name), center) for name in kv.names]
    return MKCProblem([view.C for view in views], kv.observed, 1.3, 0.7, 0.01, **options)


def random_point(model, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(x + 0.1 * rng.standard_normal(x.shape) * (x != 0) for x in model.start())


def halves(kv, n_train=45):
    train, new = np.arange(n_train), np.arange(n_train, len(kv))
    return kv[np.ix_(train, train)], kv[np.ix_(new, train)]
