"""What flows: samples, views, who has which."""

from absentia.data._kernelviews import KernelViews, check_kernel
from absentia.data._order import Ordering, hide_some, ordered, ordering
from absentia.data._presence import (
    AbsenceWarning,
    Presence,
    as_ids,
    check_names,
    check_observed,
    check_unique,
    default_names,
    shown,
)
from absentia.data._views import Views

__all__ = [
    "AbsenceWarning",
    "KernelViews",
    "Ordering",
    "Presence",
    "Views",
    "as_ids",
    "check_kernel",
    "check_names",
    "check_observed",
    "check_unique",
    "default_names",
    "hide_some",
    "ordered",
    "ordering",
    "shown",
]
