"""Missing labels recovered on Emotions and Scene: percent of the hidden labels that come back wrong.

Table 1 of Agovic, Banerjee and Chatterjee (2011). 10, 20 and 30 % of the entries of the label matrix are
hidden at random, several masks each; features are standardised. Everything (kernel width, kernels, ridge)
is chosen from the labels that remain. Needs ml_emotions.npz and ml_scene.npz in the folder named by
ABSENTIA_DATA.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from sklearn.preprocessing import StandardScaler

from absentia import PMF, LabelGP, MatrixLMC, PMAClassifier, datasets

LIMITS = {("ml_emotions", 10): 16, ("ml_emotions", 20): 17, ("ml_emotions", 30): 18} | {
    ("ml_scene", 10): 4.5,
    ("ml_scene", 20): 5.5,
    ("ml_scene", 30): 6.5,
}


def completed(model: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda X, Y: model.fit(X, Y).scores_


METHODS: dict[str, Callable[[int], Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "PMA": lambda seed: completed(PMAClassifier(label_covariance=False, random_state=seed)),
    "PMA, label covariance": lambda seed: completed(
        PMAClassifier(label_covariance=True, random_state=seed)
    ),
    "PMA, chosen": lambda seed: completed(PMAClassifier(random_state=seed)),
    "I-LMC": lambda seed: completed(MatrixLMC(random_state=seed)),
    "GP per label": lambda seed: completed(LabelGP(random_state=seed)),
    "PMF": lambda seed: lambda X, Y: PMF(random_state=seed).fit_transform(Y),
}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--data", nargs="+", default=["ml_emotions", "ml_scene"])
    parser.add_argument("--masks", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    arguments = parser.parse_args()
    if not os.environ.get("ABSENTIA_DATA"):
        print("set ABSENTIA_DATA to the folder with ml_emotions.npz and ml_scene.npz")
        return
    rows, claims = [], []
    for name in arguments.data:
        data = datasets.load_benchmark(name)
        X = StandardScaler().fit_transform(data.views.block(data.views.names[0]).astype(float))
        Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
        if arguments.quick:
            X, Y = X[:150], Y[:150]
        for share in (10, 20, 30):
            for method in arguments.methods:
                errors, seconds = [], []
                for seed in range(1 if arguments.quick else arguments.masks):
                    hidden = np.random.default_rng(seed).random(Y.shape) < share / 100
                    gaps = np.where(hidden, np.nan, Y)
                    run = METHODS[method](seed)
                    took, scores = common.cpu(lambda run=run, X=X, gaps=gaps: run(X, gaps))
                    errors.append(100 * np.mean((scores > 0)[hidden] != (Y > 0)[hidden]))
                    seconds.append(took)
                row = {"data": name, "missing %": share, "method": method, "masks": len(errors)}
                row |= {
                    "error %": float(np.mean(errors)),
                    "+-": float(np.std(errors)),
                    "CPU s": float(np.mean(seconds)),
                }
                rows.append(row)
                print(" ", {k: common.shown(v) for k, v in row.items()}, flush=True)
                if method.startswith("PMA"):
                    what = f"{name}, {share} %: {method}, error %"
                    claims.append(common.Claim(what, row["error %"], at_most=LIMITS[name, share]))
    common.finish("pma_labels", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
