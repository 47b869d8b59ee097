"""The registry: one line enrols a method in all generic tests."""

from absentia import (
    CVKT,
    MKC,
    MKMC,
    AbsentMKLClassifier,
    AverageKernelSVC,
    EMFill,
    KNNFill,
    MeanFill,
    MKLClassifier,
    MMAFClassifier,
    SVTFill,
    ZeroFill,
)

# every completer, quick enough to be fitted a hundred times
COMPLETERS = {
    "zero": ZeroFill(),
    "mean": MeanFill(),
    "mean, blocks": MeanFill("blocks"),
    "knn": KNNFill(),
    "knn, distance": KNNFill(weights="distance", spread=False),
    "svt": SVTFill(),
    "svt, fixed": SVTFill(0.1, tol=1e-12, max_iter=2000),
    "em": EMFill(),
    "em, fixed": EMFill(3, ridge=0.1, tol=1e-12, max_iter=2000),
    "mkc ht": MKC("ht", max_iter=15, tol=0),
    "mkc app": MKC("app", max_iter=15, tol=0),
    "mkc sdp": MKC("sdp", max_iter=15, tol=0),
    "mkmc full, paper": MKMC("full", max_iter=30, tol=0, algorithm="paper"),
    "mkmc pca, paper": MKMC("pca", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc fa, paper": MKMC("fa", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc full": MKMC("full", max_iter=2000, tol=1e-9),
    "mkmc pca": MKMC("pca", n_components=3, max_iter=2000, tol=1e-12),
    "mkmc fa": MKMC("fa", n_components=3, max_iter=2000, tol=1e-12),
    # not solver="descent": the paper's procedure overwrites, rescales and is not positive semidefinite
    "cvkt": CVKT(),
    "cvkt, 3 rounds": CVKT(rounds=3, rank=10),
    "cvkt, landmarks": CVKT(n_landmarks=12, rounds=2),
    "cvkt, closed": CVKT(solver="closed", rank=0.3),
}

# how far the same problem in another order may end from itself: iterates of the accelerated methods
# depend on the order in rounding and in the random start, and near the optimum the objective is flat
REORDERED = {"mkmc full": 2e-3, "mkmc pca": 1e-3, "mkmc fa": 1e-3}

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
    "alignment": AverageKernelSVC("alignment"),
    "margin": AverageKernelSVC("margin", lam=0.5, normalize="rows"),
    "mmaf": MMAFClassifier(0.01, max_iter=50),
}
