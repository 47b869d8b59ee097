"""
Why are views absent?
=====================

Methods that learn from who was measured may live off the reasons. Here the lab measured expression
mostly for large tumours: who lacks it can be predicted from the clinical table, and a filled dot
says that this is no chance.
"""

import numpy as np

from absentia import Views, datasets, inspection
from absentia.plots import AbsenceDisplay

cohort = datasets.make_cohort()
views = Views.from_dict(cohort.tables)
size = views.to_frame("clinical", absent="keep")["size_mm"].to_numpy()
keep = np.ones((len(views), 3), dtype=bool)
keep[:, 0] = ~(size < 24)  # the small ones are not measured
views = views.hide(keep)

why = inspection.absence(views)
AbsenceDisplay.from_absence(why)

# %%
# The same in words:

print(*why.sentences, sep="\n")
