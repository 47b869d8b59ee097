"""
Survival with absent views
==========================

Patients in three groups by predicted risk; none of them was learned from. A third lacks each view.
"""

import numpy as np

from absentia import AutoSurvival, Views, missingness
from absentia.plots import SurvivalDisplay

rng = np.random.default_rng(0)
risk = rng.normal(size=240)
views = Views.from_dict(
    {
        name: risk[:, None] * rng.normal(size=(1, 10)) + 2 * rng.normal(size=(240, 10))
        for name in ("rna", "protein")
    }
)
time, censored = rng.exponential(np.exp(-risk)), rng.exponential(2, size=240)
y = np.c_[np.minimum(time, censored), time < censored]
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
model = AutoSurvival().fit(views[:120], y[:120])
SurvivalDisplay.from_estimator(model, views[120:], y[120:])
