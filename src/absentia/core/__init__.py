"""Arithmetic and what estimators are made of: knows nothing of views."""

from absentia.core._callbacks import unwatched, watch
from absentia.core._choices import CLEAR, TIE, along_path, check_name, clear_cut, least
from absentia.core._chunked import Chunked, ChunkedGram, as_chunks, is_chunked
from absentia.core._completed import Completed, Side
from absentia.core._components import Components, components, spread
from absentia.core._descent import (
    Accelerated,
    Descent,
    Evaluated,
    Point,
    Sloped,
    accelerate,
    descend,
    dot,
    plus,
    quasi_newton,
    settle,
)
from absentia.core._describing import in_bytes
from absentia.core._estimator import Estimator, Iterative, estimator
from absentia.core._factoring import Factors, factors_of, has_factors
from absentia.core._gaussian import Conditional
from absentia.core._index import by_pattern, inverse
from absentia.core._linalg import (
    PSD_TOL,
    Array,
    NotPositiveDefiniteError,
    alike,
    centred,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    cholesky_solve,
    clip_eigenvalues,
    extreme_eigenvalues,
    frozen,
    indefinite,
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
from absentia.core._loop import Callback, Progress, Solution, Status, Stop, iterate
from absentia.core._memory import available_memory, demand_memory, parse_bytes
from absentia.core._operators import Dense, Gram, LowRankPlusDiagonal, Operator, PDOperator, Scaled
from absentia.core._parameters import (
    Fraction,
    NonNegative,
    Parameter,
    Positive,
    PositiveInt,
    Range,
    parameters_of,
)
from absentia.core._projections import project
from absentia.core._random import RandomState, generator
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
