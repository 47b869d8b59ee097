"""
Methods over many data sets
===========================

Mean ranks over data sets; a bar joins methods that Nemenyi's test does not tell apart. The scores
here are drawn at random, with means that differ. (Not for the folds of one data set, which are not
independent.)
"""

import numpy as np
import pandas as pd

from absentia.plots import CriticalDifferenceDisplay

rng = np.random.default_rng(0)
means = {"zero fill": 0.70, "mean fill": 0.72, "nearest": 0.73, "MKMC": 0.76, "CVKT": 0.77, "default": 0.79}
difficulty = rng.normal(0, 0.1, size=(25, 1))
scores = pd.DataFrame(
    list(means.values()) + difficulty + rng.normal(0, 0.04, size=(25, 6)), columns=list(means)
)
CriticalDifferenceDisplay.from_scores(scores)
