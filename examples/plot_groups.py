"""
Visits of the same patients
===========================

Four visits of each patient, who is one of two kinds by the toss of a coin. Folds that cut through
patients find what is not there: they recognise the patient. With groups, nothing is left of it; with
so few patients a score of chance may also be well below one half.
"""

import matplotlib.pyplot as plt
import numpy as np

import absentia
from absentia import Views

rng = np.random.default_rng(1)
patient = np.repeat(np.arange(30), 4)
person = rng.normal(size=(30, 10))[patient]
views = Views.from_dict({name: person + 0.3 * rng.normal(size=(120, 10)) for name in ("blood", "scan")})
y = rng.permutation(np.repeat([0, 1], 15))[patient]
scores = {}
for name, groups in (("visits by themselves", None), ("visits of a patient together", patient)):
    compared = absentia.compare(views, y, methods=["linear", "average"], repeats=2, n_jobs=1, groups=groups)
    scores[name] = compared.table()["balanced accuracy"]

figure, ax = plt.subplots(layout="constrained")
for i, (name, column) in enumerate(scores.items()):
    ax.bar(np.arange(len(column)) + 0.4 * i - 0.2, column, 0.38, label=name, hatch="/" * (2 * i))
ax.axhline(0.5, color="0.3", linestyle=":", label="chance")
ax.set_xticks(np.arange(2), scores["visits by themselves"].index)
ax.set(ylabel="balanced accuracy", ylim=(0, 1))
figure.legend(loc="outside upper right", ncols=3, frameon=False)
