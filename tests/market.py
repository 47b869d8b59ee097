"""The registry: one line enrols a method in all generic tests."""

from absentia import MKMC, MeanFill, ZeroFill

# every completer, quick enough to be fitted a hundred times
COMPLETERS = {
    "zero": ZeroFill(),
    "mean": MeanFill(),
    "mkmc full": MKMC("full", max_iter=30, tol=0),
    "mkmc pca": MKMC("pca", n_components=4, max_iter=30, tol=0),
    "mkmc fa": MKMC("fa", n_components=4, max_iter=30, tol=0),
}
