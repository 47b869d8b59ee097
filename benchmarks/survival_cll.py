"""Survival of leukaemia patients (CLL: overall survival, four views, naturally incomplete): concordance.

Five times five folds with their share of the events; all that is learned, down to kernel widths, completion
and penalty, is learned in the folds' training parts. Beside the methods stands the same model put together
from other packages: scikit-learn's kernel PCA of the same kernels, and the ridge Cox regression of
scikit-survival (or, without it, of lifelines), at the same penalty. Needs cll_mofaCLL.npz in the folder
named by ABSENTIA_DATA.
"""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import StratifiedKFold

from absentia import AbsentSurvival, CombineKernels, Views, datasets, experiment, survival
from absentia.methods.prediction._composite import KernelPipeline
from absentia.tasks import SURVIVAL, Plan

METHODS = {
    "cox (cvkt, average kernel)": AbsentSurvival(),
    "cox, zero-filled kernels": AbsentSurvival(None),
    "cox-fusion": AbsentSurvival(combine="fusion"),
    "cox and presence": AbsentSurvival(presence=True),
    "cox, zero-filled kernels and presence": AbsentSurvival(None, presence=True),
    "cox-fusion and presence": AbsentSurvival(combine="fusion", presence=True),
    "cox, mean-filled kernels": AbsentSurvival("mean"),
    "cox, mean-filled kernels and presence": AbsentSurvival("mean", presence=True),
    "cox, linear kernels and presence": AbsentSurvival(kernel="linear", presence=True),
}


def cohort() -> tuple[Views, np.ndarray]:
    bunch = datasets.load_benchmark("cll_mofaCLL")
    years, died = bunch.extra["OS_years"].astype(float), bunch.extra["died"]
    known = np.flatnonzero(np.isfinite(years) & np.isin(died, (0, 1)) & bunch.views.observed.any(axis=1))
    return bunch.views[known], survival.Survival(years[known], died[known] == 1).to_array()


def elsewhere(train: Views, y: np.ndarray, test: Views, model: AbsentSurvival) -> np.ndarray:
    """Risks of the same model by other packages."""
    prepared = KernelPipeline(model.kernel, model.completer, presence=model.presence)
    combines = CombineKernels()
    K = np.asarray(combines.fit_transform(prepared.fit_transform(train)))
    rows = np.asarray(combines.transform(prepared.transform(test)))
    pca = KernelPCA(kernel="precomputed", remove_zero_eig=True).fit(K)
    return ridge(pca.transform(K), y, pca.transform(rows), model.alpha_)


def ridge(Z: np.ndarray, y: np.ndarray, new: np.ndarray, alpha: float) -> np.ndarray:
    try:
        from sksurv.linear_model import CoxPHSurvivalAnalysis
    except ImportError:
        import pandas as pd
        from lifelines import CoxPHFitter

        # it penalises the mean likelihood of standardised features: one price for each
        scales = Z.std(axis=0, ddof=1)
        frame = pd.DataFrame(Z).assign(time=y["time"], event=y["event"])
        model = CoxPHFitter(penalizer=alpha / len(Z) / scales**2, l1_ratio=0).fit(frame, "time", "event")
        return new @ model.params_.to_numpy()
    return new @ CoxPHSurvivalAnalysis(alpha=alpha, tol=1e-12).fit(Z, y).coef_


def risks(
    model: AbsentSurvival, X: Views, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """Of held-out samples, and those of the other implementation where there is one."""
    with warnings.catch_warnings(action="ignore"):
        found = [model.fit(X[train], y[train]).predict(X[test])]
        if model.combine == "average":
            found.append(elsewhere(X[train], y[train], X[test], model))
    return np.array(found)


def measured(name: str, model: AbsentSurvival, X: Views, y: np.ndarray, repeats: int) -> dict[str, Any]:
    """A row of the table."""
    scores, seconds = [], []
    for repeat in range(repeats):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=repeat).split(y, y["event"]):
            found = risks(model, X, y, train, test)
            scores.append([survival.concordance_index(y["time"][test], y["event"][test], f) for f in found])
            seconds.append(common.cpu(lambda train=train: model.fit(X[train], y[train]))[0])
    table = np.array(scores)
    row = {"method": name, "folds": len(table), "concordance": float(table[:, 0].mean())}
    row |= {"sd of folds": float(table[:, 0].std()), "CPU s a fit": float(np.mean(seconds))}
    if table.shape[1] > 1:
        row["elsewhere"] = float(table[:, 1].mean())
        row["largest difference"] = float(np.abs(table[:, 0] - table[:, 1]).max())
    return row


def differences(X: Views, y: np.ndarray) -> None:
    """On one set of folds: each method against zero-filled kernels, with an interval."""
    plans = {name: Plan(method) for name, method in METHODS.items()}
    found = experiment.cross_validate(SURVIVAL, X, y, plans)
    target, zero = survival.as_survival(y), found.predicted["cox, zero-filled kernels"]
    print("\nout of five folds, 95% intervals by jackknife")
    for name, risk in found.predicted.items():
        own = experiment.concordance(target, risk, found.fold)
        more = experiment.concordance_gain(target, risk, zero, found.fold)
        print(
            f"  {name}: {own.value:.3f} ({own.low:.3f} to {own.high:.3f}); less zero-filled "
            f"{more.value:+.3f} ({more.low:+.3f} to {more.high:+.3f})"
        )


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    common.files_folder()
    X, y = cohort()
    print(f"{len(X)} patients, {y['event'].sum()} deaths", flush=True)
    repeats, rows = 1 if arguments.quick else 5, []
    for name, model in METHODS.items():
        rows.append(measured(name, model, X, y, repeats))
        print(" ", {k: common.shown(v) for k, v in rows[-1].items()}, flush=True)
    only = Views.from_list([X.observed.astype(float)], ids=X.ids)
    rows.append(
        measured("cox on who has which view", AbsentSurvival(None, kernel="linear"), only, y, repeats)
    )
    differences(X, y)
    claims = [
        common.Claim(
            f"{row['method']}: difference of the means",
            abs(row["concordance"] - row["elsewhere"]),
            at_most=1e-3,
        )
        for row in rows[:-1]  # risks of the last one tie, or do not, by rounding
        if "elsewhere" in row
    ]
    common.finish("survival_cll", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
