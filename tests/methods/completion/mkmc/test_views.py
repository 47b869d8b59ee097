"""Views that see the same samples are merged."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.core._operators import Dense
from absentia.methods.completion.mkmc import _fast as mkmc_fast
from absentia.methods.completion.mkmc import _full as mkmc_full
from absentia.methods.completion.mkmc._views import merge_views
from conftest import random_kernels
from mkmc_problems import MODELS, NOISE, em_step, placed, random_point

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


@pytest.mark.parametrize("model", MODELS)
def test_views_that_see_the_same_samples_can_be_merged(model):
    K = random_kernels(30, 4)
    keep = np.ones((30, 4), bool)
    keep[:8, :2] = False
    keep[20:, 2] = False
    kv = KernelViews.from_dense(K, observed=keep)
    apart = [
        mkmc_fast.Seen(Dense(kv.block(n)), np.flatnonzero(o))
        for n, o in zip(kv.names, kv.observed.T, strict=True)
    ]
    together = merge_views(apart)
    assert sorted(view.weight for view in together) == [1, 1, 2]
    both = [mkmc_fast.VisibleProblem.of(views, 30, 1e-3, "float64") for views in (apart, together)]
    if model == "full":
        point = (np.eye(30) + 0.1,)
        found = [mkmc_full.evaluate(p, point) for p in both]
        ends = [mkmc_full.as_operator(p, em_step(f)).to_dense() for p, f in zip(both, found, strict=True)]
    else:
        point = random_point(30, 3, model)
        found = [mkmc_fast.evaluate(p, NOISE[model], placed(p, point)) for p in both]
        ends = [np.empty((30, 3)), np.empty((30, 3))]
        for end, p, f in zip(ends, both, found, strict=True):
            end[p.order] = f.gradient[0]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-12)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9, atol=1e-10)
