"""Made-up views are what their formula says."""

import numpy as np
import pytest

from absentia import datasets


def test_make_multiview_is_what_its_formula_says():
    data = datasets.make_multiview(40, 2, n_features=[5, 7], noise=0.0, private_scale=0.3, random_state=1)
    for v, name in enumerate(data.views.names):
        A, B = data.loadings[v]
        wanted = data.shared @ A + 0.3 * data.private[v] @ B
        np.testing.assert_allclose(data.views.block(name), wanted)
    assert data.views.block("view1").shape == (40, 7)
    assert data.kernels.shape == (40, 40)


def test_make_multiview_classes_are_equal_shares_of_the_first_factor():
    data = datasets.make_multiview(90, 2, n_classes=3, random_state=0)
    assert np.bincount(data.target).tolist() == [30, 30, 30]
    assert data.shared[data.target == 0, 0].max() < data.shared[data.target == 1, 0].min()


def test_make_multiview_is_reproducible_and_its_kernel_can_be_chosen():
    one, two = (datasets.make_multiview(20, 2, random_state=3, kernel="linear") for _ in range(2))
    np.testing.assert_array_equal(one.kernels.to_dense(), two.kernels.to_dense())
    X = one.views.block("view0")
    X = (X - X.mean(0)) / X.std(0)
    K = X @ X.T
    np.testing.assert_allclose(
        one.kernels.block("view0"), K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    )
    with pytest.raises(ValueError, match="3 widths for 2 views"):
        datasets.make_multiview(20, 2, n_features=[1, 2, 3])
