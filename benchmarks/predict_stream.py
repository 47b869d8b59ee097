"""Predicting: CPU milliseconds of one sample by a `Predictor`, and samples per CPU second in blocks.

    python benchmarks/predict_stream.py [--quick]

300 training samples, 3 views of 50 features, a quarter of the cells absent, the default model.
"""

from __future__ import annotations

import time

import common
import numpy as np

from absentia import AutoClassifier, Predictor, Views


def make_views(n: int, seed: int) -> tuple[Views, np.ndarray]:
    """Views of common factors, and classes by one of these."""
    loadings = np.random.default_rng(0).standard_normal((3, 4, 50))
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 4))
    observed = rng.random((n, 3)) > 0.25
    observed[~observed.any(axis=1), 0] = True
    tables = {f"v{k}": factors @ A + rng.standard_normal((n, 50)) for k, A in enumerate(loadings)}
    return Views.from_dict(tables, observed=observed), factors[:, 0] + 0.5 * rng.standard_normal(n) > 0


def main() -> None:
    given = common.parser(__doc__).parse_args()
    n_single, n_many = (100, 500) if given.quick else (1000, 5000)
    model = AutoClassifier().fit(*make_views(300, 1))
    new, _ = make_views(n_many, 2)
    predictor = Predictor(model)
    tables = new.to_dict()
    milliseconds = []
    for k in range(n_single):
        row = {name: table[k] for name, table in tables.items() if not np.isnan(table[k]).any()}
        start = time.process_time()
        predictor.predict_proba(row)
        milliseconds.append(1e3 * (time.process_time() - start))
    seconds, _ = common.cpu(lambda: predictor.predict_proba(new))
    median, late = np.percentile(milliseconds, [50, 99])
    rows = [
        {"one sample, ms": median, "99th percentile": late, "samples per s in blocks": n_many / seconds}
    ]
    claims = [common.Claim("one sample, CPU ms, 99th percentile", late, at_most=5.0)]
    common.finish("predict_stream", given.quick, rows, claims)


if __name__ == "__main__":
    main()
