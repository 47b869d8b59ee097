"""EM for one Gaussian with blocks missing, one pattern of absence after the other.

What EMFill did before patterns shared their eliminations: every pattern factorises the covariance of what it
has, solves for the regression of what it lacks, and adds its conditional covariance.  Strengths are tried down
a path until two in a row were worse, each fitted until three steps in a row were short, and the fit
itself starts from the prior again.
"""

import numpy as np
import scipy.linalg

PATH = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


def scores(K, rank=None):
    """Scores, axes, mean square size and variance outside of a kernel's leading principal components.

    `rank` None: as many as have an eigenvalue above the mean.
    """
    m = len(K)
    means = K.mean(axis=0)
    w, Q = scipy.linalg.eigh(K - means - means[:, None] + means.mean())
    w, Q = np.maximum(w[::-1], 0), Q[:, ::-1]
    size = w.sum() / m
    r = int((w > (1 + 1e-6) * w.mean()).sum()) if rank is None else rank
    axes = Q[:, :r] * np.sqrt(size / w[:r])
    return Q[:, :r] * np.sqrt(w[:r] / size), axes, size, w[r:].sum() / m


def patterns(there):
    """Each distinct row of a boolean matrix, as what is there and what is not, and which rows are like it."""
    distinct, member = np.unique(there, axis=0, return_inverse=True)
    member = member.ravel()
    return [
        (np.flatnonzero(row), np.flatnonzero(~row), np.flatnonzero(member == i))
        for i, row in enumerate(distinct)
    ]


def evaluate(X, groups, psi, ridge, mu, Sigma):
    """Penalised negative log-likelihood at (mu, Sigma), and the EM update."""
    n, weight = len(X), ridge * len(X)
    completed, scatter, value = X - mu, np.zeros_like(Sigma), 0.0
    for o, h, rows in groups:
        L = scipy.linalg.cholesky(Sigma[np.ix_(o, o)], lower=True)
        B = scipy.linalg.cho_solve((L, True), Sigma[np.ix_(o, h)])
        Y = completed[np.ix_(rows, o)]
        completed[np.ix_(rows, h)] = Y @ B
        scatter[np.ix_(h, h)] += len(rows) * (Sigma[np.ix_(h, h)] - Sigma[np.ix_(h, o)] @ B)
        white = scipy.linalg.solve_triangular(L, Y.T, lower=True)
        value += len(rows) * 2 * np.log(np.diag(L)).sum() + (white**2).sum()
    shift = completed.mean(axis=0)
    completed -= shift
    scatter += completed.T @ completed
    L = scipy.linalg.cholesky(Sigma, lower=True)
    inverse = scipy.linalg.cho_solve((L, True), np.eye(len(Sigma)))
    value += weight * (2 * np.log(np.diag(L)).sum() + psi @ np.diag(inverse))
    scatter[np.diag_indices_from(scatter)] += weight * psi
    return value / 2, (mu + shift, scatter / (n + weight))


def fit(X, groups, psi, ridge, point, tol, max_iter=500):
    """Squared extrapolation of the EM update (Varadhan & Roland 2008, S3), until three short steps."""
    value, following = evaluate(X, groups, psi, ridge, *point)
    limit, before, short = 1e4, np.inf, 0
    for _ in range(max_iter):
        second, twice = evaluate(X, groups, psi, ridge, *following)
        r = [b - a for a, b in zip(point, following, strict=True)]
        v = [c - 2 * b + a for a, b, c in zip(point, following, twice, strict=True)]
        bend = sum((x**2).sum() for x in v)
        alpha = np.sqrt(sum((x**2).sum() for x in r) / bend) if bend > 0 else 1.0
        length = min(max(alpha, 1.0), limit)
        point = [a + 2 * length * x + length**2 * y for a, x, y in zip(point, r, v, strict=True)]
        try:
            value, following = evaluate(X, groups, psi, ridge, *point)
        except np.linalg.LinAlgError:
            value = np.inf
        if value > second:
            limit, point = max(2.0, length / 4), twice
            value, following = evaluate(X, groups, psi, ridge, *point)
        elif length == limit:
            limit *= 4
        change = abs(before - value) / max(abs(before), abs(value)) if np.isfinite(before) else np.inf
        short, before = short + 1 if change <= tol else 0, value
        if short == 3:
            break
    return point


def expected(X, groups, mu, Sigma):
    """Rows with the conditional means of what is missing, and the conditional variances of that."""
    X, variances = X.copy(), np.zeros_like(X)
    for o, h, rows in groups:
        S = Sigma[np.ix_(o, o)]
        B = np.linalg.solve(S, Sigma[np.ix_(o, h)]) if len(o) else np.zeros((0, len(h)))
        X[np.ix_(rows, h)] = mu[h] + (X[np.ix_(rows, o)] - mu[o]) @ B
        variances[np.ix_(rows, h)] = np.diag(Sigma[np.ix_(h, h)] - Sigma[np.ix_(h, o)] @ B)
    return X, variances


class Model:
    """Scores of all views of incomplete kernels (views x n x n), and EM for them."""

    def __init__(self, K, observed, rank=None):
        self.K, self.observed = K, observed
        self.views = [scores(K[k][np.ix_(o, o)], rank) for k, o in enumerate(observed.T)]
        self.widths = [view[0].shape[1] for view in self.views]
        self.X = np.zeros((len(observed), sum(self.widths)))
        ends = np.cumsum(self.widths)
        self.columns = [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]
        for o, view, mine in zip(observed.T, self.views, self.columns, strict=True):
            self.X[o, mine] = view[0]
        self.some = observed.any(axis=1)
        self.groups = patterns(np.repeat(observed[self.some], self.widths, axis=1))
        variances = [
            (view[0] ** 2).sum() / len(view[0]) / width
            for view, width in zip(self.views, self.widths, strict=True)
        ]
        self.psi = np.repeat(variances, self.widths)
        self.point = [np.zeros(len(self.psi)), np.diag(self.psi)]

    def fit(self, ridge, tol):
        """From where the last fit ended, at first from the prior."""
        self.point = fit(self.X[self.some], self.groups, self.psi, ridge, self.point, tol)

    def filled(self):
        """Expected kernels: absent samples at their expected scores, own values with what is uncertain."""
        groups = patterns(np.repeat(self.observed, self.widths, axis=1))
        X, variances = expected(self.X, groups, *self.point)
        done = np.empty_like(self.K)
        for k, (o, (_, axes, size, outside), mine) in enumerate(
            zip(self.observed.T, self.views, self.columns, strict=True)
        ):
            block, h = self.K[k][np.ix_(o, o)], ~o
            A = 1 / o.sum() + X[h, mine] @ (axes - axes.mean(axis=0)).T
            done[k][np.ix_(o, o)] = block
            done[k][np.ix_(h, o)] = A @ block
            done[k][np.ix_(o, h)] = done[k][np.ix_(h, o)].T
            own = size * variances[h, mine].sum(axis=1) + outside
            done[k][np.ix_(h, h)] = A @ block @ A.T + np.diag(own)
        return done


def fill(K, observed, kept, rank=None, tol=1e-6):
    """Completed kernels, the ridge, and errors by ridge, where `kept` says what is not hidden for the choice."""
    part, curve = Model(K, observed & kept, rank), {}
    for ridge in PATH:
        part.fit(ridge, max(tol, 1e-5))
        curve[ridge] = error(K, part.filled(), observed, kept)
        if len(curve) - 1 - list(curve.values()).index(min(curve.values())) == 2:
            break
    best = min(curve, key=curve.get)
    whole = Model(K, observed, rank)
    whole.fit(best, tol)
    return whole.filled(), best, curve


def error(K, done, observed, kept):
    """Relative Frobenius error of the hidden rows and columns, mean over views."""
    errors = []
    for k in range(len(K)):
        has, stays = observed[:, k], observed[:, k] & kept[:, k]
        counts = has[:, None] & has & ~(stays[:, None] & stays)
        if counts.any():
            errors.append(np.linalg.norm((done[k] - K[k])[counts]) / np.linalg.norm(K[k][counts]))
    return np.mean(errors)
