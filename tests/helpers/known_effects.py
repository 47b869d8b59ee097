"""Made-up views of which it is known what decides: one feature of one view, the rest beside the point."""

import numpy as np

from absentia import Views


def planted(n=90, seed=0, absent=0.3, n_classes=2):
    """Views `tells` (its feature `key` decides the class), `echo` (tells a little) and `noise`; labels."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    tells = rng.normal(size=(n, 4))
    tells[:, 2] = 3.0 * (y - (n_classes - 1) / 2) + 0.3 * rng.normal(size=n)
    echo = rng.normal(size=(n, 3)) + 0.7 * (y[:, None] == 0)
    tables = {"tells": tells, "echo": echo, "noise": rng.normal(size=(n, 3))}
    columns = {"tells": ["p", "q", "key", "r"], "echo": list("xyz"), "noise": list("uvw")}
    ids = [f"s{i}" for i in range(n)]
    views = Views.from_dict({k: pd.DataFrame(t, ids, columns[k]) for k, t in tables.items()})
    keep = rng.random((n, 3)) >= absent
    keep[~keep.any(axis=1), 1] = True
    return views.hide(keep), np.array(["no", "yes", "maybe"])[y]
