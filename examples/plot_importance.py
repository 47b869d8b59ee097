"""
Which features count
====================

The weights of standardised features in a linear model, the largest first, coloured by view.
"""

from absentia import AbsentClassifier, Views, datasets
from absentia.plots import ImportanceDisplay

cohort = datasets.make_cohort()
labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = Views.from_dict(cohort.tables).align(labels, missing="drop")
model = AbsentClassifier("cvkt", kernel="linear").fit(views, y)
ImportanceDisplay.from_estimator(model, n=15)
