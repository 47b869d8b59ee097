"""
Numbers from incomplete views
=============================

Predicted against true values of held-out samples, by whether they have every view.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import AutoRegressor, Views, missingness

rng = np.random.default_rng(0)
hidden = rng.normal(size=(300, 3))
tables = {name: hidden @ rng.normal(size=(3, 15)) + rng.normal(size=(300, 15)) for name in ("a", "b", "c")}
y = hidden[:, 0] + np.abs(hidden[:, 1]) + 0.3 * rng.normal(size=300)
views = Views.from_dict(tables)
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
model = AutoRegressor().fit(views[:150], y[:150])
predicted, truth, whole = model.predict(views[150:]), y[150:], views[150:].observed.all(axis=1)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(truth[whole], predicted[whole], s=18, label="every view")
ax.scatter(
    truth[~whole], predicted[~whole], s=22, facecolors="none", edgecolors="C1", label="some view absent"
)
ax.axline((0, 0), slope=1, color="0.6", linestyle=":")
ax.set(xlabel="true", ylabel="predicted", aspect="equal")
ax.legend(frameon=False)
print(f"R2 {model.score(views[150:], y[150:]):.2f}")
