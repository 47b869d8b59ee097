"""What the columns of a view look like."""

from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data._views import Views

MANY_ZEROS = 0.2  # share of a table of counts that is zero at least


def looks_like_counts(block: Any) -> bool:
    """Whether a table holds whole numbers, none negative, some above one and many of them zero."""
    stored: Array = block.data if scipy.sparse.issparse(block) else np.asarray(block)
    known = stored[~np.isnan(stored)]
    cells = float(np.prod(block.shape))
    if not known.size or known.min() < 0 or known.max() <= 1 or (known != np.round(known)).any():
        return False
    zeros = cells - stored.size + float((known == 0).sum())
    return bool(zeros >= MANY_ZEROS * cells)


def columns_in_words(views: Views, name: str) -> str:
    """How many columns of a view are numbers and which are categories."""
    levels = list(views.levels(name))
    numbers = views.block(name).shape[1] - len(levels)
    parts = [f"{numbers} numeric"] if numbers or not levels else []
    if levels:
        some = ", ".join(levels[:5]) + (", ..." if len(levels) > 5 else "")
        parts.append(f"{len(levels)} categorical ({some}) -> one-hot")
    return ", ".join(parts)
