"""A kernel as coordinates."""

import numpy as np

from absentia.methods.completion.mkc._coordinates import Coordinates
from conftest import random_kernels


def test_coordinates_give_back_the_kernel_and_find_its_samples():
    K = random_kernels(20, 1)[0]
    for center in (True, False):
        own = Coordinates.of(K, center)
        frame, place = own.frame(own.rank), own.place(own.C)
        np.testing.assert_allclose(place.W @ frame.G.T, K, atol=1e-9)
        np.testing.assert_allclose(place.W @ frame.E @ place.W.T + np.diag(place.s), K, atol=1e-9)
        np.testing.assert_allclose(K @ frame.C, frame.G, atol=1e-9)
        np.testing.assert_allclose(own.locate(K), own.C, atol=1e-7)
        np.testing.assert_allclose(own.square(K, K.diagonal()), (own.C**2).sum(1), atol=1e-9)
        np.testing.assert_allclose((own.C**2).sum(1).mean(), 1, rtol=1e-9)
        longer = own.place(own.C, (own.C**2).sum(1) + 1)
        np.testing.assert_allclose(longer.s, own.scale)
