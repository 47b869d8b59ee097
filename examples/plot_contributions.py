"""
What each view contributes
==========================

Mean size of what each view adds to the decisions, class by class, over new patients; and for one of
them.
"""

import matplotlib.pyplot as plt

from absentia import AbsentClassifier, Views, datasets
from absentia.plots import ContributionDisplay

cohort = datasets.make_cohort()
labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = Views.from_dict(cohort.tables).align(labels, missing="drop")
model = AbsentClassifier("cvkt", kernel="linear").fit(views[:100], y[:100])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
ContributionDisplay.from_estimator(model, views[100:], ax=left)
ContributionDisplay.from_estimator(model, views[100:], sample=views.ids[104], ax=right)
