"""A kernel as coordinates."""

import numpy as np

from absentia.methods.completion.mkc._problem import KernelCoordinates
from conftest import random_kernels


def test_coordinates_give_back_the_kernel_and_find_its_samples():
    K = random_kernels(20, 1)[0]
    for center in (True, False):
        own = KernelCoordinates.of(K, center)
        to_basis, to_coordinates = own.to_basis(own.rank), own.to_coordinates(own.C)
        np.testing.assert_allclose(to_coordinates.W @ to_basis.G.T, K, atol=1e-9)
        np.testing.assert_allclose(
            to_coordinates.W @ to_basis.E @ to_coordinates.W.T + np.diag(to_coordinates.s), K, atol=1e-9
        )
        np.testing.assert_allclose(K @ to_basis.C, to_basis.G, atol=1e-9)
        np.testing.assert_allclose(own.locate(K), own.C, atol=1e-7)
        np.testing.assert_allclose(own.square(K, K.diagonal()), (own.C**2).sum(1), atol=1e-9)
        np.testing.assert_allclose((own.C**2).sum(1).mean(), 1, rtol=1e-9)
        longer = own.to_coordinates(own.C, (own.C**2).sum(1) + 1)
        np.testing.assert_allclose(longer.s, own.scale)
