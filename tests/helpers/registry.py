"""The registry: one line enrols a method in all generic tests."""

from absentia import (
    CVKT,
    MKC,
    MKMC,
    AbsentClassifier,
    AbsentMKLClassifier,
    AbsentRegressor,
    AbsentSurvival,
    AutoClassifier,
    AutoCompleter,
    AutoRegressor,
    AutoSurvival,
    AverageKernelSVC,
    EarlyFusionClassifier,
    EarlyFusionRegressor,
    EarlyFusionSurvival,
    EMFill,
    FactorCox,
    FactorLogistic,
    FactorRidge,
    KernelLogistic,
    KNNFill,
    LateFusion,
    MeanFill,
    MKLClassifier,
    MKLRegressor,
    MMAFClassifier,
    SVTFill,
    ViewStacking,
    ZeroFill,
)
from absentia.testing import CHECKS, checks_of
from helpers.smallest_classifiers import NearestMean, NearestTargets, NearestTimes

# every completer, quick enough to be fitted a hundred times
COMPLETERS = {
    "zero": ZeroFill(),
    "mean": MeanFill(),
    "mean, blocks": MeanFill("blocks"),
    "knn": KNNFill(),
    "svt": SVTFill(),
    "svt, fixed": SVTFill(0.1),
    "em": EMFill(),
    "em, fixed": EMFill(3, ridge=0.1),
    "mkc ht": MKC("ht", max_iter=15, tol=0),
    "mkc app": MKC("app", max_iter=15, tol=0),
    "mkc sdp": MKC("sdp", max_iter=15, tol=0),
    "mkmc full, paper": MKMC("full", max_iter=30, tol=0, algorithm="paper"),
    "mkmc pca, paper": MKMC("pca", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc fa, paper": MKMC("fa", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc full": MKMC("full"),
    "mkmc pca": MKMC("pca", n_components=3),
    "mkmc fa": MKMC("fa", n_components=3),
    "mkmc, auto": MKMC("pca", tol=1e-5),
    "mkmc, gk": MKMC("pca", n_components="gk", tol=1e-5),
    "mkmc, centred": MKMC("pca", n_components=3, center=True),
    "mkmc fa, centred": MKMC("fa", n_components=3, center=True),
    "mkmc, kaiser": MKMC("fa", n_components="kaiser", tol=1e-5),
    "mkmc, heldout": MKMC("pca", n_components="heldout", tol=1e-5),
    # not solver="descent": the paper's procedure overwrites, rescales and is not positive semidefinite
    "cvkt": CVKT(),
    "cvkt, 3 rounds": CVKT(rounds=3),
    "cvkt, landmarks": CVKT(n_landmarks=12, rounds=2),
    "cvkt, closed": CVKT(solver="closed", rank=0.3),
    "auto completer": AutoCompleter(),
}

# variants of methods above that cost much: their checks are run by `make test-all`
COSTLY = {
    "auto completer",
    "svt",
    "cvkt, closed",
    "mkmc, centred",
    "mkmc full, paper",
    "mkmc, auto",
    "mkmc fa, centred",
    "mkmc, gk",
    "mkmc, kaiser",
    "mkmc, heldout",
    "mkmc pca, paper",
    "mkmc fa, paper",
    "em",
    "average, searched",
    "linear, searched",
    "iterative",
    "fusion",
    "fusion, skill",
    "mkl, 2-norm",
    "convex, mean",
    "average, rows",
    "completed by the others",
    "completed kernels",
}

# completers that stand in other quick tests, and whose checks cost much
HEAVY = {"mkmc full", "mkmc fa"}

# methods whose fit is many fits, or long: `make test` runs these checks of them, `make test-all` all
LONG = {
    *("auto", "chooser", "stacking", "mkl", "penalized", "mmaf", "completed", "completed, svm", "boosting"),
    *("ridge, kernels", "cox, kernels", "forest", "cox, selected", "cox, fusion"),
}
LEAST = {
    "permuting_samples_permutes_the_answers",
    "the_decision_is_the_largest_weighted_probability",
    "saved_models_answer_as_before",
    "what_is_absent_is_never_read",
    "a_class_without_a_view_is_refused",
    "parameters_that_make_no_sense_are_refused_by_name",
    "permuting_samples_permutes_the_result",
    "observed_values_are_untouched_to_the_bit",
    "new_rows_keep_what_was_observed_and_are_complete",
    "wrong_input_is_named",
}


def is_slow(name, check):
    """Whether a check of a method is left to `make test-all`; `make test-portable` is about threads."""
    if "threads" in check and name != "mkl":
        return True
    return name in COSTLY | HEAVY or (name in LONG and check not in LEAST and "threads" not in check)


# every classifier on incomplete data, on kernels or (MMAF) on features
CLASSIFIERS = {
    "mkl": MKLClassifier(),
    "mkl, 2-norm": MKLClassifier(norm=2),
    "convex": AbsentMKLClassifier("convex"),
    "convex, mean": AbsentMKLClassifier("convex", constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative", max_iter=50),
    "penalized": AbsentMKLClassifier("penalized"),
    "average": AverageKernelSVC(),
    "average, rows": AverageKernelSVC(normalize="rows"),
    "kernel logistic": KernelLogistic(),
    "mmaf": MMAFClassifier(0.01, max_iter=50),
    "completed": AbsentClassifier(MeanFill()),
    "completed, svm": AbsentClassifier(MeanFill(), machine="svm", C=1.0),
    "completed by the others": AbsentClassifier(CVKT(rounds=1), C=1.0),
    "completed kernels": AbsentClassifier(CVKT(rounds=1), kernel="precomputed", combine="mkl", C=1.0),
    "average, searched": AbsentClassifier(None),
    "fusion": LateFusion(),
    "fusion, product": LateFusion(EarlyFusionClassifier("logistic", C=0.01), rule="product"),
    "fusion, skill": LateFusion(EarlyFusionClassifier("logistic", C=0.01), rule="skill"),
    "stacking": ViewStacking(EarlyFusionClassifier("logistic", C=0.01)),
    "chooser": AutoClassifier(
        {"zero": AbsentClassifier(None, C=1.0), "linear": EarlyFusionClassifier("logistic", C=0.01)}
    ),
    "factors": FactorLogistic(),
    "forest": EarlyFusionClassifier(n_trees=20),
    "boosting": EarlyFusionClassifier("boosting", n_trees=40),
    "linear": EarlyFusionClassifier("logistic", C=0.1),
    "linear, searched": EarlyFusionClassifier("logistic"),
    "nearest mean": NearestMean(),  # no method of the package: what the base does for the smallest one
}


# every regressor and survival model; their fits are quick
REGRESSORS = {
    "mkl": MKLRegressor(),
    "ridge": AbsentRegressor(MeanFill()),
    "ridge, skill": AbsentRegressor(None, combine="skill", presence=True),
    "ridge, kernels": AbsentRegressor("cvkt", kernel="precomputed"),
    "fusion": AbsentRegressor(combine="fusion"),
    "machine": AbsentRegressor(MeanFill(), combine="mkl"),
    "auto": AutoRegressor(
        {"zero": AbsentRegressor(None), "trees": EarlyFusionRegressor("boosting", n_trees=10)}
    ),
    "factors": FactorRidge(),
    "linear": EarlyFusionRegressor("ridge"),
    "forest": EarlyFusionRegressor(n_trees=20),
    "boosting": EarlyFusionRegressor("boosting", n_trees=40),
    "nearest": NearestTargets(),  # no method of the package
}
SURVIVAL_MODELS = {
    "cox": AbsentSurvival(MeanFill(), alpha=1.0),
    "cox, selected": AbsentSurvival(None),
    "cox, fusion": AbsentSurvival(combine="fusion", alpha=1.0),
    "cox, presence": AbsentSurvival(None, alpha=1.0, presence=True),
    "cox, kernels": AbsentSurvival("cvkt", kernel="precomputed", alpha=1.0),
    "factors": FactorCox(),
    "cox, features": EarlyFusionSurvival(alpha=1.0),
    "auto": AutoSurvival({"zero": AbsentSurvival(None, alpha=1.0), "features": EarlyFusionSurvival()}),
    "nearest": NearestTimes(),  # no method of the package
}
LEARNERS = {"classifier": CLASSIFIERS, "regressor": REGRESSORS, "survival": SURVIVAL_MODELS}


def cases(*kinds, task="classifier"):
    """Every pair of an estimator's name and a check of these kinds that it has to pass, by a name of its own."""
    return {
        f"{name}-{check_name}": (name, check)
        for name, estimator in LEARNERS[task].items()
        for check_name, check in checks_of(estimator).items()
        if any(check is CHECKS[kind].get(check_name) for kind in kinds)
    }
