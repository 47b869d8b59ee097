"""Whole kernels or factors: which of them, why, and how to choose otherwise."""

from typing import Any

import numpy as np

from absentia.core import Array, available_memory, in_bytes, warn

#: Up to so many samples kernels are made whole, if there is memory for them.
WHOLE = 5000
COPIES = 3  # of the kernels: as they come, finished, and what is made of them
SHARE = 2  # whole kernels may take this part of the memory that is free
AFTER_ALL = (
    "if the memory is there after all, set the environment variable ABSENTIA_MEMORY to how much, as in "
    "ABSENTIA_MEMORY=64G"
)

Approx = Any  # "auto", "nystrom", "rff" or None


def decided(approx: Approx, observed: Array, n_landmarks: int) -> str | None:
    """``"nystrom"``, ``"rff"`` or None (whole kernels) for samples x views that are `observed`.

    ``"auto"`` takes whole kernels of up to :data:`WHOLE` samples if they fit into half of the free memory,
    and says so if it does not.  What would not fit at all is refused.
    """
    counts = observed.sum(axis=0).astype(np.float64)
    n, whole, free = len(observed), COPIES * 8 * float((counts**2).sum()), available_memory()
    if approx == "auto":
        if n <= WHOLE and whole <= free / SHARE:
            return None
        price = in_bytes(whole) + (" and hours" if whole <= free / SHARE else "")
        warn(
            f"{n} samples: whole kernels of {len(counts)} view(s) would take about {price}, so each is "
            f"given by {n_landmarks} Nystrom factors, and all that follows is linear in the samples; "
            "more factors come nearer to the kernel (n_landmarks, --factors), and approx=None "
            "(--approx none) makes it whole"
        )
        approx = "nystrom"
    if approx is None and whole > free:
        raise ValueError(
            f"kernels of {n} samples in {len(counts)} view(s) take about {in_bytes(whole)} with what is "
            f"made of them, and {in_bytes(free)} are free: use approx='auto' or 'nystrom' (--approx), "
            f"which gives them by factors, or fewer samples; {AFTER_ALL}"
        )
    thin = COPIES * 8 * float(counts.sum()) * n_landmarks
    if approx is not None and thin > free:
        raise ValueError(
            f"{n_landmarks} factors of {n} samples in {len(counts)} view(s) take about {in_bytes(thin)} "
            f"with what is made of them, and {in_bytes(free)} are free: use fewer (n_landmarks, "
            f"--factors), or fewer samples; {AFTER_ALL}"
        )
    return None if approx is None else str(approx)
