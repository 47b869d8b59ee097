"""
Would more samples help?
========================

Scores of models that learned from parts of the samples, and a power law through them, drawn on to
twice as many samples as there are.
"""

import absentia
from absentia import datasets, missingness
from absentia.plots import LearningCurveDisplay

views, y = datasets.load_digit_views(n_samples=180, return_X_y=True)
views = views.select(["fourier", "moments"])
views = views.hide(missingness.mcar(views, 0.3, random_state=0))
compared = absentia.compare(
    views, y % 3, methods=["average", "linear"], repeats=1, cv=4, n_jobs=1, learning_curve=True
)
LearningCurveDisplay.from_comparison(compared)

# %%
print(*compared.learning_curve().sentences, sep="\n")
