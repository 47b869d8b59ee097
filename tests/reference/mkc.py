"""Multi-view kernel completion (Bhadra, Kaski, Rousu 2017), term by term, entry by entry."""

import numpy as np


def objective_ht(A, K, observed, S, c1, c2, c3):
    """A: (V, N, N) coefficients, zero columns outside I_v; K: list of observed kernels."""
    return (
        c1 * within([a @ embed(k, o) @ a.T for a, k, o in zip(A, K, observed.T, strict=True)], K, observed)
        + c2 * mismatch(A, S, None) / len(observed)
        + c3 * columns(A)
    )


def objective_app(A, K, observed, S, c1, c2, c3, where):
    completed = [a @ embed(k, o) @ a.T for a, k, o in zip(A, K, observed.T, strict=True)]
    return c1 * within(completed, K, observed) + c2 * mismatch(completed, S, where) + c3 * columns(A)


def objective_sdp(completed, S, c2, where):
    return c2 * mismatch(completed, S, where)


def embed(K, present):
    full = np.zeros((len(present), len(present)))
    full[np.ix_(present, present)] = K
    return full


def within(completed, K, observed):
    total = 0.0
    for v, k in enumerate(K):
        seen = np.flatnonzero(observed[:, v])
        for i, a in enumerate(seen):
            for j, b in enumerate(seen):
                total += (k[i, j] - completed[v][a, b]) ** 2 / len(seen) ** 2
    return total / len(K)


def mismatch(X, S, where):
    """Mean over views of the squared distance to the mixture; with `where`, per entry of its samples."""
    total = 0.0
    for v in range(len(X)):
        D = X[v] - sum(S[v, u] * X[u] for u in range(len(X)))
        if where is None:
            total += (D**2).sum()
        else:
            total += (D[np.ix_(where[v], where[v])] ** 2).sum() / len(where[v]) ** 2
    return total / len(X)


def columns(A):
    return sum(np.linalg.norm(a[:, c]) for a in A for c in range(a.shape[1])) / len(A)


def agreed(B, observed, S, c2, c3):
    """Entries of missing rows where the between-view loss and the bounded penalty are least, one by one."""
    V, N = len(B), len(observed)
    left = np.eye(V) - S
    M = 2 * c2 / (V * N) * left.T @ left
    norms = np.linalg.norm(B, axis=1)
    result = B.copy()
    for t in range(N):
        for c in range(N):
            free = [v for v in range(V) if not observed[t, v] and observed[c, v]]
            if free:
                fixed = [v for v in range(V) if observed[t, v]]
                H = M[np.ix_(free, free)] + np.diag([c3 / V / max(norms[v, c], 1e-12) for v in free])
                result[free, t, c] = np.linalg.solve(H, -M[np.ix_(free, fixed)] @ B[fixed, t, c])
    return result


def new_row(B, K, observed, S, c1, c2, c3, a, present, kernels_agree):
    """Coefficients of one new sample by least squares on all residuals stacked; `a`: its kernel rows."""
    V, N = len(B), len(observed)
    seen = [np.flatnonzero(o) for o in observed.T]
    ends = np.cumsum([0, *map(len, seen)])
    T = [B[v][:, seen[v]] @ K[v] for v in range(V)]  # b T' are kernel values with everyone
    rows, right = [], []
    for v in range(V):
        if present[v]:
            block = np.zeros((len(seen[v]), ends[-1]))
            block[:, ends[v] : ends[v + 1]] = T[v][seen[v]]
            rows.append(np.sqrt(2 * c1 / V) / len(seen[v]) * block)
            right.append(np.sqrt(2 * c1 / V) / len(seen[v]) * a[v])
        mixed = np.zeros((N, ends[-1]))
        for u in range(V):
            share = float(u == v) - S[v, u]
            part = T[u] if kernels_agree else np.eye(N)[:, seen[u]]
            mixed[:, ends[u] : ends[u + 1]] = share * part
        weight = np.sqrt(2 * c2 / V) / N if kernels_agree else np.sqrt(c2 / (V * N))
        rows.append(weight * mixed)
        right.append(np.zeros(N))
    norms = np.concatenate([np.linalg.norm(B[v][:, seen[v]], axis=0) for v in range(V)])
    rows.append(np.diag(np.sqrt(c3 / V / np.maximum(norms, 1e-12) / 2)))
    right.append(np.zeros(ends[-1]))
    b = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]
    return np.split(b, ends[1:-1])
