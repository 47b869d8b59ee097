"""What is given of a model instead of estimated, in the units of the matrix: column kernel, amplitude."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from absentia.core import Array, NotPositiveDefiniteError, cholesky, symmetrize
from absentia.methods.matrix._checks import read_kernel
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._model import Addition

#: Least eigenvalue of a column kernel that is given, in units of the columns' standard deviations; above
#: it, the kernel is used as it is.
FLOOR = 1e-10


def read_column_kernel(K: Any, m: int, names: Array | None = None) -> Array | None:
    """A column kernel as given; eigenvalues below :data:`FLOOR` are lifted to that, whatever the units.

    None if it is a word: then it is estimated.
    """
    if isinstance(K, str):
        return None
    K = read_kernel(K, "col_kernel", m, names, ", or 'estimate'")
    variances = np.diagonal(K)
    if not variances.any():
        return K  # it has no units, and is refused where it is used
    unit = np.sqrt(np.where(variances > 0, variances, variances.mean()))
    both = np.multiply.outer(unit, unit)
    try:
        cholesky(K / both - FLOOR * np.eye(m))
        return K
    except NotPositiveDefiniteError:
        values, V = scipy.linalg.eigh(K / both)
    return symmetrize((V * np.maximum(values, FLOOR)) @ V.T) * both


def fixed_amplitude(amplitude: float | str, both_given: bool) -> float | None:
    """The number the row kernel is multiplied by; None if it is estimated."""
    if isinstance(amplitude, str):
        return 1.0 if amplitude == "auto" and both_given else None
    return float(amplitude)


@dataclass(frozen=True)
class Given:
    """The column kernel N and the amplitude, in the units of the matrix; None where they are estimated.

    The model is of the matrix divided by `scale`; what is given is divided alike, so that it means the
    same.
    """

    N: Array | None
    scale: Array
    amplitude: float | None

    def permuted(self, order: Array) -> Given:
        N = None if self.N is None else self.N[np.ix_(order, order)]
        return Given(N, self.scale[order], self.amplitude)

    def start(self, model: Addition, what: What) -> Addition:
        """`model` with what is given put in."""
        if self.N is not None:
            model = replace(model, N=self.N / np.multiply.outer(self.scale, self.scale))
        if what.C == "free":
            return model
        # one amplitude for all columns in the units of the matrix
        unit = np.diag(self.scale**-2.0)
        if self.amplitude is not None:
            return replace(model, C=self.amplitude * unit)
        if self.N is not None:
            return replace(model, C=unit * float(np.trace(model.C) / np.trace(unit)))
        return model
