"""
Sets of classes that hold by pattern
====================================

A set of classes is promised to contain the right one for 90 % of the samples *with the same views*.
What was reached on new samples, with 95 % intervals.
"""

import numpy as np

from absentia import ConformalSets, EarlyFusionClassifier, datasets, missingness
from absentia.plots import CoverageDisplay

views, y = datasets.load_digit_views(n_samples=500, return_X_y=True)
order = np.random.default_rng(0).permutation(500)  # digits come writer by writer
views, y = views[order].select(["pixels", "fourier", "moments"]), y[order]
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
sets = ConformalSets(EarlyFusionClassifier("linear"), coverage=0.9).fit(views[:250], y[:250])
CoverageDisplay.from_estimator(sets, views[250:], y[250:])
