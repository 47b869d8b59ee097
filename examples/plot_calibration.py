"""
Do probabilities hold, for those who lack views too?
====================================================

Of all cases in which a class was given a probability of 0.7, it should be the right one in 70 %.
Curves are by the views that samples have; bars are 95 % intervals.
"""

import numpy as np

from absentia import AutoClassifier, datasets, missingness
from absentia.plots import CalibrationDisplay

views, y = datasets.load_digit_views(n_samples=400, return_X_y=True)
order = np.random.default_rng(0).permutation(400)  # digits come writer by writer
views, y = views[order].select(["fourier", "moments"]), y[order] % 3
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
model = AutoClassifier().fit(views[:200], y[:200])
CalibrationDisplay.from_estimator(model, views[200:], y[200:])
