"""The one list of methods: what there is, what it takes and gives, when to use it, what it cannot do.

The command line, its flags, the demo, the documentation and the tests of laws read it.  A method is one
entry here; its class is loaded when it is first needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal

from absentia.core import Parameter, check_name, parameters_of

Family = Literal["completer", "classifier", "regressor", "representation", "matrix", "survival"]


@dataclass(frozen=True)
class Entry:
    """A method with some parameters set, as it is offered by name.

    `where` is the module below ``absentia.methods`` and the class in it.  `fixed` are the parameters that
    make it this method, `without` those of the class that mean nothing for it.  `most` is how many samples
    it takes in reasonable time and memory, where that is few.
    """

    family: Family
    takes: str
    gives: str
    name: str
    where: str
    when: str
    cannot: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    most: int | None = None

    def load(self) -> Any:
        """Its class."""
        module, _, name = self.where.partition(":")
        return getattr(import_module(f"absentia.methods.{module}"), name)

    def parameters(self) -> dict[str, Parameter]:
        """The parameters that can be given as texts, by flag."""
        left_out = {*self.fixed, *self.without}
        declared = parameters_of(self.load()).values()
        return {p.flag: p for p in declared if p.spoken and p.name not in left_out}

    def make(self, **options: Any) -> Any:
        """An unfitted estimator."""
        return self.load()(**{**self.fixed, **options})

    def read(self, flags: Mapping[str, str]) -> dict[str, Any]:
        """Parameters out of texts by flag; refuse those that mean nothing here."""
        known = self.parameters()
        for flag in flags:
            if flag not in known:
                has = f"it has {', '.join(known)}" if known else "it has no parameters"
                raise ValueError(f"{flag} does not apply to method {self.name!r}; {has}")
        return {known[flag].name: known[flag].parse(text) for flag, text in flags.items()}


_completer = partial(Entry, "completer", "kernels", "kernels")
_classifier = partial(Entry, "classifier", "kernels", "classes")
_assembled = partial(Entry, "classifier", "views or kernels", "classes")


def _completed(name: str, completer: str, when: str, cannot: str = "") -> Entry:
    """A machine on the average of completed kernels."""
    fixed = {"completer": completer, "combine": "average"}
    return _assembled(name, "prediction:AbsentClassifier", when, cannot, fixed, ("norm",))


_joined = partial(Entry, "classifier", "features", "classes")
_regressor = partial(Entry, "regressor", "views or kernels", "numbers")
_joined_regressor = partial(Entry, "regressor", "features", "numbers")
_survival = partial(Entry, "survival", "views or kernels", "risks")
_matrix = partial(Entry, "matrix", "a matrix", "a matrix")
_labels = partial(Entry, "matrix", "features", "labels")

CATALOGUE: tuple[Entry, ...] = (
    _completer(
        "auto",
        "completion:AutoFill",
        "mean, cvkt or mkmc-pca for each view, by hiding; error .098 on digits, 2 to 30 times cvkt's time",
        "choose well where a view has few samples to hide",
    ),
    _completer(
        "mkmc-pca",
        "completion:MKMC",
        "several views that share structure, and a model of it; error .104 on digits",
        "link groups of samples that no view sees together: values between them become zero",
        {"covariance": "pca"},
    ),
    _completer(
        "mkmc-mixture", "completion:MixtureMKMC", "mkmc for views in groups, a model for each; prior chosen"
    ),
    _completer(
        "mkmc-fa",
        "completion:MKMC",
        "the same when some samples are much noisier than others",
        "link groups of samples that no view sees together: values between them become zero",
        {"covariance": "fa"},
    ),
    _completer(
        "mkmc-full",
        "completion:MKMC",
        "few samples and many views; can follow noise",
        "take thousands of samples: time grows with their cube",
        {"covariance": "full"},
        ("n_components", "center", "dtype"),
        most=2000,
    ),
    _completer(
        "cvkt",
        "completion:CVKT",
        "the first to try: views predict one another, in rounds; error .098 on digits, mean fill .210",
        "learn a view that nobody has together with another one",
        {"solver": "ridge"},
        ("n_iter",),
    ),
    _completer(
        "cvkt-descent",
        "completion:CVKT",
        "the paper's own procedure, for comparison; slow",
        "keep observed values, or stay positive semidefinite",
        {"solver": "descent"},
        ("ridge", "rounds"),
        most=10,
    ),
    _completer(
        "em",
        "completion:EMFill",
        "views that predict one another linearly; slow beyond some ten views",
        "take thousands of samples with many patterns of absence",
        most=2000,
    ),
    _completer(
        "svt",
        "completion:SVTFill",
        "views that share a few directions; kernels side by side have low rank",
        "take many thousands of samples: kernels are formed",
        most=5000,
    ),
    _completer(
        "knn",
        "completion:KNNFill",
        "many samples, close ones alike in every view; quick, no model; error .125 on digits",
        "tell apart what neighbours differ in",
        most=5000,
    ),
    _completer(
        "mkc-ht",
        "completion:MKC",
        "views alike in who resembles whom; a classic to compare with",
        "take more than hundreds of samples: memory grows with views x samples^2",
        {"variant": "ht"},
        most=500,
    ),
    _completer(
        "mkc-app",
        "completion:MKC",
        "the same, for views whose kernels themselves are alike",
        "take more than hundreds of samples, or repeat itself exactly in another order",
        {"variant": "app"},
        most=500,
    ),
    _completer(
        "mkc-sdp",
        "completion:MKC",
        "a view is a mixture of the others; quick on few samples",
        "take more than hundreds of samples: memory grows with views x samples^2",
        {"variant": "sdp"},
        ("c1", "c3"),
        most=500,
    ),
    _completer("mean", "completion:MeanFill", "baseline: absent samples are the average sample"),
    _completer(
        "zero",
        "completion:ZeroFill",
        "baseline: absent samples are like nothing; hard to beat before an SVM",
    ),
    _matrix(
        "pma",
        "matrix:PMAImputer",
        "one matrix (CSV, or X in .npz) with missing entries; rows alike, columns too",
        "complete a column of which nothing is observed",
    ),
    _assembled(
        "auto",
        "prediction:Chooser",
        "start here: several kinds of methods tried on held-out samples, and what they say together",
        "say in one number what each view counts",
    ),
    _classifier(
        "mkl",
        "learning:MKLClassifier",
        "most samples have most views; an absent view counts as zero, few views get weight",
    ),
    _classifier(
        "amkl-convex",
        "learning:AbsentMKLClassifier",
        "every sample judged in its own views; the same as mkl once a sample has all views",
        "differ from mkl if one training sample has every view",
        {"formulation": "convex"},
        ("lam", "max_iter", "tau_min", "two_step", "paper_form"),
    ),
    _classifier(
        "amkl-mean",
        "learning:AbsentMKLClassifier",
        "the same with views judged on average, which complete samples do not turn into mkl",
        "",
        {"formulation": "convex", "constraint": "mean"},
        ("lam", "max_iter", "tau_min", "two_step", "paper_form"),
    ),
    _classifier(
        "amkl-iterative",
        "learning:AbsentMKLClassifier",
        "a few views carry the classes and many samples lack one of them; slower, no guarantee",
        "promise to converge",
        {"formulation": "iterative"},
        ("lam", "constraint", "shared_weights", "two_step", "paper_form"),
    ),
    _classifier(
        "amkl-penalized",
        "learning:AbsentMKLClassifier",
        "samples differ much in how many views they have; margins shrink with the share present",
        "",
        {"formulation": "penalized"},
        ("max_iter", "constraint", "two_step", "paper_form"),
    ),
    _classifier(
        "average",
        "learning:AverageKernelSVC",
        "baseline: one machine on the average of the kernels, absent = zero; hard to beat",
        "weigh views",
        {"weights": "uniform"},
        ("lam",),
    ),
    _classifier(
        "alignment",
        "learning:AverageKernelSVC",
        "the same with weights that bring the sum nearest to the labels; quick",
        "",
        {"weights": "alignment"},
        ("lam",),
    ),
    _classifier(
        "easymkl",
        "learning:AverageKernelSVC",
        "the same with weights by how far apart each kernel holds the classes",
        "see that a view is poor where samples that lack it are near the boundary",
        {"weights": "margin"},
    ),
    _joined(
        "mmaf",
        "learning:MMAFClassifier",
        "a linear machine on the features that each sample has; features comparable, few of them",
        "learn from kernels, or curved boundaries",
    ),
    _completed(
        "cvkt-svm",
        "cvkt",
        "kernels completed by cvkt, one machine on their average; good nearly everywhere",
    ),
    _assembled(
        "cvkt-linear",
        "prediction:AbsentClassifier",
        "the same with linear kernels; many features, texts",
        "learn curved boundaries",
        {"completer": "cvkt", "combine": "average", "kernel": "linear"},
        ("norm",),
    ),
    _assembled(
        "cvkt-mkl",
        "prediction:AbsentClassifier",
        "kernels completed by cvkt, weights of the views learned with the machine",
        "",
        {"completer": "cvkt", "combine": "mkl"},
        (),
    ),
    _completed("mkmc-svm", "mkmc-pca", "kernels completed by mkmc-pca, one machine on their average"),
    _completed(
        "em-svm",
        "em",
        "kernels completed by em, one machine on their average; slow",
        "take thousands of samples",
    ),
    _completed("knn-svm", "knn", "kernels completed by knn, one machine on their average; quick"),
    _completed("svt-svm", "svt", "kernels completed by svt, one machine on their average"),
    _completed(
        "mean-svm",
        "mean",
        "baseline: absent samples are the average sample, one machine on the average kernel",
    ),
    _assembled(
        "zero-svm",
        "prediction:AbsentClassifier",
        "baseline: absent views count as zero, samples of unit length, one machine; many samples",
        fixed={"completer": None, "combine": "average"},
        without=("norm",),
    ),
    _assembled(
        "fusion",
        "prediction:LateFusion",
        "one machine per view on the samples that have it, chances averaged",
        "see what only views together tell",
        {"rule": "mean"},
        (),
    ),
    _assembled(
        "stacking",
        "prediction:ViewStacking",
        "the same with weights of the views learned on held-out samples; hundreds of samples",
        "see what only views together tell",
        {},
        (),
    ),
    _joined(
        "forest",
        "prediction:JoinedClassifier",
        "a random forest on all features side by side, absent ones as they are; few assumptions",
        "learn from kernels, or be sure with few samples and many features",
        {"model": "forest"},
        ("complete_cases", "C", "probability"),
    ),
    _joined(
        "boosting",
        "prediction:JoinedClassifier",
        "boosted trees on all features side by side, absent ones as they are; hundreds of samples",
        "learn from kernels, or from a few dozen samples",
        {"model": "boosting"},
        ("complete_cases", "C", "probability"),
    ),
    _joined(
        "linear",
        "prediction:JoinedClassifier",
        "logistic regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or curved boundaries",
        {"model": "logistic"},
        ("complete_cases", "n_trees", "probability", "random_state"),
    ),
    _joined(
        "linear-svm",
        "prediction:JoinedClassifier",
        "a linear machine on all features side by side, absent ones the mean",
        "learn from kernels, or curved boundaries",
        {"model": "svm"},
        ("complete_cases", "n_trees", "random_state"),
    ),
    _joined(
        "complete-cases",
        "prediction:JoinedClassifier",
        "baseline: logistic regression on the samples that have every view",
        "learn where no sample of a class has every view",
        {"model": "logistic", "complete_cases": True},
        ("n_trees", "probability", "random_state"),
    ),
    _regressor(
        "ridge",
        "prediction:AbsentRegressor",
        "kernels completed by cvkt, ridge regression on their average; the first to try",
        "",
        {"completer": "cvkt", "combine": "average"},
        ("norm", "C"),
    ),
    _regressor(
        "mkl-regression",
        "prediction:AbsentRegressor",
        "kernels completed by cvkt, weights of the views learned with a support vector machine",
        "",
        {"completer": "cvkt", "combine": "mkl"},
        ("penalty",),
    ),
    _joined_regressor(
        "forest-regression",
        "prediction:JoinedRegressor",
        "a random forest on all features side by side, absent ones as they are; few assumptions",
        "learn from kernels, or say numbers beyond those of training",
        {"model": "forest"},
        ("complete_cases", "alpha"),
    ),
    _joined_regressor(
        "boosting-regression",
        "prediction:JoinedRegressor",
        "boosted trees on all features side by side, absent ones as they are; hundreds of samples",
        "learn from kernels, or from a few dozen samples",
        {"model": "boosting"},
        ("complete_cases", "alpha"),
    ),
    _joined_regressor(
        "linear-regression",
        "prediction:JoinedRegressor",
        "ridge regression on all features side by side, absent ones the mean; quick, easy to read",
        "learn from kernels, or what is curved",
        {"model": "ridge"},
        ("complete_cases", "n_trees", "random_state"),
    ),
    _regressor(
        "ridge-zero",
        "prediction:AbsentRegressor",
        "baseline: ridge regression on the average of kernels in which absent views are zero",
        "",
        {"completer": None, "combine": "average"},
        ("norm", "C", "random_state"),
    ),
    _regressor(
        "ridge-mean",
        "prediction:AbsentRegressor",
        "baseline: absent samples are the average sample, ridge regression on the average kernel",
        "",
        {"completer": "mean", "combine": "average"},
        ("norm", "C", "random_state"),
    ),
    _joined_regressor(
        "complete-regression",
        "prediction:JoinedRegressor",
        "baseline: ridge regression on the samples that have every view",
        "learn where no two samples have every view",
        {"model": "ridge", "complete_cases": True},
        ("n_trees", "random_state"),
    ),
    _survival(
        "cox",
        "prediction:AbsentSurvival",
        "times and events: ridge Cox regression on the average of the completed kernels",
        "",
        {"combine": "average"},
    ),
    _survival(
        "cox-fusion",
        "prediction:AbsentSurvival",
        "the same for each view on the samples that have it, risks averaged; nothing is completed",
        "",
        {"combine": "fusion"},
        ("completer",),
    ),
)


def offered(*families: Family) -> dict[str, Entry]:
    """The methods of these families by name, in the order of the list."""
    return {entry.name: entry for entry in CATALOGUE if entry.family in families}


def find(name: str, *families: Family) -> Entry:
    """The method of that name, or an error that says which it may have meant."""
    methods = offered(*families)
    check_name("method", name, methods)
    return methods[name]
