"""The fillers in forms that are quick and exact, for tests of what they share."""

import numpy as np

from absentia import EMFill, KNNFill, SVTFill

FILLERS = {
    "knn": KNNFill(5),
    "svt": SVTFill(0.1, tol=1e-10, max_iter=2000),
    "em": EMFill(4, ridge=0.1, tol=1e-10, max_iter=2000),
}


def dense(kv):
    return np.nan_to_num(kv.to_dense()), kv.observed
