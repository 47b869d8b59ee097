"""Problems and points of mutual kernel matrix completion, for its tests."""

import numpy as np

from absentia import MKMC
from absentia.methods.completion.mkmc import _low_rank
from absentia.methods.completion.mkmc._low_rank import ViewKernel
from absentia.methods.completion.mkmc._selection import _leading_pairs, _start_from_leading

MODELS = ["full", "pca", "fa"]


NOISE = {"pca": _low_rank.equal_noise, "fa": _low_rank.own_noise}


def problem_of(kv, eps=1e-3, dtype="float64"):
    views = [
        ViewKernel(kv.operator(n).astype(dtype), np.flatnonzero(o))
        for n, o in zip(kv.names, kv.observed.T, strict=True)
    ]
    return _low_rank.VisibleProblem.of(views, len(kv), eps, dtype)


def low_rank_start(problem, noise, q, rng):
    return _start_from_leading(problem, noise, _leading_pairs(problem, q, rng), q)


def random_point(n, q, model, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, q)), rng.normal(size=1 if model == "pca" else n)


def placed(problem, point):
    """A point given in the samples' own order, in the problem's."""
    return tuple(x if len(x) == 1 else x[problem.order] for x in point)


def em_step(found):
    """Where the preconditioned gradient leads: the EM step."""
    step = found.precondition(tuple(map(np.copy, found.gradient)))
    return tuple(x - y for x, y in zip(found.point, step, strict=True))


def fixed(model, iterations=50, **options):
    options = {"algorithm": "paper", **options}
    return MKMC(model, n_components=6, tol=0, max_iter=iterations, **options)
