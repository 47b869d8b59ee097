"""
Learn without completing
========================

Absent multiple kernel learning gives each sample the margin of the views that it has, and fills in
nothing. Accuracy on held-out samples as more cells are hidden, beside zeros for what is absent.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import AbsentMKLClassifier, KernelLogistic, MKLClassifier, ViewKernels, datasets, missingness

views, y = datasets.load_digit_views(n_samples=240, return_X_y=True)
order = np.random.default_rng(0).permutation(240)  # digits come writer by writer
views, y = views[order].select(["pixels", "fourier", "profiles", "gradients"]), y[order] < 5
shares = [0.0, 0.2, 0.4, 0.6]
machines = {
    "zeros, weighted (MKLClassifier)": MKLClassifier(C=10.0),
    "nothing filled in (AbsentMKLClassifier)": AbsentMKLClassifier(C=10.0),
    "logistic regression on the average": KernelLogistic(),
}
train, test = np.arange(120), np.arange(120, 240)
figure, ax = plt.subplots(layout="constrained")
for (name, machine), marker in zip(machines.items(), "osD", strict=True):
    scores = []
    for share in shares:
        hidden = views.hide(missingness.mcar(views, share, random_state=0)) if share else views
        kernels = ViewKernels()
        machine.fit(kernels.fit_transform(hidden[train]), y[train])
        scores.append(machine.score(kernels.transform(hidden[test]), y[test]))
    ax.plot(shares, scores, marker=marker, label=name)
ax.set(xlabel="share of cells that is hidden", ylabel="accuracy on new samples")
ax.legend(frameon=False)
