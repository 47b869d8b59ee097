"""What the columns of a view look like."""

from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data._views import Views

FEWEST_COUNTS = 5  # columns of a table of counts
MANY_ZEROS = 0.2  # share of a table of counts that is zero at least


def looks_like_counts(block: Any) -> bool:
    """Whether a table holds whole numbers, none negative, some above one and many of them zero."""
    stored: Array = block.data if scipy.sparse.issparse(block) else np.asarray(block)
    known = stored[~np.isnan(stored)]
    cells = float(np.prod(block.shape))
    if block.shape[1] < FEWEST_COUNTS or not known.size:
        return False
    if known.min() < 0 or known.max() <= 1 or (known != np.round(known)).any():
        return False
    zeros = cells - stored.size + float((known == 0).sum())
    return bool(zeros >= MANY_ZEROS * cells)


def numeric(views: Views, name: str) -> Any:
    """The columns of a view that are no categories."""
    levels, features = views.levels(name), views.features(name)
    if not levels or features is None:
        return views.block(name)
    return views.block(name)[:, [k for k, column in enumerate(features.tolist()) if column not in levels]]


def columns_in_words(views: Views, name: str) -> str:
    """How many columns of a view are numbers and which are categories."""
    levels = list(views.levels(name))
    numbers = views.block(name).shape[1] - len(levels)
    parts = [f"{numbers} numeric"] if numbers or not levels else []
    if levels:
        some = ", ".join(levels[:5]) + (", ..." if len(levels) > 5 else "")
        parts.append(f"{len(levels)} categorical ({some}) -> one-hot")
    return ", ".join(parts)
