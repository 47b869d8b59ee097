"""How often ``absentia.compare`` names a winner where there is nothing to win: labels that are noise.

    python benchmarks/compare_noise.py [--quick] [--seeds 20]

150 samples in three views that share factors, 30 % of the cells absent, two balanced classes drawn at
random: no method can be right more than half of the time.  Every seed is a data set of its own, compared
in five times five folds.  With Holm's correction a winner, or one that is worse, is to be named in 5 % of
the data sets at most; of 20, two are what luck allows.  A method is recommended all the same, and said not
to be shown.
"""

from __future__ import annotations

import warnings
from typing import Any

import common  # before NumPy: one BLAS thread
import numpy as np

import absentia
from absentia import Views, missingness

METHODS = ["average", "mean-svm", "linear", "fusion", "forest", "cvkt-svm", "mkl", "auto"]
QUICK = ["average", "mean-svm", "linear", "auto"]
LEVEL = 0.05


def made(n: int, seed: int) -> tuple[Views, np.ndarray]:
    """Views that share factors, and classes that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    tables = {f"view{v}": X for v, X in enumerate(common.features(n, 3, rng))}
    y = rng.permutation(np.arange(n) % 2)
    views = Views.from_dict(tables)
    return views.hide(missingness.mcar(views, 0.3, random_state=seed)), y


def outcome(seed: int, quick: bool) -> dict[str, Any]:
    """What is said of one data set."""
    views, y = made(60 if quick else 150, seed)
    repeats = {"repeats": 2, "cv": 3} if quick else {}
    methods = QUICK if quick else METHODS
    found = absentia.compare(views, y, methods=methods, n_jobs=1, random_state=seed, **repeats).results
    adjusted = [one.adjusted for one in found.differences]
    scores = [row.scores[found.metric.name].value for row in found.rows]
    return {
        "seed": seed,
        "winner": found.recommendation.winner,
        "recommended": found.recommendation.recommended,
        "shown": found.recommendation.shown,
        "any differs": min(adjusted) < LEVEL,
        "least p (Holm)": min(adjusted),
        "best score": max(scores),
        "mean score": float(np.mean(scores)),
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--seeds", type=int, help="data sets; 20 by default, 3 with --quick")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for seed in range(arguments.seeds or (3 if arguments.quick else 20)):
        rows.append(outcome(seed, arguments.quick))
        print(rows[-1], flush=True)
    winners = sum(row["winner"] is not None for row in rows)
    shown = sum(row["shown"] for row in rows)
    print(f"\na winner is named on {winners} of {len(rows)} data sets of noise")
    print(f"what is recommended is said to be shown on {shown}")
    claims = [
        common.Claim("data sets of noise with a winner", float(winners), at_most=2.0),
        common.Claim(
            "data sets in which any method differs", float(sum(r["any differs"] for r in rows)), at_most=3.0
        ),
    ]
    common.finish("compare_noise", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
