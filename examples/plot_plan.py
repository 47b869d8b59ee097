"""
What to measure next
====================

Which absent view would make which patient's diagnosis surer? The most expected gain for the cost
comes first; expression costs 300, methylation 120, and the budget is 3,000.
"""

from absentia import AutoClassifier, Views, datasets, inspection
from absentia.plots import PlanDisplay

cohort = datasets.make_cohort()
labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = Views.from_dict(cohort.tables).align(labels, missing="drop")
model = AutoClassifier().fit(views, y)
tables = cohort.new | {"expression": cohort.new["expression"].drop(columns="gene_999")}
new = Views.from_dict(tables)
costs = {"expression": 300, "methylation": 120}
plan = inspection.plan(model, new, among=views, costs=costs, budget=3000, n_draws=10)
PlanDisplay.from_plan(plan)
