"""Six different views that all tell digits apart."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import CombineKernels, ViewKernels, datasets


def test_digits_have_six_different_complete_views():
    bunch = datasets.load_digit_views()
    widths = {name: bunch.views.block(name).shape[1] for name in bunch.views.names}
    assert widths == {
        "pixels": 64,
        "fourier": 34,
        "profiles": 32,
        "projections": 30,
        "gradients": 32,
        "moments": 9,
    }
    assert bunch.views.observed.all()
    assert len(bunch.views) == len(bunch.target) == len(bunch.images) == 1797


def test_every_digit_view_tells_digits_apart():
    views, y = datasets.load_digit_views(n_samples=300, return_X_y=True)
    assert np.bincount(y).tolist() == [30] * 10
    for name in views.names:
        pipeline = make_pipeline(ViewKernels(), CombineKernels(), SVC(kernel="precomputed"))
        assert cross_val_score(pipeline, views.select([name]), y).mean() > 0.7, name


def test_digit_views_by_hand():
    image = np.zeros((1, 8, 8))
    image[0, 2, 3:5] = 1.0
    np.testing.assert_array_equal(datasets._profiles(image)[0, :8] * 8, [8, 8, 3, 8, 8, 8, 8, 8])
    np.testing.assert_array_equal(datasets._profiles(image)[0, 16:24] * 8, [8, 8, 8, 2, 2, 8, 8, 8])
    assert datasets._projections(image)[0, :16].tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(datasets._moments(image)[0, :5], [2, -1.5, 0, 0, 0.25])
    assert datasets._fourier(image)[0, 0] == pytest.approx(2.0)  # zero frequency: all the ink


def test_too_many_digits_are_refused():
    with pytest.raises(ValueError, match="n_samples=2000; there are 1797"):
        datasets.load_digit_views(n_samples=2000)
