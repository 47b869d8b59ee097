"""All features of all views side by side, as one table, and the scales of its columns."""

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data._views import Views

ROUNDING = 1e-12  # deviations below this share of the mean are rounding of a constant


def joined(X: Views) -> Array:
    """All features side by side, those of the first view first; NaN where absent."""
    parts = []
    for v, name in enumerate(X.names):
        block = X.block(name)
        part = np.full((len(X), block.shape[1]), np.nan)
        part[X.observed[:, v]] = block.toarray() if scipy.sparse.issparse(block) else block
        parts.append(part)
    return np.hstack(parts)


def column_scales(table: Array) -> tuple[Array, Array]:
    """Mean and deviation of every column over the rows that have it; a constant's deviation is 1."""
    seen = ~np.isnan(table)
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, table, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(seen, table - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.where(deviation > ROUNDING * np.abs(mean), deviation, 1.0)
