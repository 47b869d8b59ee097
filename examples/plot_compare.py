"""
Which method is best on these data?
===================================

All methods are judged on the same held-out samples; intervals allow for the overlap of folds.
"""

import absentia
from absentia import Views, datasets
from absentia.plots import ComparisonDisplay

cohort = datasets.make_cohort()
labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = Views.from_dict(cohort.tables).align(labels, missing="drop")
methods = ["average", "linear", "fusion", "complete-cases", "auto"]
compared = absentia.compare(views, y, methods=methods, repeats=1, n_jobs=1)
ComparisonDisplay.from_comparison(compared)

# %%
# What to do is said apart from what is shown.

print(compared.sentence)
