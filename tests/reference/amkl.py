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


def largest_total(q, rows):
    """``max {c.q : c >= 0, rows c <= 1}``; rows None stands for the ball of the 2-norm."""
    if rows is None:
        return float(np.linalg.norm(np.maximum(q, 0)))
    scale = q.max()
    return -scipy.optimize.linprog(-q / scale, rows, np.ones(len(rows))).fun * scale if scale > 0 else 0.0


def duality_gap(K, eta, z, bias, t, lo, hi, eps=0.0, rows=None, free=True):
    """Primal minus dual value over the primal, from nothing but kernels, weights, coefficients and bias.

    K: masked kernels as they were given; (t, lo, hi, eps): the problem of svm.dual; with `free` the weights
    may be anywhere with ``rows eta <= 1``, without they are fixed.
    """
    assert (z >= lo - 1e-12 * hi.max()).all()
    assert (z <= hi + 1e-12 * hi.max()).all()
    assert abs(z.sum()) <= 1e-12 * len(z) * np.abs(z).sum()
    q = np.array([z @ k @ z for k in K])
    rest = t - np.tensordot(eta, K, 1) @ z - bias
    losses = np.maximum(np.maximum(hi * (rest - eps), lo * (rest + eps)), 0)
    primal = eta @ q / 2 + losses.sum()
    dual = t @ z - eps * np.abs(z).sum() - (largest_total(q, rows) if free else eta @ q) / 2
    return (primal - dual) / primal


def two_steps(K, observed, y, C, lam, n_rounds):
    """Eqs. 18 and 23 in turn from tau = 1, on masked kernels: the tau after every round."""
    n, m = observed.shape
    o, tau, taus = observed.mean(axis=1), np.ones(n), []
    for _ in range(n_rounds):
        Lambda = 1 + lam / n * sum(((tau[i] - observed[i]) ** 2).sum() for i in range(n))
        t, bound = y * tau, C / (Lambda * tau)
        lo, hi = np.minimum(y * bound, 0), np.maximum(y * bound, 0)
        eta = scipy.optimize.minimize(
            lambda e, t=t, lo=lo, hi=hi: value_and_gradient(K, t, lo, hi, np.maximum(e, 0)),
            np.full(m, 1 / m),
            jac=True,
            bounds=[(0, 1)] * m,
            constraints=[{"type": "eq", "fun": lambda e: e.sum() - 1, "jac": lambda e: np.ones(m)}],
            method="SLSQP",
            options={"ftol": 1e-12},
        ).x
        combined = np.tensordot(np.maximum(eta, 0), K, 1)
        z = svm.dual(combined, t, lo, hi)
        scores = combined @ z
        inside = (z * y > 1e-3 * bound) & (z * y < (1 - 1e-3) * bound)
        u = y * (scores + np.median((t - scores)[inside]))
        v = np.minimum(u / tau, 1.0)  # 1 - xi
        tau = np.array([min(a, b / c) if c > 0 else max(a, b / c) for a, b, c in zip(o, u, v, strict=True)])
        taus.append(tau)
    return taus


def generalisation_bound(K, observed, y, eta, z, rho, delta):
    """The terms of eq. 36, sample by sample; y in {-1, 1}, w_p = eta_p sum_i z_i s_ip phi_p(x_i)."""
    m, n = len(K), len(y)
    wrong = 0
    for i in range(n):
        f = 0.0
        for p in range(m):
            if observed[i, p]:
                f += eta[p] * sum(z[j] * K[p][i, j] for j in range(n) if observed[j, p])
        wrong += y[i] * f <= rho
    norms = []
    for p in range(m):
        square = 0.0
        for i in range(n):
            for j in range(n):
                if observed[i, p] and observed[j, p]:
                    square += z[i] * K[p][i, j] * z[j]
        norms.append(eta[p] * square**0.5)
    # 1/2 sum_p |w_p|^2 / gamma_p at the best gamma, which is proportional to |w_p|
    gamma = [norm / sum(norms) for norm in norms]
    mu = sum(norm**2 / g for norm, g in zip(norms, gamma, strict=True) if g > 0) / 2
    B = max(K[p][i, i] for p in range(m) for i in range(n) if observed[i, p])
    second = max(2 * (2 * mu * B) ** 0.5 / (n * rho) * observed[:, p].sum() ** 0.5 for p in range(m))
    third = 3 * (np.log(1 / delta) / (2 * n)) ** 0.5
    return wrong / n, second, third, 16 / rho * (mu * B * np.log((m + 1) / delta) / n) ** 0.5
