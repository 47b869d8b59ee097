"""Problems of cross-view kernel transfer: features, kernels, how aligned they are, and the closed form."""

import numpy as np

import reference.cvkt as slow
from absentia.methods.completion.cvkt import _ridge as cvkt_ridge


def random_features(rng, n=30, m=12):
    """Other views' features and a kernel that has something to do with them."""
    Psi = rng.normal(size=(n, m))
    own = Psi @ rng.normal(size=(m, 8)) + rng.normal(size=(n, 8))
    return Psi, own @ own.T


def alignment(K, U, Psi):
    A, B = slow.centred(K), slow.centred(Psi @ U @ U.T @ Psi.T)
    return np.vdot(A, B) / np.linalg.norm(A) / np.linalg.norm(B)


def closed_form(Psi, K, rank, ridge=0.0):
    """U of the closed form, in coordinates of Psi, and the alignment it promises."""
    centered = Psi - Psi.mean(axis=0)
    axes, squares = cvkt_ridge._principal_axes(centered)
    w, L = np.linalg.eigh(slow.centred(K))
    Phi = L * np.sqrt(np.maximum(w, 0))
    V, w = cvkt_ridge._aligned_axes(centered @ axes, squares, Phi, ridge, rank)
    U = axes @ ((V * np.sqrt(w)) / np.sqrt(squares + ridge)[:, None])
    return U, np.sqrt(np.sum(w**2)) / np.linalg.norm(slow.centred(K))
