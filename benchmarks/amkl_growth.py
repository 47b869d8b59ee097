"""Exact C-AMKL to a gap of 1e-5 at 2000 and 5000 samples: CPU seconds and peak memory.

20 RBF kernels, 40 % of the cells absent, nobody with all views.  Each size in a process of its own; the
peak includes making the kernels.
"""

from __future__ import annotations

import json
from typing import Any

import amkl_data
import amkl_vs_cvxpy
import common
import numpy as np


def part(n: int) -> dict[str, Any]:
    X, y = amkl_data.made_up(60)
    amkl_vs_cvxpy.ours(amkl_data.rbf_kernels(X, amkl_data.masked(60, 20, 0.4, seed=0)), y, 1.0)  # compile
    X, y = amkl_data.made_up(n)
    kernels = amkl_data.rbf_kernels(X, amkl_data.masked(n, 20, 0.4, seed=n))
    stored = sum(kernels.block(name).nbytes for name in kernels.names) / common.MB
    seconds, found = common.cpu(lambda: amkl_vs_cvxpy.ours(kernels, y, 1.0))
    point = found.state.point
    return {
        "n": n,
        "CPU s": seconds,
        "gap": found.state.gap,
        "machines": found.state.n_machines,
        "support": int(np.count_nonzero(point.machine.z)),
        "weights": int((point.eta > 1e-6).sum()),
        "rows": len(np.unique(kernels.observed, axis=0)),
        "kernels MB": stored,
        "peak MB": common.peak_rss(),
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--n", type=int)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(part(arguments.n)))
        return
    limits = {300: 99.0} if arguments.quick else {2000: 3.0, 5000: 40.0}
    rows = [common.child(__file__, "fit", "--n", n) for n in limits]
    claims = [
        common.Claim(f"CPU s, n={row['n']}", row["CPU s"], at_most=limit)
        for row, limit in zip(rows, limits.values(), strict=True)
    ]
    claims.append(common.Claim(f"peak MB, n={rows[-1]['n']}", rows[-1]["peak MB"], at_most=3500.0))
    claims += [common.Claim(f"gap, n={row['n']}", row["gap"], at_most=1e-5) for row in rows]
    common.finish("amkl_growth", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
