"""
Who has which views
===================

Before anything else, look at the absences: an UpSet plot counts samples by the set of views that they
have, and a strip shows the same sample by sample.
"""

from absentia import Views, datasets
from absentia.plots import PatternDisplay, PresenceDisplay

cohort = datasets.make_cohort()
views = Views.from_dict(cohort.tables)
print(views)

# %%
# Seven sets of views; about half of the patients have all three.

labels = views.align(cohort.labels["subtype"], missing="keep")
known = [label in ("Basal", "Her2", "LumA") for label in labels]
PatternDisplay.from_views(views[known], labels[known])

# %%
PresenceDisplay.from_views(views[known], labels[known])
