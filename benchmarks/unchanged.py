"""Do all methods still give the same numbers?  For changes that are meant to change none.

    python benchmarks/unchanged.py save before.npz        # with the old source
    python benchmarks/unchanged.py compare before.npz     # with the new source

Every method is fitted on fixed data: completed kernels, new samples, scores, probabilities, matrices.
`compare` lists every array that differs by more than 1e-10 of its largest value, and counts those equal to
the bit.
"""

import argparse
import sys
import time
import warnings

import numpy as np

import absentia as ab
from absentia import KernelViews, ViewKernels, datasets, missingness
from absentia.papers.protocols._cvkt import fit_mic

SAME = 1e-10


def completers():
    """Every completer, in the forms that differ in code."""
    fixed = {"max_iter": 15, "tol": 0}
    return {
        "zero": ab.ZeroFill(),
        "mean": ab.MeanFill(),
        "mean, blocks": ab.MeanFill("blocks"),
        "mean, entries": ab.MeanFill("entries"),
        "knn": ab.KNNFill(5),
        "svt": ab.SVTFill(),
        "svt, fixed": ab.SVTFill(0.1),
        "em": ab.EMFill(),
        "em, fixed": ab.EMFill(3, ridge=0.1),
        "mkc ht": ab.MKC("ht", **fixed),
        "mkc app": ab.MKC("app", max_iter=6, tol=0),
        "mkc sdp": ab.MKC("sdp", **fixed),
        "mkc ht, not centred": ab.MKC("ht", center=False, **fixed),
        "mkmc full, paper": ab.MKMC("full", algorithm="paper", **fixed),
        "mkmc pca, paper": ab.MKMC("pca", n_components=4, algorithm="paper", **fixed),
        "mkmc fa, paper": ab.MKMC("fa", n_components=4, algorithm="paper", **fixed),
        "mkmc full": ab.MKMC("full", **fixed),
        "mkmc pca": ab.MKMC("pca", n_components=3),
        "mkmc fa": ab.MKMC("fa", n_components=3),
        "mkmc, gk": ab.MKMC("pca", n_components="gk", tol=1e-5),
        "mkmc, auto": ab.MKMC("pca", tol=1e-5),
        "mkmc, kaiser": ab.MKMC("fa", n_components="kaiser", tol=1e-5),
        "mkmc, heldout": ab.MKMC("pca", n_components="heldout", tol=1e-5),
        "mkmc, single": ab.MKMC("pca", n_components=3, dtype="float32", max_iter=5, tol=0),
        "cvkt": ab.CVKT(rounds=1),
        "cvkt, heldout": ab.CVKT(),
        "cvkt, rounds": ab.CVKT(rounds=3),
        "cvkt, landmarks": ab.CVKT(n_landmarks=12, rounds=2),
        "cvkt, closed": ab.CVKT(solver="closed", rank=0.3, rounds=1),
        "cvkt, overwritten": ab.CVKT(keep_observed=False, rounds=1),
        "cvkt, descent": ab.CVKT(solver="descent", n_landmarks=0.5, rank=5, n_iter=10),
        "cvkt, descent chosen": ab.CVKT(solver="descent", n_iter=3),
    }


def classifiers():
    """Every classifier, and whether it takes features."""
    kernels = {
        "mkl": ab.MKLClassifier(C=10),
        "mkl, 2-norm": ab.MKLClassifier(norm=2),
        "convex": ab.AbsentMKLClassifier("convex", C=10),
        "convex, mean": ab.AbsentMKLClassifier("convex", constraint="mean", class_weight="balanced"),
        "iterative": ab.AbsentMKLClassifier("iterative", max_iter=50),
        "penalized": ab.AbsentMKLClassifier("penalized"),
        "penalized, two steps": ab.AbsentMKLClassifier("penalized", two_step=True, max_iter=30),
        "average": ab.AverageKernelSVC(),
        "average, rows": ab.AverageKernelSVC(normalize="rows"),
    }
    return kernels, {"mmaf": ab.MMAFClassifier(0.01, max_iter=50)}


def incomplete(n=90, classes=10):
    """Digits with a third of their views hidden, a sample without any, and their labels."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    keep = missingness.mcar(views, 0.35, random_state=3)
    keep[7] = False
    return views.hide(keep), y % classes


def kernel_problems():
    """Kernels to learn from, and rows of new samples against them."""
    views, _ = incomplete()
    train, new = np.sort(np.concatenate([np.arange(0, 90, 3), np.arange(2, 90, 3)])), np.arange(1, 90, 9)
    makes = ViewKernels().fit(views[train])
    yield "digits", makes.fit_transform(views[train]), makes.transform(views[new])
    linear, factors = ViewKernels("linear").fit_transform(views), {}
    for v, name in enumerate(views.names):
        K = linear.block(name)
        factors[name] = (
            views.ids[views.observed[:, v]],
            np.linalg.cholesky(K + 0.1 * np.eye(len(K)))[:, :20],
        )
    whole = KernelViews.from_factors(factors)
    train, new = np.arange(60), np.arange(60, len(whole))
    yield "factors", whole[np.ix_(train, train)], whole[np.ix_(new, train)]


def completed(found):
    """By problem and method: completed training kernels, rows of new samples, their own values."""
    for where, kernels, rows in kernel_problems():
        for name, method in completers().items():
            if where == "factors" and name.startswith(("mkc", "cvkt, descent", "mkmc full")):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                full = method.fit_transform(kernels)
                new = method.transform(rows)
            found[f"{where}/{name}/train"] = full.to_dense()
            found[f"{where}/{name}/own"] = np.stack([full.diagonal(v) for v in full.names])
            found[f"{where}/{name}/new"] = new.to_dense()
            found[f"{where}/{name}/new own"] = np.stack([new.diagonal(v) for v in new.names])
            if hasattr(method, "objective_") and not isinstance(method.objective_, dict):
                found[f"{where}/{name}/objective"] = np.asarray(method.objective_)


def classified(found):
    """Scores, probabilities, weights; two classes and ten."""
    for classes in (2, 10):
        views, y = incomplete(classes=classes)
        train, new = np.arange(0, 90, 2), np.arange(1, 90, 2)
        makes = ViewKernels().fit(views[train])
        square, rows = makes.fit_transform(views[train]), makes.transform(views[new])
        on_kernels, on_features = classifiers()
        for name, method in {**on_kernels, **on_features}.items():
            X, Z = (square, rows) if name in on_kernels else (views[train], views[new])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for probabilities in (False, True) if name in ("convex", "mkl") else (False,):
                    if "probability" in method.get_params():
                        method.set_params(probability=probabilities)
                    method.fit(X, y[train])
                    here = f"{classes} classes/{name}{f'/{probabilities}' if probabilities else ''}"
                    found[f"{here}/scores"] = method.decision_function(Z)
                    found[f"{here}/predicted"] = method.predict(Z)
                    found[f"{here}/unusable"] = method.unusable(Z)
                    if probabilities:
                        found[f"{here}/probabilities"] = method.predict_proba(Z)
                    if hasattr(method, "weights_"):
                        found[f"{here}/weights"] = method.weights_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor = ab.MKLRegressor(C=10, epsilon=0.01).fit(square, np.sin(y[train] * 1.0))
    found["regressor"] = regressor.predict(rows)
    found["mic/train"] = fit_mic(views[train], 5, scale="minmax", max_iter=50, tol=0).state.star


def table(n=40, m=6, hidden=0.2, seed=0):
    rng = np.random.default_rng(seed)
    K = np.exp(-0.5 * np.subtract.outer(np.linspace(0, 6, n), np.linspace(0, 6, n)) ** 2)
    X = np.linalg.cholesky(K + 1e-6 * np.eye(n)) @ rng.standard_normal((n, m))
    X = X + rng.standard_normal((n, 3)) @ rng.standard_normal((3, m)) * 0.5
    return np.where(rng.random(X.shape) < hidden, np.nan, X), K, rng


def matrices(found):
    """Matrix models: completed entries, deviations, new rows, labels."""
    X, K, rng = table()
    C = np.cov(np.nan_to_num(X).T) + 0.1 * np.eye(X.shape[1])
    forms = {
        "both": {"row_kernel": K, "col_kernel": C},
        "rows": {"row_kernel": K},
        "columns": {"col_kernel": C},
        "map": {"row_kernel": K, "col_kernel": C, "inference": "map"},
        "gibbs": {"row_kernel": K, "col_kernel": C, "inference": "gibbs", "n_samples": 50},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, options in forms.items():
            imputer = ab.PMAImputer(**options).fit(X)
            found[f"pma/{name}"], found[f"pma/{name}/std"] = imputer.predict(return_std=True)
            found[f"pma/{name}/new"] = imputer.transform(X[:5, ::1] * 0.5)
            found[f"pma/{name}/likelihood"] = np.array(imputer.log_marginal_likelihood_)
            found[f"pma/{name}/draws"] = imputer.sample(2)
        rng.random(120), rng.standard_normal(120)  # what follows is drawn as when arrays were first saved
        found["pmf"] = ab.PMF(max_iter=50).fit_transform(X)
        features = rng.standard_normal((60, 4))
        truth = np.sign(features @ rng.standard_normal((4, 3)) + 0.5 * rng.standard_normal((60, 3)))
        Y = np.where(rng.random(truth.shape) < 0.2, np.nan, truth)
        for name in ("PMAClassifier", "MatrixLMC", "LabelGP", "MLKNN", "IBLR", "PartialLabelSVM"):
            model = getattr(ab, name)().fit(features[:45], Y[:45])
            found[f"labels/{name}"] = model.decision_function(features[45:])
            found[f"labels/{name}/probabilities"] = model.predict_proba(features[45:])
        regressor = ab.PMARegressor(label_covariance=True).fit(features[:45], Y[:45])
        found["targets"], found["targets/std"] = regressor.predict(features[45:], return_std=True)


def predictors():
    """What learns from views: classifiers, regressors, survival models, several labels."""
    linear = ab.EarlyFusionClassifier("logistic", C=0.1)
    classes = {
        "cvkt": ab.AbsentClassifier(ab.CVKT(rounds=1), C=1.0),
        "mean": ab.AbsentClassifier(ab.MeanFill()),
        "zero": ab.AbsentClassifier(None),
        "mkl": ab.AbsentClassifier(ab.MeanFill(), combine="mkl", C=1.0),
        "fusion": ab.LateFusion(),
        "fusion, skill": ab.LateFusion(linear, rule="skill"),
        "stacking": ab.ViewStacking(linear),
        "auto": ab.AutoClassifier({"zero": ab.AbsentClassifier(None, C=1.0), "linear": linear}),
        "forest": ab.EarlyFusionClassifier(n_trees=20),
        "boosting": ab.EarlyFusionClassifier("boosting", n_trees=20),
        "logistic": ab.EarlyFusionClassifier("logistic"),
    }
    values = {
        "ridge": ab.AbsentRegressor(),
        "ridge, mean": ab.AbsentRegressor(ab.MeanFill()),
        "forest": ab.EarlyFusionRegressor(n_trees=20),
        "linear": ab.EarlyFusionRegressor("ridge"),
    }
    return classes, values


def predicted(found):
    """Probabilities, numbers, risks and several labels of new samples, from views."""
    views, y = incomplete(classes=3)
    train, new = np.arange(0, 90, 2), np.arange(1, 90, 2)
    classes, values = predictors()
    rng = np.random.default_rng(0)
    value = y + 0.3 * rng.standard_normal(len(y))
    times = np.column_stack([rng.exponential(np.exp(-y)), rng.random(len(y)) < 0.7])
    labels = np.where(rng.random((len(y), 2)) < 0.2, np.nan, np.column_stack([y == 0, y == 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in classes.items():
            found[f"predicted/{name}"] = model.fit(views[train], y[train]).predict_proba(views[new])
        for name, model in values.items():
            found[f"numbers/{name}"] = model.fit(views[train], value[train]).predict(views[new])
        survival = ab.AbsentSurvival().fit(views[train], times[train])
        found["survival"] = survival.predict(views[new])
        several = ab.PerLabel(ab.AbsentClassifier(None, C=1.0)).fit(views[train], labels[train])
        found["several labels"] = np.asarray(several.predict_proba(views[new]))


def numbers():
    found = {}
    for part in (completed, classified, matrices, predicted):
        start = time.process_time()
        part(found)
        print(f"{part.__name__}: {time.process_time() - start:.0f} CPU s", file=sys.stderr)
    return {name: np.asarray(value) for name, value in found.items()}


def difference(old, new):
    """Largest difference relative to the largest value; infinite if the arrays are not alike at all."""
    if old.shape != new.shape or old.dtype.kind not in "fiub":
        return 0.0 if old.shape == new.shape and np.array_equal(old, new) else np.inf
    gap = np.abs(np.nan_to_num(old.astype(float)) - np.nan_to_num(new.astype(float))).max(initial=0.0)
    return float(gap / max(np.abs(np.nan_to_num(old.astype(float))).max(initial=0.0), 1e-300))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["save", "compare"], nargs="?", default="save")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--quick", action="store_true", help="run once and keep nothing")
    options = parser.parse_args()
    found = numbers()
    if options.quick or options.file is None:
        print(f"{len(found)} arrays")
    elif options.what == "save":
        np.savez_compressed(options.file, **found)
    else:
        with np.load(options.file) as old:
            apart = {
                name: difference(old[name], found[name]) if name in found else np.inf for name in old.files
            }
        beyond = {name: gap for name, gap in apart.items() if gap > SAME}
        same = sum(gap == 0 for gap in apart.values())
        print(f"{len(apart)} arrays: {same} equal to the bit, {len(beyond)} apart by more than {SAME:g}")
        for name, gap in sorted(beyond.items(), key=lambda item: -item[1]):
            print(f"{gap:10.2g}  {name}")
        sys.exit(bool(beyond))


if __name__ == "__main__":
    main()
