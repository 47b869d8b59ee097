"""
Samples as points, whatever views they have
===========================================

Kernel principal components of the completed kernels: a sample that lacks views (hollow) lies where
the others of its class are.
"""

from absentia import datasets, missingness
from absentia.plots import EmbeddingDisplay

views, y = datasets.load_digit_views(n_samples=200, return_X_y=True)
few = y < 4
views, y = views[few].select(["pixels", "fourier", "profiles"]), y[few]
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
EmbeddingDisplay.from_views(views, y)
