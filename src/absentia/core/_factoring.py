"""Kernels that are given by factors: ``Phi Phi' + diag(own)``, however they are held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from absentia.core._completed import Completed
from absentia.core._linalg import Array, thin_gram
from absentia.core._operators import Gram, LowRankPlusDiagonal, Operator, Scaled

NOTHING = 1e-10  # eigenvalues below this part of the largest are rounding


class Factors(NamedTuple):
    """A square kernel is ``Phi Phi' + diag(own)``; None: nothing is added to the diagonal."""

    Phi: Array
    own: Array | None = None


def has_factors(operator: Operator) -> bool:
    """Whether a square kernel can be written as thin factors plus a diagonal.

    Examples
    --------
    >>> has_factors(Scaled(Gram(np.ones((3, 1))), 2.0))
    True
    """
    if isinstance(operator, Scaled):
        return operator.factor >= 0 and has_factors(operator.operator)
    if isinstance(operator, Completed):
        return operator.rows is operator.columns and _is_square_gram(operator.Q)
    return isinstance(operator, LowRankPlusDiagonal) or _is_square_gram(operator)


def factors_of(operator: Operator) -> Factors:
    """The factors of a kernel that has them (:func:`has_factors`); arrays are not copied if they exist."""
    if isinstance(operator, Scaled):
        Phi, own = factors_of(operator.operator)
        root = Phi.dtype.type(np.sqrt(operator.factor))
        return Factors(Phi * root, None if own is None else own * operator.factor)
    if isinstance(operator, LowRankPlusDiagonal):
        return Factors(operator.W, operator.d)
    if isinstance(operator, Completed):
        return _of_completed(operator)
    assert isinstance(operator, Gram)
    return Factors(operator.left)


def _is_square_gram(operator: Operator) -> bool:
    return isinstance(operator, Gram) and operator.left is operator.right


def _of_completed(K: Completed) -> Factors:
    """Filled samples lie along axes ``Phi' C``, which ``G = Phi Phi' C`` tells, and beyond them.

    What `E` has more than these axes is of the filled samples alone.  Good to some 1e-8 of the largest
    value where factors are nearly dependent.
    """
    assert isinstance(K.Q, Gram)
    side, Phi = K.rows, K.Q.left
    if not len(side.filled):
        return Factors(Phi)
    values, vectors = np.linalg.eigh(thin_gram(Phi, Phi))
    kept = values > NOTHING * values[-1:].max(initial=0.0)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    axes = inverse @ thin_gram(Phi, side.G)
    beyond, more = np.linalg.eigh(K.E - axes.T @ axes)
    extra = beyond > 1e-8 * max(float(np.trace(K.E)), 1e-300)
    width = Phi.shape[1]
    full = np.zeros((side.size, width + int(extra.sum())), dtype=Phi.dtype)
    full[side.known, :width] = Phi
    full[side.filled, :width] = side.W @ axes.T
    full[side.filled, width:] = side.W @ (more[:, extra] * np.sqrt(beyond[extra]))
    return Factors(full, np.maximum(np.asarray(K.own.diagonal()), 0.0))
