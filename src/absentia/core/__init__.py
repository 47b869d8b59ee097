"""Arithmetic and what estimators are made of: knows nothing of views.

Estimators are imported when first asked for: scikit-learn, from which they derive, takes long to import.
"""

from typing import TYPE_CHECKING, Any

from absentia.core._callbacks import clone_without_callbacks, make_callback
from absentia.core._chunked import Chunked, ChunkedGram, as_dask, is_chunked
from absentia.core._completed import Completed, CompletedSide, get_factors, has_factors
from absentia.core._determinism import (
    DISTINCT_RTOL,
    TIE_RTOL,
    RandomState,
    argmin_key,
    choose_rank,
    evaluate_path,
    make_generator,
)
from absentia.core._memory import available_memory, check_memory, format_bytes, parse_bytes
from absentia.core._operators import Dense, Gram, LowRankPlusDiagonal, Operator, PDOperator, Scaled
from absentia.core._parameters import (
    Fraction,
    NonNegative,
    Parameter,
    Positive,
    PositiveInt,
    Range,
    check_name,
    get_parameters,
)
from absentia.core._projections import project
from absentia.core._serialization import (
    Serialized,
    copy_with,
    deserialize,
    raw_bytes,
    serializable,
    serializable_types,
    serialize,
)
from absentia.core._threads import count_threads, limit_threads, limit_threads_if_small
from absentia.core._warn import is_absentia_warning, warn
from absentia.core.linalg import Array

if TYPE_CHECKING:
    from absentia.core._estimator import Estimator, Iterative, estimator


def __getattr__(name: str) -> Any:
    if name not in ("Estimator", "Iterative", "estimator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from absentia.core import _estimator

    return getattr(_estimator, name)
