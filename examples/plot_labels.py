"""
Several labels, some unknown
============================

Partly labelled samples are learned from too, and labels tell of one another. Area under the ROC
curve on new samples, mean over labels, as more labels of the training samples are unknown.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import PMAClassifier, metrics

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 8))
scores = X @ rng.normal(size=(8, 3)) @ rng.normal(size=(3, 6)) + rng.normal(size=(240, 6))
Y = (scores > 0).astype(float)
shares = [0.0, 0.25, 0.5, 0.75]
areas = []
for share in shares:
    known = np.where(rng.random((160, 6)) < share, np.nan, Y[:160])
    model = PMAClassifier().fit(X[:160], known)
    areas.append(metrics.roc_auc(Y[160:], model.decision_function(X[160:])))
figure, ax = plt.subplots(layout="constrained")
ax.plot(shares, areas, "o-")
ax.set(xlabel="share of training labels that is unknown", ylabel="area under the ROC curve", ylim=(0.5, 1))
