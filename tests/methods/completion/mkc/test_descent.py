"""A descent that never rises."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import MKC
from conftest import random_problem
from mkc_problems import OPTIONS, VARIANTS


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("absent", [0.15, 0.5])
def test_the_objective_never_rises(variant, options, absent):
    mkc = MKC(variant, tol=0, max_iter=60, **options).fit(random_problem(absent=absent, seed=3))
    assert mkc.n_iter_ == 60
    assert (np.diff(mkc.objective_) <= 0).all()
    assert mkc.objective_[-1] < 0.9 * mkc.objective_[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_descent_ends_where_nothing_falls_any_more(variant):
    """A certificate of first order: the directional derivative is small along every random direction."""
    kv = random_problem(24, 3, seed=1)
    mkc = MKC(variant, tol=1e-9, max_iter=3000, c3=1e-2).fit(kv)
    model = mkc._model
    at, first = model.evaluate(mkc._point), model.evaluate(model.start())
    size = [np.sqrt(sum(np.vdot(g, g) for g in x.gradient)) for x in (at, first)]
    if variant != "sdp":
        alive = (at.point[0] != 0).any(axis=1, keepdims=True)
        size[0] = np.linalg.norm(at.gradient[0] * alive)
        dead = np.linalg.norm(at.gradient[0] * ~alive, axis=1)
        assert dead.max() <= 1.01 * mkc.c3 / 3  # a column at zero wants to stay there
    assert size[0] < 2e-2 * size[1]


def test_stopping_early_is_said_and_a_callback_can_do_it():
    kv = random_problem()
    with pytest.warns(ConvergenceWarning, match="MKC"):
        MKC(max_iter=1).fit(kv)
    seen = []
    mkc = MKC(callback=lambda progress: seen.append(progress) or len(seen) == 3).fit(kv)
    assert mkc.n_iter_ == 3
    assert not mkc.converged_
    assert [p.objective for p in seen] == list(mkc.objective_)
