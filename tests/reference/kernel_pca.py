"""Kernel PCA of a sum of kernels, slowly: whole matrices, centred as Scholkopf, Smola and Muller (1998) say."""

import numpy as np


def centred(K):
    n = len(K)
    H = np.eye(n) - np.full((n, n), 1 / n)
    return H @ K @ H


def fused(kernels):
    """The sum of kernels, each divided by its total variance, and their weights."""
    weights = [len(K) / np.trace(centred(K)) / len(kernels) for K in kernels]
    return sum(w * K for w, K in zip(weights, kernels, strict=True)), weights


def embedding(K, k):
    """Coordinates along the k leading components, their shares of the variance, and the eigenvectors."""
    values, vectors = np.linalg.eigh(centred(K))
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    return vectors * np.sqrt(values), values / np.trace(centred(K)), vectors


def projected(rows, K, k):
    """Coordinates of new samples from their kernel `rows` with those of K."""
    n = len(K)
    ones, few = np.full((n, n), 1 / n), np.full((len(rows), n), 1 / n)
    about = rows - few @ K - rows @ ones + few @ K @ ones  # eq. (26)
    scores, _, vectors = embedding(K, k)
    return about @ vectors / np.linalg.norm(scores, axis=0)


def same_but_for_signs(found, expected):
    """`expected` with the signs of `found`."""
    return expected * np.where((found * expected).sum(axis=0) < 0, -1.0, 1.0)
