r"""The rows of G given their own entries, and the paper's alternation to the mode.

The alternation is between F (eq. 16) and the missing entries (eq. 17).  The joint density is Gaussian, so
for fixed kernels the mode is the mean, and conjugate gradients get there sooner.

Departures from the paper: eq. 17 runs along the row, as the model has it (the paper's indices mix rows and
columns), and all missing entries of a row are updated at once.
"""

from dataclasses import dataclass

import numpy as np

from absentia.core import Array, Conditional, Solution, Stop, by_pattern, iterate
from absentia.methods.matrix._model import Addition


@dataclass(frozen=True)
class RowsGiven:
    """Missing given seen columns under N(0, N), for the rows that miss the same columns."""

    rows: Array
    gone: Array
    seen: Array
    B: Array  # the regression of the missing on the seen
    root: Array  # e' root has the missing columns' covariance


def conditionals(model: Addition, observed: Array) -> list[RowsGiven]:
    Q = model.V @ model.V.T  # N^-1
    found = []
    for missing, rows in by_pattern(~observed):
        seen, gone = np.flatnonzero(~missing), np.flatnonzero(missing)
        if len(gone):
            given = Conditional.by_precision(Q, seen, gone)
            found.append(RowsGiven(rows, gone, seen, given.B, np.linalg.inv(given.L)))
    return found


def missing_given_rows(
    X: Array, F: Array, given: list[RowsGiven], rng: np.random.Generator | None = None
) -> Array:
    """Missing entries given F and the rest of their row (eq. 15 and 17, put right), for X (n, k, m).

    Their expectation, or a draw if there is an `rng`.
    """
    X = X.copy()
    for part in given:
        G, F_part = X[part.rows], F[part.rows]
        new = F_part[:, :, part.gone] + (G - F_part)[:, :, part.seen] @ part.B
        if rng is not None:
            new += rng.standard_normal(new.shape) @ part.root
        G[:, :, part.gone] = new
        X[part.rows] = G
    return X


def mode(
    model: Addition, X: Array, observed: Array, *, tol: float = 1e-10, max_iter: int = 5000
) -> Solution[Array]:
    """The paper's alternation: F by the Sylvester equation, missing entries given F, until it settles.

    The objective is minus the log-density of the completed X up to a constant, ``1/2 x'Px``.  The state
    is the completed matrix, (n, 1, m).
    """
    given = conditionals(model, observed)
    filled = np.where(observed, X, 0.0)[:, None, :]
    return iterate(
        lambda Z: missing_given_rows(Z, model.row_part(Z), given),
        lambda Z: 0.5 * float((Z * model.solve(Z)).sum()),
        filled,
        stop=Stop(tol),
        max_iter=max_iter,
    )
