"""Arithmetic and what estimators are made of: knows nothing of views.

Estimators are imported when first asked for: scikit-learn, from which they derive, takes long to import.
"""

from typing import TYPE_CHECKING, Any

from absentia.core._completed import (
    Completed,
    CompletedSide,
    center_operator,
    get_factor_rows,
    get_factors,
    has_factors,
    measure_spread,
    thin_operator,
)
from absentia.core._operators import Dense, Gram, LowRankPlusDiagonal, Operator, PDOperator, Scaled, project
from absentia.core._parameters import (
    Fraction,
    NonNegative,
    Parameter,
    Positive,
    PositiveInt,
    RandomState,
    Range,
    check_name,
    get_parameters,
    list_some,
    make_generator,
)
from absentia.core._resources import (
    available_memory,
    check_memory,
    count_threads,
    format_bytes,
    format_seconds,
    limit_threads,
    limit_threads_if_small,
    parse_bytes,
)
from absentia.core._serialization import (
    Serialized,
    copy_with,
    deserialize,
    raw_bytes,
    serializable,
    serialize,
)
from absentia.core._warn import is_absentia_warning, warn
from absentia.core.linalg import Array
from absentia.core.optimize import DISTINCT_RTOL, TIE_RTOL, argmin_key, choose_rank, evaluate_path

if TYPE_CHECKING:
    from absentia.core._estimator import (
        Estimator,
        Iterative,
        clone_without_callbacks,
        estimator,
        make_callback,
    )

_OF_ESTIMATORS = ("Estimator", "Iterative", "clone_without_callbacks", "estimator", "make_callback")


def __getattr__(name: str) -> Any:
    if name not in _OF_ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from absentia.core import _estimator

    return getattr(_estimator, name)
