"""
One matrix with gaps
====================

Probabilistic matrix addition: rows and columns have a covariance each, and missing entries are
their expectation given the others. Here two fifths of the entries are missing.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import PMAImputer

rng = np.random.default_rng(0)
rows, columns = np.sin(np.linspace(0, 6, 60))[:, None], np.cos(np.linspace(0, 9, 40))[None]
truth = rows + columns + 0.1 * rng.normal(size=(60, 40))
X = np.where(rng.random(truth.shape) < 0.4, np.nan, truth)
completed = PMAImputer().fit_transform(X)

figure, axes = plt.subplots(1, 3, figsize=(8, 3.6), layout="constrained")
for ax, table, title in zip(axes, (X, completed, truth), ("known", "completed", "truth"), strict=True):
    ax.imshow(table, cmap="viridis", vmin=-2, vmax=2)
    ax.set(title=title, xticks=[], yticks=[])

# %%
# Root mean square error of the missing entries; the noise has 0.1.

missing = np.isnan(X)
print(round(float(np.sqrt(np.mean((completed - truth)[missing] ** 2))), 3))
