"""Machines on factors: C-AMKL up to a million samples, beside LIBLINEAR, SGD and whole kernels.

Six views of 100 float32 factors, 40 % of the cells absent, noisy labels that three of the views tell most
of.  Every size in a process of its own, whose peak of memory includes making the factors.  LinearSVC
and SGDClassifier get the factors side by side, absent ones zero, in float64 as LIBLINEAR takes them; they
do not weigh views.  Writes docs/amkl_factors.svg.
"""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import common
import numpy as np
import svg
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from absentia import AbsentMKLClassifier, KernelViews

VIEWS, FACTORS, ABSENT, HELD_OUT = 6, 100, 0.4, 20_000
BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#c2570c", "#2e7d32", "#767676"


def made(n: int, seed: int = 0) -> tuple[KernelViews, np.ndarray]:
    """Factors and labels."""
    rng = np.random.default_rng(seed)
    observed = rng.random((n, VIEWS)) > ABSENT
    observed[~observed.any(axis=1), 0] = True
    scores, factors = np.zeros(n), {}
    for v in range(VIEWS):
        ids = np.flatnonzero(observed[:, v])
        Phi = rng.standard_normal((len(ids), FACTORS), dtype=np.float32)
        Phi *= (np.arange(1, FACTORS + 1) ** -0.5).astype(np.float32)
        Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
        scores[ids] += Phi @ (rng.standard_normal(FACTORS) * (1.5 if v < 3 else 0.3))
        factors[f"view{v}"] = (ids, Phi)
    noisy = scores + 0.5 * scores.std() * rng.standard_normal(n)
    return KernelViews.from_factors(factors, copy=False), np.where(noisy > 0.2, 1, -1)


def beside(kernels: KernelViews) -> np.ndarray:
    """All factors side by side, absent ones zero."""
    X = np.zeros((len(kernels), VIEWS * FACTORS))
    for v, name in enumerate(kernels.names):
        X[kernels.observed[:, v], v * FACTORS : (v + 1) * FACTORS] = kernels.operator(name).left
    return X


def ours(kernels: KernelViews, y: np.ndarray, C: float) -> AbsentMKLClassifier:
    with warnings.catch_warnings(action="ignore"):
        return AbsentMKLClassifier("convex", C=C).fit(kernels, y)


def part(n: int, C: float, peers: bool) -> dict[str, Any]:
    ours(*made(2500), C)  # compile
    if not peers:
        kernels, y = made(n)
        return timed(kernels, y, C)[0]
    everyone, truth = made(n + HELD_OUT)
    train, test = np.arange(n), np.arange(n, n + HELD_OUT)
    y = truth[train]
    row, machine = timed(everyone[np.ix_(train, train)], y, C)
    row["accuracy"] = float((machine.predict(everyone[np.ix_(test, train)]) == truth[test]).mean())
    X = beside(everyone)
    models = {"LinearSVC": LinearSVC(C=C / VIEWS, dual=True, loss="hinge", max_iter=200, tol=1e-3)}
    models["SGD"] = SGDClassifier(alpha=VIEWS / (C * n), random_state=0)
    for name, model in models.items():
        with warnings.catch_warnings(action="ignore"):
            row[f"{name}, CPU s"], _ = common.cpu(lambda model=model: model.fit(X[train], y))
        row[f"{name}, accuracy"] = float((model.predict(X[test]) == truth[test]).mean())
    return row


def timed(kernels: KernelViews, y: np.ndarray, C: float) -> tuple[dict[str, Any], AbsentMKLClassifier]:
    """CPU seconds, gap and peak of memory of a fit, and what was fitted."""
    seconds, machine = common.cpu(lambda: ours(kernels, y, C))
    size = len(kernels)
    return {"n": size, "C": C, "CPU s": seconds, "gap": machine.gap_, "peak MB": common.peak_rss()}, machine


def against_whole(n: int, C: float) -> dict[str, Any]:
    """The same as whole kernels: objective and CPU seconds, and scikit-learn's machine on their sum."""
    kernels, y = made(n)
    whole = KernelViews.from_dense(np.nan_to_num(kernels.to_dense()), observed=kernels.observed)
    ours(*made(2500), C)
    ours(whole[np.ix_(np.arange(100), np.arange(100))], y[:100], C)
    thin_s, thin = common.cpu(lambda: ours(kernels, y, C))
    whole_s, dense = common.cpu(lambda: ours(whole, y, C))
    K = sum(w * np.nan_to_num(k) for w, k in zip(dense.weights_, whole.to_dense(), strict=True))
    svc_s, _ = common.cpu(lambda: SVC(C=C, kernel="precomputed").fit(K, y))
    off = thin.objective_[-1] / dense.objective_[-1] - 1
    return {
        "n": n,
        "C": C,
        "factors, CPU s": thin_s,
        "whole, CPU s": whole_s,
        "SVC, CPU s": svc_s,
        "objective": off,
    }


def chart(rows: list[dict[str, Any]]) -> str:
    x = [float(row["n"]) for row in rows]
    lines = [svg.Line("C-AMKL", x, [row["CPU s"] for row in rows], BLUE)]
    low = lines[0].y[0]
    lines.append(svg.Line("", [x[0], x[-1]], [low / 3, low / 3 * x[-1] / x[0]], GREY, True, guide="n"))
    for name, colour in (("LinearSVC", ORANGE), ("SGD", GREEN)):
        some = [row for row in rows if f"{name}, CPU s" in row]
        if len(some) > 1:
            y = [row[f"{name}, CPU s"] for row in some]
            lines.append(svg.Line(name, [float(row["n"]) for row in some], y, colour, below=name == "SGD"))
    return svg.chart(
        [svg.Panel("6 views x 100 factors", "samples", lines, x)], "CPU seconds", "Machines on factors"
    )


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--n", type=int)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--peers", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.part == "whole":
        print(json.dumps(against_whole(arguments.n, arguments.C)))
        return
    if arguments.part:
        print(json.dumps(part(arguments.n, arguments.C, bool(arguments.peers))))
        return
    sizes = [3000, 6000] if arguments.quick else [10_000, 30_000, 100_000, 300_000, 1_000_000]
    most = sizes[-1] if arguments.quick else 100_000  # of peers, whose float64 copy is large
    rows = [common.child(__file__, "fit", "--n", n, "--peers", int(n <= most)) for n in sizes]
    whole = [
        common.child(__file__, "whole", "--n", 2200 if arguments.quick else 3000, "--C", C) for C in (1, 8)
    ]
    large, last = next(row for row in rows if row["n"] == most), rows[-1]
    claims = [
        common.Claim(f"CPU s, n={large['n']}", large["CPU s"], at_most=20.0),
        common.Claim(f"CPU s, n={last['n']}", last["CPU s"], at_most=300.0),
        common.Claim(f"peak MB, n={last['n']}", last["peak MB"], at_most=4500.0),
        common.Claim("largest gap", max(row["gap"] for row in rows), at_most=1e-3),
        common.Claim("times LinearSVC", large["CPU s"] / large["LinearSVC, CPU s"], at_most=4.0),
        common.Claim(
            "accuracy less LinearSVC's", large["accuracy"] - large["LinearSVC, accuracy"], at_least=-0.002
        ),
        common.Claim(
            "objective beside whole kernels", max(abs(r["objective"]) for r in whole), at_most=1e-3
        ),
        common.Claim(
            "growth",
            math.log(last["CPU s"] / rows[0]["CPU s"]) / math.log(last["n"] / rows[0]["n"]),
            at_most=1.2,
        ),
    ]
    if not arguments.quick:
        (common.DOCS / "amkl_factors.svg").write_text(chart(rows))
    common.finish("amkl_factors", arguments.quick, rows + whole, claims)


if __name__ == "__main__":
    main()
