"""
What the default is made of
===========================

``AutoClassifier`` averages several kinds of logistic regression. Each is weighted by what it says
of training samples that it has not seen, which is known in closed form.
"""

from absentia import AutoClassifier, Views, datasets
from absentia.plots import WeightDisplay

cohort = datasets.make_cohort()
labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = Views.from_dict(cohort.tables).align(labels, missing="drop")
model = AutoClassifier().fit(views, y)
WeightDisplay.from_estimator(model)

# %%
print(model.sentence_)
