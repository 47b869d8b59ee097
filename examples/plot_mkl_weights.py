"""
Weights of views
================

Multiple kernel learning weighs the views. One of these is pure noise, and gets next to nothing.
"""

import numpy as np

from absentia import MKLClassifier, ViewKernels, Views, datasets
from absentia.plots import WeightDisplay

views, y = datasets.load_digit_views(n_samples=150, return_X_y=True)
tables = {name: views.block(name) for name in ("pixels", "fourier", "profiles")}
tables["noise"] = np.random.default_rng(0).normal(size=(150, 20))
views, y = Views.from_dict(tables), y % 3
model = MKLClassifier(C=1.0).fit(ViewKernels().fit_transform(views), y)
WeightDisplay.from_estimator(model)
