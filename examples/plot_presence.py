"""
Who has which views
===================

Before anything else, look at the absences: an UpSet plot counts samples by the set of views that
they have, and a strip shows the same sample by sample.
"""

from absentia import Views, datasets
from absentia.plots import PatternDisplay, PresenceDisplay

cohort = datasets.make_cohort()
views = Views.from_dict(cohort.tables)
print(views)

# %%
# Seven sets of views; about half of the patients have all three.

labels = cohort.labels["subtype"]
labels = labels[labels.isin(["Basal", "Her2", "LumA"])].drop("P-1013")  # who is in no table
views, y = views.align(labels, missing="drop")
PatternDisplay.from_views(views, y)

# %%
PresenceDisplay.from_views(views, y)
