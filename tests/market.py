"""The registry: one line enrols a method in all generic tests."""

from absentia import MKC, MKMC, MeanFill, ZeroFill

# every completer, quick enough to be fitted a hundred times
COMPLETERS = {
    "zero": ZeroFill(),
    "mean": MeanFill(),
    "mkc ht": MKC("ht", max_iter=15, tol=0),
    "mkc app": MKC("app", max_iter=15, tol=0),
    "mkc sdp": MKC("sdp", max_iter=15, tol=0),
    "mkmc full, paper": MKMC("full", max_iter=30, tol=0, algorithm="paper"),
    "mkmc pca, paper": MKMC("pca", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc fa, paper": MKMC("fa", n_components=4, max_iter=30, tol=0, algorithm="paper"),
    "mkmc full": MKMC("full", max_iter=2000, tol=1e-9),
    "mkmc pca": MKMC("pca", n_components=3, max_iter=2000, tol=1e-12),
    "mkmc fa": MKMC("fa", n_components=3, max_iter=2000, tol=1e-12),
}

# how far the same problem in another order may end from itself: iterates of the accelerated methods
# depend on the order in rounding and in the random start, and near the optimum the objective is flat
REORDERED = {"mkmc full": 2e-3, "mkmc pca": 1e-3, "mkmc fa": 1e-3}
