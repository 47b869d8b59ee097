"""What fusion and stacking share."""

import numpy as np
import pytest

from absentia import AbsentClassifier, LateFusion, ViewKernels
from absentia.methods.prediction._perview import softmax
from absentia.testing._tools import digits


def test_exponentials_do_not_overflow():
    np.testing.assert_allclose(
        softmax(np.array([[1000.0, 1000.0], [0.0, np.log(3)]])), [[0.5, 0.5], [0.25, 0.75]]
    )


def test_an_absent_view_says_what_the_frequencies_say():
    views, y = digits(120)
    fitted = LateFusion(AbsentClassifier(None, C=1.0)).fit(views, y % 3)
    own = fitted._arrangement.rows(views, np.arange(120))
    said = fitted._said(own)
    assert said.shape == (6, 120, 3)
    absent = ~own.observed.T
    np.testing.assert_allclose(said[absent], np.tile(fitted._frequent, (absent.sum(), 1)))
    np.testing.assert_array_equal(fitted._speaks(own), own.observed.T)
    np.testing.assert_allclose(fitted._log_odds(said)[absent], 0, atol=1e-12)


def test_every_view_gets_the_kernel_that_is_said_of_it():
    views, y = digits(120)
    first, second = views.names[:2]
    kernel = ViewKernels(per_view={first: "linear", second: "cosine"})
    base = AbsentClassifier(None, kernel=kernel, C=1.0)
    for model in (LateFusion(kernel=kernel), LateFusion(base)):
        parts = model.fit(views, y % 3)._parts
        made = {name: one.estimator._prepared.makes for name, one in parts.items()}
        said = {name: one.per_view or {name: one.kernel} for name, one in made.items()}
        wanted = dict.fromkeys(views.names, "rbf") | {first: "linear", second: "cosine"}
        assert said == {name: {name: kind} for name, kind in wanted.items()}
    typo = ViewKernels(per_view={"frist": "linear"})
    for model in (LateFusion(kernel=typo), LateFusion(AbsentClassifier(None, kernel=typo))):
        with pytest.raises(ValueError, match="per_view names 'frist', but the views are"):
            model.fit(views, y % 3)
