"""Beside other packages, in one run: ratios of CPU seconds, kept from run to run.

    python benchmarks/peers.py [--quick] [--keep]        # a CPU minute

What is not installed is left out.  CPU seconds on one BLAS thread, ours and theirs in turn, medians.  A run
is compared with the record in ``benchmarks/records`` if that is of the same processor; ``--keep`` makes it
the record, and in full the table of docs/performance.md.
"""

from __future__ import annotations

import contextlib
import io
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
import pandas as pd
from amkl_vs_cvxpy import conic, factors, ours
from kernel_speed import cases
from predict_cost import make_views
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from absentia import MKLClassifier, PMAImputer, Views, complete_values, embed

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


def tables_with_gaps(quick: bool) -> tuple[Views, list[pd.DataFrame]]:
    """Three views of 50 features, 30 % of the cells absent, and the same as frames with rows of NaN."""
    views, _ = make_views(60 if quick else 300, 3, 50, 2)
    return views, [pd.DataFrame(table) for table in views.to_dict().values()]


def of_mofapy2(quick: bool) -> Iterator[Case]:
    """Ten factors of views with absent ones; the rest of MOFA is at its defaults."""
    from mofapy2.run.entry_point import entry_point

    views, frames = tables_with_gaps(quick)

    def theirs() -> None:
        model = entry_point()
        model.set_data_matrix([[frame.to_numpy()] for frame in frames])
        model.set_model_options(factors=10)
        model.set_train_options(seed=0, quiet=True)
        model.build(), model.run()

    with_gaps = f"{len(views)} x 3 x 50"
    yield "mofapy2", f"embed and MOFA, 10 factors, {with_gaps}", lambda: embed(views, 10), silenced(theirs)


def of_imml(quick: bool) -> Iterator[Case]:
    """Absent rows filled in, and clusters."""
    from imml.cluster import NEMO
    from imml.impute import MOFAImputer

    views, frames = tables_with_gaps(quick)
    imputer = silenced(lambda: MOFAImputer(10, random_state=0).fit_transform(frames))
    yield (
        "imml",
        f"complete_values and MOFAImputer, {len(views)} x 3 x 50",
        lambda: complete_values(views),
        imputer,
    )
    yield (
        "imml",
        f"embed with KMeans and NEMO, {len(views)} x 3 x 50",
        lambda: KMeans(3, n_init=10, random_state=0).fit(embed(views, 10)),
        lambda: NEMO(3, random_state=0).fit(frames),
    )


def of_gpytorch(quick: bool) -> Iterator[Case]:
    """What hidden entries are under a Gaussian process whose kernels of rows and of columns are given."""
    import gpytorch
    import torch

    torch.set_num_threads(1)
    n, m = (30, 8) if quick else (150, 20)
    rng = np.random.default_rng(0)
    K1, K2 = (rbf_kernel(rng.normal(size=(k, 3))) + 0.1 * np.eye(k) for k in (n, m))
    rows, columns = (np.linalg.cholesky(K) for K in (K1, K2))
    M = rows @ rng.normal(size=(n, m)) + rng.normal(size=(n, m)) @ columns.T
    known = rng.random((n, m)) < 0.8
    A, B, where = torch.tensor(K1), torch.tensor(K2), torch.tensor(np.argwhere(known))

    class Sum(gpytorch.kernels.Kernel):
        """Entries covary if they are in the same column, by their rows, or in the same row, by columns."""

        def forward(self, a: Any, b: Any, diag: bool = False, **_: Any) -> Any:
            (i, j), (r, s) = a.long().T, b.long().T
            if diag:
                return A[i, r] * (j == s) + B[j, s] * (i == r)
            same_row, same_column = i[:, None] == r, j[:, None] == s
            return A[i[:, None], r] * same_column + B[j[:, None], s] * same_row

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(where.double(), torch.tensor(M[known]), likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), Sum()

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def theirs() -> np.ndarray:
        noise = torch.full((len(where),), 1e-6, dtype=torch.float64)
        model = Process(gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise)).double().eval()
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(n * m):  # beyond 800, 1 % off by default
            return model(torch.tensor(np.argwhere(~known)).double()).mean.numpy()

    def mine() -> np.ndarray:
        gaps = np.where(known, M, np.nan)
        return PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit_transform(gaps)[~known]

    np.testing.assert_allclose(mine(), theirs(), atol=1e-3 * M.std())
    yield "GPyTorch", f"PMAImputer and ExactGP, kernels given, {n} x {m} with gaps", mine, theirs


def silenced(function: Callable[[], Any]) -> Callable[[], Any]:
    """The call without what it prints."""

    def quiet() -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            return function()

    return quiet


PEERS = {
    "sklearn": of_scikit_learn,
    "cvxpy": of_cvxpy,
    "MKLpy": of_mklpy,
    "mofapy2": of_mofapy2,
    "imml": of_imml,
    "gpytorch": of_gpytorch,
}
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
