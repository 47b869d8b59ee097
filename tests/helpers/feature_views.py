"""Small views of features, with cells missing."""

import numpy as np

from absentia import Views, missingness


def two_views(n=12, seed=0):
    rng = np.random.default_rng(seed)
    tables = {
        name: rng.uniform(0.1, 1, (n, d)) * (rng.random((n, d)) > 0.2) for name, d in (("a", 5), ("b", 4))
    }
    views = Views.from_dict(tables)
    return views.hide(missingness.mcar(views, 0.25, random_state=seed))
