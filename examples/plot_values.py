"""
Values of absent views against the truth
========================================

The features of absent views, told from the other views. Here the truth is known: a quarter of the
cells was hidden on purpose. Told values are expectations, and so less spread than the truth.
"""

from absentia import complete_values, datasets, missingness
from absentia.plots import ValuesDisplay

truth = datasets.load_digit_views(n_samples=150).views.select(["pixels", "fourier", "profiles"])
views = truth.hide(missingness.mcar(truth, 0.25, random_state=0))
completed = complete_values(views, keep="all")
ValuesDisplay.from_completed(completed, truth)

# %%
# Without the truth, the table says what came back of observed samples that were hidden for the purpose.

completed.table().groupby("view")[["correlation", "relative_error", "trusted"]].mean().round(2)
