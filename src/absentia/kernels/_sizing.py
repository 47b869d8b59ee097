"""Whole kernels or factors: which of them, why, and how to choose otherwise."""

import numpy as np

from absentia.core import Array, available_memory, demand_memory, in_bytes, warn
from absentia.data import MANY

#: Up to so many samples kernels are made whole, if there is memory for them.
WHOLE = MANY
COPIES = 3  # of the kernels: as they come, finished, and what is made of them
SHARE = 2  # whole kernels may take this part of the memory that is free


def decided(approx: str | None, observed: Array, n_landmarks: int) -> str | None:
    """``"nystrom"``, ``"rff"`` or None (whole kernels) for samples x views that are `observed`.

    ``"auto"`` takes whole kernels of up to :data:`WHOLE` samples if they fit into half of the free memory,
    and says so if it does not.  What would not fit at all is refused.
    """
    counts = observed.sum(axis=0).astype(np.float64)
    n, whole, free = len(observed), COPIES * 8 * float((counts**2).sum()), available_memory()
    if approx == "auto":
        if n <= WHOLE and whole <= free / SHARE:
            return None
        price = in_bytes(whole) + (" and long" if whole <= free / SHARE else "")
        warn(
            f"{n} samples: whole kernels of {len(counts)} view(s) would take about {price}, so each is "
            f"given by {n_landmarks} Nystrom factors, and all that follows is linear in the samples; "
            "more factors come nearer to the kernel (n_landmarks, --factors), and approx=None "
            "(--approx none) makes it whole"
        )
        approx = "nystrom"
    who = f"of {n} samples in {len(counts)} view(s)"
    if approx is None:
        advice = "use approx='auto' or 'nystrom' (--approx), which gives them by factors, or fewer samples"
        demand_memory(whole, f"kernels {who}", advice)
        return None
    thin = COPIES * 8 * float(counts.sum()) * n_landmarks
    advice = "use fewer (n_landmarks, --factors), or fewer samples"
    demand_memory(thin, f"{n_landmarks} factors {who}", advice)
    return str(approx)
