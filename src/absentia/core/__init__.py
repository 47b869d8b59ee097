"""Arithmetic and what estimators are made of: knows nothing of views.

Estimators are imported when first asked for: scikit-learn, from which they derive, takes long to import.
"""

from typing import TYPE_CHECKING, Any

from absentia.core._callbacks import unwatched, watch
from absentia.core._chunked import Chunked, ChunkedGram, as_chunks, is_chunked
from absentia.core._completed import Completed, Side, factors_of, has_factors
from absentia.core._determinism import CLEAR, TIE, RandomState, along_path, clear_cut, generator, least
from absentia.core._memory import available_memory, demand_memory, in_bytes, parse_bytes
from absentia.core._operators import Dense, Gram, LowRankPlusDiagonal, Operator, PDOperator, Scaled
from absentia.core._parameters import (
    Fraction,
    NonNegative,
    Parameter,
    Positive,
    PositiveInt,
    Range,
    check_name,
    parameters_of,
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
from absentia.core._threads import at_most, suited_to, usable_threads
from absentia.core._warn import is_ours, warn
from absentia.core.linalg import (
    PSD_TOL,
    Array,
    Conditional,
    NotPositiveDefiniteError,
    alike,
    by_pattern,
    centred,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    cholesky_solve,
    clip_eigenvalues,
    extreme_eigenvalues,
    frozen,
    indefinite,
    inverse,
    inverse_root,
    leading_eigenpairs,
    logdet_divergence,
    rounding,
    shift_eigenvalues,
    squared_distances,
    symmetrize,
    thin_gram,
    whitener,
)
from absentia.core.optimize import (
    Accelerated,
    Callback,
    Descent,
    Evaluated,
    Point,
    Progress,
    Sloped,
    Solution,
    Status,
    Stop,
    accelerate,
    descend,
    dot,
    iterate,
    plus,
    quasi_newton,
    settle,
)

if TYPE_CHECKING:
    from absentia.core._estimator import Estimator, Iterative, estimator


def __getattr__(name: str) -> Any:
    if name not in ("Estimator", "Iterative", "estimator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from absentia.core import _estimator

    return getattr(_estimator, name)
