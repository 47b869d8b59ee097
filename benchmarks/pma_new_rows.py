"""Labels of new samples on Scene, with a quarter of the training labels unknown.

Table 2 of Agovic, Banerjee and Chatterjee (2011): five-fold cross-validation; "-D" discards training
samples with an unknown label. Features are standardised on the training folds; parameters are at their
defaults or chosen from the training labels. Coverage is in percent of its greatest value. Needs
ml_scene.npz in the folder named by ABSENTIA_DATA.
"""

from __future__ import annotations

import os

import common
import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import IBLR, MLKNN, LabelGP, MatrixLMC, PartialLabelSVM, PMAClassifier, datasets, metrics

METHODS = {
    "PMA": lambda: PMAClassifier(label_covariance=False, random_state=0),
    "PMA, label covariance": lambda: PMAClassifier(label_covariance=True, random_state=0),
    "GP per label": lambda: LabelGP(random_state=0),
    "I-LMC": lambda: MatrixLMC(random_state=0),
    "MLKNN": MLKNN,
    "IBLR": IBLR,
    "SVM per label": PartialLabelSVM,
    "PMA-D": lambda: PMAClassifier(label_covariance=False, discard=True, random_state=0),
    "MLKNN-D": lambda: MLKNN(discard=True),
    "IBLR-D": lambda: IBLR(discard=True),
    "SVM-D": lambda: PartialLabelSVM(discard=True),
}


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    if not os.environ.get("ABSENTIA_DATA"):
        print("set ABSENTIA_DATA to the folder with ml_scene.npz")
        return
    data = datasets.load_benchmark("ml_scene")
    X = data.views.block(data.views.names[0]).astype(float)
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    if arguments.quick:
        X, Y = X[::8], Y[::8]
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))[: 1 if arguments.quick else 5]
    rows, claims = [], []
    for name, make in METHODS.items():
        scores, seconds = [], []
        for fold, (train, test) in enumerate(folds):
            hidden = np.random.default_rng(fold).random(Y[train].shape) < 0.25
            model = make_pipeline(StandardScaler(), make())
            gaps = np.where(hidden, np.nan, Y[train])
            took, _ = common.cpu(lambda m=model, t=train, g=gaps: m.fit(X[t], g))
            S = model.decision_function(X[test])
            one, precision = metrics.one_error(Y[test], S), metrics.average_precision(Y[test], S)
            covered, lost = metrics.coverage(Y[test], S, normalize=True), metrics.ranking_loss(Y[test], S)
            scores.append([100 * one, 100 * precision, 100 * covered, 100 * lost])
            seconds.append(took)
        mean = np.mean(scores, axis=0)
        row = {"method": name, "one-error %": float(mean[0]), "avg. precision %": float(mean[1])}
        row |= {
            "coverage %": float(mean[2]),
            "ranking loss %": float(mean[3]),
            "CPU s": float(np.mean(seconds)),
        }
        rows.append(row)
        print(" ", {k: common.shown(v) for k, v in row.items()}, flush=True)
        if name in ("PMA", "PMA, label covariance"):
            claims.append(common.Claim(f"{name}: one-error %", row["one-error %"], at_most=21))
            claims.append(
                common.Claim(f"{name}: average precision %", row["avg. precision %"], at_least=87)
            )
    common.finish("pma_new_rows", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
