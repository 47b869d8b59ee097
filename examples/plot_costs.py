"""
When some mistakes cost more
============================

To miss an illness costs ten times as much as a false alarm: the class of least expected cost is
predicted. Probabilities stay the same; more patients are called ill.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import AutoClassifier, datasets, missingness

views, y = datasets.load_digit_views(n_samples=300, return_X_y=True)
order = np.random.default_rng(0).permutation(300)  # digits come writer by writer
views, y = views[order].select(["moments", "fourier"]), y[order]
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
y = np.where(y < 3, "ill", "healthy")
train, new = slice(0, 150), slice(150, 300)
prices = [1, 2, 5, 10, 20]
missed, alarms = [], []
model = AutoClassifier().fit(views[train], y[train])
for price in prices:
    model.set_decision({"ill": {"healthy": price}, "healthy": {"ill": 1}})
    said = model.predict(views[new])
    missed.append(np.sum((said == "healthy") & (y[new] == "ill")))
    alarms.append(np.sum((said == "ill") & (y[new] == "healthy")))

figure, ax = plt.subplots(layout="constrained")
ax.plot(prices, missed, "o-", label="ill, called healthy")
ax.plot(prices, alarms, "s--", label="healthy, called ill")
ax.set(
    xscale="log", xlabel="cost of missing an illness, in false alarms", ylabel="mistakes on 150 new samples"
)
ax.set_xticks(prices, prices)
ax.minorticks_off()
ax.legend(frameon=False)
