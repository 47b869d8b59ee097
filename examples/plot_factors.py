"""
Kernels of many samples, by factors
===================================

A kernel of n samples is n x n numbers. Nystrom factors stand in for it: the relative error against
their number.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import ViewKernels, datasets

views = datasets.load_digit_views(n_samples=800).views.select(["pixels"])
exact = ViewKernels(approx=None).fit_transform(views).to_dense()[0]
counts = [10, 25, 50, 100, 200, 400]
errors = []
for count in counts:
    factors = ViewKernels(approx="nystrom", n_landmarks=count).fit_transform(views)
    errors.append(np.linalg.norm(factors.to_dense()[0] - exact) / np.linalg.norm(exact))
figure, ax = plt.subplots(layout="constrained")
ax.loglog(counts, errors, "o-")
ax.set(xlabel="landmarks (800 samples)", ylabel="relative error of the kernel")
ax.set_xticks(counts, counts)
ax.set_yticks([0.05, 0.1, 0.2, 0.5, 1], [0.05, 0.1, 0.2, 0.5, 1])
ax.minorticks_off()
