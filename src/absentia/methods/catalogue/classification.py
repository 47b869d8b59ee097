"""Methods that learn classes."""

from functools import partial
from typing import Any

from absentia.methods.catalogue._entry import Entry

_classifier = partial(Entry, "classifier", "kernels", "classes")
_feature_classifier = partial(Entry, "classifier", "features", "classes")
_view_classifier = partial(Entry, "classifier", "views or kernels", "classes")

#: C is selected by held-out samples in ``fit``, unless it is given: one rule for all that are ranked.
_SELECTED: dict[str, Any] = {"defaults": {"C": "cv"}}
_machine = partial(_classifier, **_SELECTED)
_amkl = partial(_machine, where="learning:AbsentMKLClassifier")

_CLASSES: dict[str, Any] = {"compared": ("classes",)}
_BOTH: dict[str, Any] = {"compared": ("classes", "labels")}
_BASELINE: dict[str, Any] = {"baseline": True}

_COMPLETED = _view_classifier(
    "completed",
    "prediction:AbsentClassifier",
    "kernels completed (--completer, by default cvkt), logistic regression on their average",
    fixed={"machine": "logistic", "combine": "average"},
    without=("norm", "tol"),
    aliases=("complete-then-learn",),
)
_SVM = _view_classifier(
    "svm",
    "prediction:AbsentClassifier",
    "the same with a support vector machine, on the average or with learned weights (--combine)",
    fixed={"machine": "svm"},
)


def _logistic(name: str, when: str, kernel: str, **fields: Any) -> Entry:
    """Logistic regression on the average of kernels that cvkt has completed."""
    return _COMPLETED.variant(name, when, {"completer": "cvkt", "kernel": kernel}, **fields)


def _svm(name: str, when: str, completer: str | None, combine: str = "average", **fields: Any) -> Entry:
    """A support vector machine on kernels that `completer` has completed."""
    without = () if combine == "mkl" else ("norm",)  # norms are of learned weights alone
    fixed = {"completer": completer, "combine": combine}
    return _SVM.variant(name, when, fixed, **{"without": without} | fields)


_FUSION = _view_classifier(
    "fusion",
    "prediction:LateFusion",
    "logistic regression per view on the samples that have it, probabilities averaged",
    "see what only views together tell",
    {"rule": "mean"},
    aliases=("late-fusion",),
    **_BOTH,
    **_BASELINE,
)

ENTRIES: tuple[Entry, ...] = (
    _machine(
        "average",
        "learning:AverageKernelSVC",
        "baseline: one machine on the average of the kernels, absent = zero; hard to beat",
        "weigh views",
        **_BOTH,
        **_BASELINE,
    ),
    _feature_classifier(
        "complete-cases",
        "prediction:EarlyFusionClassifier",
        "baseline: logistic regression on the samples that have every view",
        "learn where no sample of a class has every view",
        {"model": "logistic", "complete_cases": True},
        ("n_trees", "random_state"),
        **_CLASSES,
        **_BASELINE,
    ),
    _svm(
        "mean-svm",
        "baseline: absent samples are the average sample, one machine on the average kernel",
        "mean",
        **_BOTH,
        **_BASELINE,
    ),
    _feature_classifier(
        "linear",
        "prediction:EarlyFusionClassifier",
        "logistic regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or curved boundaries",
        {"model": "logistic"},
        ("complete_cases", "n_trees", "random_state"),
        aliases=("logistic",),
        **_BOTH,
        **_BASELINE,
    ),
    _FUSION,
    *_FUSION.by_kernel("fusion", "the same with {} kernels"),
    _feature_classifier(
        "factors",
        "prediction:FactorLogistic",
        "very many samples, also in chunks: logistic regression on factors, side by side and per view",
        "learn from kernels",
    ),
    _feature_classifier(
        "forest",
        "prediction:EarlyFusionClassifier",
        "a random forest on all features side by side, absent ones the mean; few assumptions",
        "learn from kernels, or be sure with few samples and many features",
        {"model": "forest"},
        ("complete_cases", "C"),
        aliases=("random-forest",),
        **_BOTH,
        **_BASELINE,
    ),
    _feature_classifier(
        "boosting",
        "prediction:EarlyFusionClassifier",
        "boosted trees on all features side by side, absent ones as they are; hundreds of samples",
        "learn from kernels, or from a few dozen samples",
        {"model": "boosting"},
        ("complete_cases", "C"),
        aliases=("gradient-boosting",),
        **_CLASSES,
        **_BASELINE,
    ),
    _machine(
        "mkl",
        "learning:MKLClassifier",
        "most samples have most views; an absent view counts as zero, few views get weight",
        aliases=("ZF-MKL",),
        **_BOTH,
    ),
    _amkl(
        name="amkl-convex",
        when="every sample judged in its own views; the same as mkl once a sample has all views",
        cannot="differ from mkl if one training sample has every view",
        fixed={"formulation": "convex"},
        without=("lam", "max_iter", "tau_min", "two_step", "paper_form"),
        aliases=("C-AMKL",),
        **_BOTH,
    ),
    _amkl(
        name="amkl-mean",
        when="the same with views judged on average, which complete samples do not turn into mkl",
        fixed={"formulation": "convex", "constraint": "mean"},
        without=("lam", "max_iter", "tau_min", "two_step", "paper_form"),
    ),
    _amkl(
        name="amkl-iterative",
        when="a few views carry the classes and many samples lack one of them; slower, no guarantee",
        cannot="promise to converge",
        fixed={"formulation": "iterative"},
        without=("lam", "constraint", "two_step", "paper_form"),
        aliases=("I-AMKL",),
        **_CLASSES,
    ),
    _amkl(
        name="amkl-penalized",
        when="samples differ much in how many views they have; margins shrink with the share present",
        fixed={"formulation": "penalized"},
        without=("max_iter", "constraint", "two_step", "paper_form"),
        aliases=("I-AMKL-lambda", "I-AMKL-λ"),
        **_CLASSES,
    ),
    _feature_classifier(
        "mmaf",
        "learning:MMAFClassifier",
        "a linear machine on the features that each sample has; features comparable, few of them",
        "learn from kernels, or curved boundaries",
        **_SELECTED,
    ),
    _COMPLETED,
    _SVM,
    _svm(
        "zero-svm",
        "baseline: absent views count as zero, samples of unit length, one machine; many samples",
        None,
    ),
    _svm("knn-svm", "kernels completed by knn, one machine on their average; quick", "knn", **_CLASSES),
    _svm("svt-svm", "kernels completed by svt, one machine on their average", "svt", **_CLASSES),
    _svm(
        "cvkt-svm",
        "kernels completed by cvkt, one machine on their average; good nearly everywhere",
        "cvkt",
        **_BOTH,
    ),
    _logistic(
        "cvkt-linear",
        "linear kernels completed by cvkt, logistic regression on their average; many features, texts",
        "linear",
        cannot="learn curved boundaries",
        **_CLASSES,
    ),
    _logistic("cvkt-rbf", "the same with rbf kernels: curved boundaries", "rbf", **_CLASSES),
    _COMPLETED.variant(
        "zero-rbf",
        "rbf kernels as they are, absent views count as zero, logistic regression on their average; quick",
        {"completer": None, "kernel": "rbf"},
    ),
    _svm(
        "cvkt-mkl",
        "kernels completed by cvkt, weights of the views learned with the machine",
        "cvkt",
        "mkl",
        **_CLASSES,
    ),
    _svm("mkmc-svm", "kernels completed by mkmc-pca, one machine on their average", "mkmc-pca", **_CLASSES),
    _svm(
        "em-svm",
        "kernels completed by em, one machine on their average; slow",
        "em",
        cannot="take thousands of samples",
        **_CLASSES,
    ),
    _svm(
        "mean-mkl",
        "absent samples are the average sample, weights learned",
        "mean",
        "mkl",
        aliases=("MF-MKL",),
    ),
    _svm("em-mkl", "kernels completed by em, weights learned", "em", "mkl"),
    _svm("svt-mkl", "kernels completed by svt, weights learned", "svt", "mkl"),
    _view_classifier(
        "stacking",
        "prediction:ViewStacking",
        "one machine per view, weights of the views learned on held-out samples; hundreds of samples",
        "see what only views together tell",
        **_CLASSES,
    ),
    Entry.average_of_kinds("classifier", "classes", "prediction:AutoClassifier", **_BOTH),
)
