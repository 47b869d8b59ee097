"""Multiple kernel learning over any polytope of weights, slowly: SciPy's SLSQP on the dual."""

import numpy as np
import scipy.optimize

from reference import svm


def masked(K, observed):
    """K_p with rows and columns of absent samples set to zero."""
    return np.array([np.outer(s, s) * k for k, s in zip(K, observed.T, strict=True)])


def value_and_gradient(K, t, lo, hi, eta):
    """V(eta) and its gradient -q/2."""
    combined = np.tensordot(eta, K, 1)
    z = svm.dual(combined, t, lo, hi)
    q = np.array([z @ k @ z for k in K])
    return svm.value(combined, t, 0.0, z), -q / 2


def least(K, t, lo, hi, P):
    """min V over {eta >= 0, P eta <= 1}, from its dual: max t'z - 1/2 sum theta, z'K_p z <= (P'theta)_p."""
    n, rows = len(t), len(P)
    constraints = [
        {"type": "eq", "fun": lambda x: x[:n].sum(), "jac": lambda x: np.r_[np.ones(n), np.zeros(rows)]},
        {
            "type": "ineq",
            "fun": lambda x: P.T @ x[n:] - np.array([x[:n] @ k @ x[:n] for k in K]),
            "jac": lambda x: np.hstack([-2 * K @ x[:n], P.T]),
        },
    ]
    found = scipy.optimize.minimize(
        lambda x: x[n:].sum() / 2 - t @ x[:n],
        np.r_[np.zeros(n), np.ones(rows)],
        jac=lambda x: np.r_[-t, np.full(rows, 0.5)],
        bounds=[*zip(lo, hi, strict=True), *[(0, None)] * rows],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return -found.fun


def hard_margin_25(x, observed, y):
    """Eq. 25 for one number per view: min over w, b of max_i 1/2 (sum_p s_ip |w_p|)^2, all margins >= 1."""
    m = x.shape[1]
    # w = a - c with a, c >= 0; minimise u with sum_p s_ip (a_p + c_p) <= u
    S, X = observed.astype(float), observed * x
    cost = np.r_[np.zeros(2 * m + 1), 1.0]
    margins = np.hstack([-y[:, None] * X, y[:, None] * X, -y[:, None], np.zeros((len(y), 1))])
    norms = np.hstack([S, S, np.zeros((len(y), 1)), -np.ones((len(y), 1))])
    found = scipy.optimize.linprog(
        cost,
        np.vstack([margins, norms]),
        np.r_[-np.ones(len(y)), np.zeros(len(y))],
        bounds=[(0, None)] * (2 * m) + [(None, None), (0, None)],
    )
    return found.fun**2 / 2
