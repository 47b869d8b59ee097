"""Beside other packages, in one run: ratios of CPU seconds, kept from run to run.

    python benchmarks/peers.py [--quick] [--keep]        # a CPU minute

What is not installed is left out.  CPU seconds on one BLAS thread, ours and theirs in turn, medians.  A run
is compared with the record in ``benchmarks/records`` if that is of the same processor; ``--keep`` makes it
the record, and in full the table of docs/performance.md.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import amkl_data
import common  # before NumPy: one BLAS thread
import numpy as np
from amkl_vs_cvxpy import conic, factors, ours
from kernel_speed import cases
from sklearn.datasets import load_breast_cancer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from absentia import MKLClassifier, PMAImputer

RECORDS = common.HERE / "records"
PAGE = common.DOCS / "performance.md"
Case = tuple[str, str, Callable[[], Any], Callable[[], Any]]


def of_scikit_learn(quick: bool) -> Iterator[Case]:
    """Kernels, and one table with gaps."""
    for what, mine, theirs, _ in cases(quick):
        yield "scikit-learn", what, mine, theirs
    n = 60 if quick else 300
    rng = np.random.default_rng(0)
    M = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 20)) + 0.1 * rng.normal(size=(n, 20))
    M[rng.random(M.shape) < 0.2] = np.nan
    for peer in (KNNImputer(), IterativeImputer()):
        name = f"PMAImputer and {type(peer).__name__}, {n} x 20 with gaps"
        yield "scikit-learn", name, lambda: PMAImputer().fit_transform(M), lambda p=peer: p.fit_transform(M)


def of_cvxpy(quick: bool) -> Iterator[Case]:
    """C-AMKL to a gap of 1e-5, and the same program in cvxpy with Clarabel."""
    n = 60 if quick else 200
    X, y = amkl_data.made_up(n)
    kernels = amkl_data.rbf_kernels(X, amkl_data.masked(n, 20, 0.4, seed=n))
    L = factors(kernels)
    yield (
        "cvxpy",
        f"C-AMKL, {n} samples, 20 kernels",
        lambda: ours(kernels, y, 1.0),
        lambda: conic(kernels, y, 1.0, L),
    )


def of_mklpy(quick: bool) -> Iterator[Case]:
    """Multiple kernel learning on complete kernels, each at its defaults and C = 1."""
    import torch
    from MKLpy.algorithms import AverageMKL, EasyMKL

    torch.set_num_threads(1)
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[: 100 if quick else 284], y[: 100 if quick else 284]
    kernels = amkl_data.rbf_kernels(X, np.ones((len(X), 20), dtype=bool))
    K, labels = (
        [torch.tensor(kernels.block(name)) for name in kernels.names],
        torch.tensor(y.astype(np.int64)),
    )
    for peer in (EasyMKL, AverageMKL):
        name = f"MKLClassifier and {peer.__name__}, {len(X)} samples, 20 kernels"
        yield (
            "MKLpy",
            name,
            lambda: MKLClassifier().fit(kernels, y),
            lambda p=peer: p(learner=SVC(C=1.0)).fit(K, labels),
        )


PEERS = {"sklearn": of_scikit_learn, "cvxpy": of_cvxpy, "MKLpy": of_mklpy}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def measure(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for module, make in PEERS.items():
        if find_spec(module) is None:
            print(f"{module} is not installed: left out", file=sys.stderr)
            continue
        for peer, what, mine, theirs in make(quick):
            with warnings.catch_warnings(action="ignore"):  # of iterations of peers
                mine(), theirs()
                a, b = common.interleaved((mine, theirs), 3)
            told = f"{peer} {version(DISTRIBUTIONS.get(module, module))}"
            rows.append({"case": what, "peer": told, "CPU s": a, "peer's CPU s": b, "ratio": a / b})
    return rows


def name_record(quick: bool) -> Path:
    return RECORDS / ("peers-quick.json" if quick else "peers.json")


def compare(rows: list[dict[str, Any]], quick: bool, facts: dict[str, Any]) -> None:
    """Print how ratios have changed since the record, where both can be compared."""
    path = name_record(quick)
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    before = {row["case"]: row["ratio"] for row in record.get("rows", ())}
    if record.get("environment", {}).get("cpu") != facts["cpu"]:
        print("no record of this processor: nothing to compare with")
        return
    common.table(
        {
            "case": row["case"],
            "ratio": row["ratio"],
            "record": before[row["case"]],
            "times": row["ratio"] / before[row["case"]],
        }
        for row in rows
        if row["case"] in before
    )


def keep(rows: list[dict[str, Any]], quick: bool, facts: dict[str, Any]) -> None:
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps({"rows": rows, "environment": facts}, indent=1) + "\n"
    name_record(quick).write_text(text, encoding="utf-8")
    if quick:
        return
    lines = ["| case | beside | CPU s | theirs | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        numbers = " | ".join(common.shown(row[key]) for key in ("CPU s", "peer's CPU s", "ratio"))
        lines.append(f"| {row['case']} | {row['peer']} | {numbers} |")
    machine = (
        f"{facts['cpu']}, {facts['cores']} cores; Python {facts['python']}, NumPy {facts['numpy']}; "
        f"source `{facts['source']}`."
    )
    table = "\n".join([*lines, "", machine])
    text = PAGE.read_text(encoding="utf-8")
    made = re.sub(
        r"(<!-- peers -->\n).*?(<!-- end -->)",
        lambda m: f"{m[1]}\n{table}\n\n{m[2]}",
        text,
        flags=re.DOTALL,
    )
    PAGE.write_text(made, encoding="utf-8")


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--keep", action="store_true", help="write the record and the page's table")
    arguments = parser.parse_args()
    rows = measure(arguments.quick)
    facts = common.environment()
    compare(rows, arguments.quick, facts)
    if arguments.keep:
        keep(rows, arguments.quick, facts)
    common.finish("peers", arguments.quick, rows)


if __name__ == "__main__":
    main()
