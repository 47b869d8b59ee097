"""Structural similarity of two square matrices, one window at a time (Huusari et al. 2022, eq. 10)."""

import numpy as np


def structural_similarity(A, B, window=7, data_range=2.0):
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    total, n_windows = 0.0, 0
    for i in range(len(A) - window + 1):
        for j in range(len(A) - window + 1):
            a = A[i : i + window, j : j + window].ravel()
            b = B[i : i + window, j : j + window].ravel()
            (var_a, cov), (_, var_b) = np.cov(a, b)
            mu_a, mu_b = a.mean(), b.mean()
            above = (2 * mu_a * mu_b + c1) * (2 * cov + c2)
            below = (mu_a**2 + mu_b**2 + c1) * (var_a + var_b + c2)
            total += above / below
            n_windows += 1
    return total / n_windows
