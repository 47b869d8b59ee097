"""What the benchmarks share: made-up views, CPU clocks, memory, facts about the machine, output.

Import this before NumPy: it holds BLAS to one thread, which only works before BLAS is loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if "numpy" in sys.modules:
    raise ImportError("import common before numpy, so that BLAS can be held to one thread")
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import numpy as np  # noqa: E402
import scipy  # noqa: E402
import threadpoolctl  # noqa: E402

import absentia  # noqa: E402
from absentia import KernelViews, datasets, missingness  # noqa: E402
from absentia.core import Scaled  # noqa: E402
from absentia.core.optimize import Point  # noqa: E402
from absentia.methods.completion.mkmc._low_rank import Noise, ViewKernel, VisibleProblem, merge_views  # noqa: E402  # noqa: E402
from absentia.methods.completion.mkmc._selection import _leading_pairs, _start_from_leading  # noqa: E402

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
MB = 2**20


def source() -> str:
    """A fingerprint of the package that is measured, so that numbers can be told to belong together."""
    folder = Path(absentia.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


SOURCE = source()


# --------------------------------------------------------------------------------------------- data


def features(n: int, n_views: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Views of 20 features each: eight factors shared by all views, four of their own, noise."""
    shared = rng.standard_normal((n, 8))
    views = []
    for _ in range(n_views):
        own = rng.standard_normal((n, 4))
        noise = 0.3 * rng.standard_normal((n, 20))
        views.append(shared @ rng.standard_normal((8, 20)) + own @ rng.standard_normal((4, 20)) + noise)
    return views


def rbf(X: np.ndarray) -> np.ndarray:
    """RBF kernel, width by the median heuristic."""
    norms = np.einsum("ij,ij->i", X, X)
    K = X @ X.T
    K *= -2
    K += norms[:, None]
    K += norms
    some = np.linspace(0, len(X) - 1, min(len(X), 500)).astype(int)
    K /= -np.median(K[np.ix_(some, some)])
    np.exp(K, out=K)
    K += K.T
    K /= 2
    np.fill_diagonal(K, 1.0)
    return K


def rbf_views(n: int, n_views: int = 6, hidden: float = 0.2, seed: int = 0) -> KernelViews:
    """RBF kernels of made-up views, the same share of samples hidden in each view."""
    rng = np.random.default_rng(seed)
    observed = missingness.fixed_per_view((n, n_views), hidden, random_state=rng)
    blocks = {}
    for k, X in enumerate(features(n, n_views, rng)):
        ids = np.flatnonzero(observed[:, k])
        blocks[f"view{k}"] = (ids, rbf(X[ids]))
    return KernelViews.from_blocks(blocks)


def library_views(n: int, n_views: int = 6, hidden: float = 0.2, seed: int = 0) -> KernelViews:
    """The library's own made-up views at their defaults, where what views do not share is weaker."""
    full = datasets.make_multiview(n, n_views, random_state=seed).kernels
    return full.hide(missingness.fixed_per_view(full, hidden, random_state=seed))


DATA = {"strong": rbf_views, "weak": library_views}  # by how strong a view's own factors are


def factor_views(
    n: int, n_views: int = 6, n_factors: int = 100, hidden: float = 0.2, seed: int = 0
) -> KernelViews:
    """Random Fourier factors (float32) of the same kind of views, made in place chunk by chunk."""
    rng = np.random.default_rng(seed)
    observed = missingness.fixed_per_view((n, n_views), hidden, random_state=rng)
    shared = rng.standard_normal((n, 8), dtype=np.float32)
    factors = {}
    for k in range(n_views):
        ids = np.flatnonzero(observed[:, k])
        mix = rng.standard_normal((12, 20), dtype=np.float32)
        waves = mix @ rng.standard_normal((20, n_factors), dtype=np.float32) / np.float32(np.sqrt(12 * 20))
        phase = rng.uniform(0, 2 * np.pi, n_factors).astype(np.float32)
        Phi = np.empty((len(ids), n_factors), dtype=np.float32)
        for a in range(0, len(ids), 8192):
            out = Phi[a : a + 8192]
            own = rng.standard_normal((len(out), 4), dtype=np.float32)
            np.matmul(np.hstack([shared[ids[a : a + 8192]], own]), waves, out=out)
            out += phase
            np.cos(out, out=out)
            out *= np.float32(np.sqrt(2 / n_factors))
        factors[f"view{k}"] = (ids, Phi)
    return KernelViews.from_factors(factors, copy=False)


def problem(kernels: KernelViews, dtype: str = "float64", prior: float = 1e-3) -> VisibleProblem:
    """What MKMC hands to the fast algorithm: kernels of unit mean diagonal and who is seen where.

    Samples without any view are left out, as MKMC does.
    """
    views = []
    observed = kernels.observed[kernels.observed.any(axis=1)]
    for k, name in enumerate(kernels.names):
        operator = kernels.operator(name).astype(dtype)
        scale = float(kernels.diagonal(name).mean(dtype=np.float64))
        scaled = operator if scale == 1.0 else Scaled(operator, 1 / scale)
        views.append(ViewKernel(scaled, np.flatnonzero(observed[:, k])))
    return VisibleProblem.of(merge_views(views), len(observed), prior, dtype)


def low_rank_start(problem: VisibleProblem, noise: Noise, q: int, **options: Any) -> Point:
    """Where a descent of rank `q` starts; `options` are those of ``_leading_pairs``."""
    leading = _leading_pairs(problem, q, np.random.default_rng(0), **options)
    return _start_from_leading(problem, noise, leading, q)


# ------------------------------------------------------------------------------------------ measures


def cpu(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it returned."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def interleaved(functions: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Median CPU seconds of each function, called in turn so that a busy machine slows all alike."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for measured, function in zip(seconds, functions, strict=True):
            measured.append(cpu(function)[0])
    return [statistics.median(measured) for measured in seconds]


def enough(function: Callable[[], Any], budget: float = 1.0, most: int = 9) -> float:
    """Median CPU seconds of a call, repeated (after one call to warm up) while the budget lasts."""
    function()
    measured: list[float] = []
    while len(measured) < 3 or (sum(measured) < budget and len(measured) < most):
        measured.append(cpu(function)[0])
    return statistics.median(measured)


def rss() -> float:
    """Memory of this process now, MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def peak_rss() -> float:
    """Largest memory this process ever had, MB.

    A child starts with its parent's peak, so measure in a child of a small parent (see `child`).
    """
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(script: str, part: str, *arguments: object) -> dict[str, Any]:
    """Run ``script --part part arguments`` in a process of its own; its last line is JSON."""
    command = [sys.executable, script, "--part", part, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# -------------------------------------------------------------------------------------------- output


class Claim(NamedTuple):
    """A number that was promised, and the number that was measured."""

    what: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def holds(self) -> bool:
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)

    @property
    def limit(self) -> str:
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


def parser(doc: str | None) -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    found.add_argument("--quick", action="store_true", help="smaller; the claims are not judged")
    found.add_argument("--part", help=argparse.SUPPRESS)
    return found


def files_folder() -> Path:
    """The folder of the benchmark files; a script that cannot do without it ends here, in peace."""
    folder = os.environ.get("ABSENTIA_DATA")
    if not folder:
        print("set ABSENTIA_DATA to the folder with the benchmark files; there is nothing to run without")
        sys.exit(0)
    return Path(folder)


def environment() -> dict[str, Any]:
    """The machine and the versions."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = threadpoolctl.threadpool_info()
    return {
        "absentia": absentia.__version__,
        "source": SOURCE,
        "source_changed": source() != SOURCE,
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted({f"{x['internal_api']} {x['version']} {x.get('architecture')}" for x in libraries}),
        "blas_threads": max((x["num_threads"] for x in libraries if x["user_api"] == "blas"), default=1),
    }


def shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else str(_short(value))


def _short(value: Any) -> Any:
    return f"{value:.0f}" if isinstance(value, float) else value


def table(rows: Iterable[dict[str, Any]]) -> None:
    """Print rows under their keys; the first column is left-aligned."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns] + [[shown(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        first = line[0].ljust(widths[0])
        print("  ".join([first, *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]))
    print(flush=True)


def finish(name: str, quick: bool, rows: Sequence[dict[str, Any]], claims: Sequence[Claim] = ()) -> None:
    """Print the table, the claims, the machine, and everything again as one line of JSON."""
    facts = environment()
    print()
    table(rows)
    if claims:
        verdict = {True: "holds", False: "DOES NOT HOLD"}
        table(
            {
                "claim": claim.what,
                "wanted": claim.limit,
                "measured": claim.value,
                "": "(quick: not judged)" if quick else verdict[claim.holds],
            }
            for claim in claims
        )
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB; Python {facts['python']}, "
        f"NumPy {facts['numpy']}, SciPy {facts['scipy']}; {facts['blas_threads']} BLAS thread(s)"
    )
    print(f"absentia {facts['absentia']}, source {facts['source']}")
    if facts["source_changed"]:
        print("WARNING: the source changed during the run; the numbers belong to no one version")
    judged = [
        {"claim": c.what, "wanted": c.limit, "measured": c.value, "holds": None if quick else c.holds}
        for c in claims
    ]
    line = {"benchmark": name, "quick": quick, "rows": rows, "claims": judged, "environment": facts}
    text = json.dumps(line, default=float)
    print(text)
    if path := os.environ.get("BENCH_JSON"):
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(text + "\n")


def accuracy(kernels: Any, y: Any) -> float:
    """Cross-validated accuracy of an SVM on the cosine-normalised sum of completed kernels.

    The completion saw the test samples' kernels, never their labels.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    svm = make_pipeline(absentia.CombineKernels(), SVC(kernel="precomputed"))
    return float(cross_val_score(svm, kernels, y, cv=folds).mean())
