"""Methods that complete kernels, or one matrix.

Each entry has a name, the class, and a line on when to use it.  Errors quoted are average relative errors
of hidden rows on 200 digits in six views, 30 % of the samples of each hidden (``docs/fillers.md``).
"""

from functools import partial

from absentia.methods.catalogue._entry import Entry

_completer = partial(Entry, "completer", "kernels", "kernels")
_compared_completer = partial(_completer, compared=("completion",))
_CANNOT_LINK_GROUPS = "link groups of samples that no view sees together: values between them become zero"
_CANNOT_TAKE_MANY = "take more than hundreds of samples: memory grows with views x samples^2"

_PMA = Entry(
    "matrix",
    "a matrix",
    "a matrix",
    "pma",
    "matrix:PMAImputer",
    "one matrix (CSV, or X in .npz) with missing entries; rows alike, columns too",
    "complete a column of which nothing is observed",
    default=True,
    aliases=("PMA-EXACT",),
)

ENTRIES: tuple[Entry, ...] = (
    _compared_completer(
        "mean",
        "completion:MeanFill",
        "baseline: absent samples are the average sample",
        baseline=True,
        aliases=("mean-fill",),
    ),
    _compared_completer(
        "zero",
        "completion:ZeroFill",
        "baseline: absent samples are like nothing; hard to beat before an SVM",
        baseline=True,
        aliases=("zero-fill",),
    ),
    _compared_completer(
        "knn",
        "completion:KNNFill",
        "many samples, close ones alike in every view; quick, no model; error .125 on digits",
        cannot="tell apart what neighbours differ in",
        max_samples=5000,
    ),
    _compared_completer(
        "svt",
        "completion:SVTFill",
        "views that share a few directions; kernels side by side have low rank",
        cannot="take many thousands of samples whose kernels are not given by factors",
        max_samples=5000,
    ),
    _compared_completer(
        "cvkt",
        "completion:CVKT",
        "the first to try: views predict one another, in rounds; error .098 on digits, mean fill .210",
        cannot="learn a view that nobody has together with another one",
        fixed={"solver": "ridge"},
        without=("n_iter",),
        default=True,
    ),
    _completer(
        "cvkt-descent",
        "completion:CVKT",
        "the paper's own procedure, for comparison; slow",
        cannot="keep observed values, or stay positive semidefinite",
        fixed={"solver": "descent"},
        without=("ridge", "rounds"),
        forms_kernels=True,
        max_samples=10,  # too slow to be tried unless it is named
    ),
    _compared_completer(
        "mkmc-pca",
        "completion:MKMC",
        "several views that share structure, and a model of it; error .104 on digits",
        cannot=_CANNOT_LINK_GROUPS,
        fixed={"covariance": "pca"},
        aliases=("PCA-MKMC",),
    ),
    _compared_completer(
        "mkmc-fa",
        "completion:MKMC",
        "mkmc-pca where some samples are much noisier than others",
        cannot=_CANNOT_LINK_GROUPS,
        fixed={"covariance": "fa"},
        aliases=("FA-MKMC",),
    ),
    _compared_completer(
        "mkmc-full",
        "completion:MKMC",
        "few samples and many views; can follow noise",
        cannot="take thousands of samples: time grows with their cube",
        fixed={"covariance": "full"},
        without=("n_components", "center", "dtype"),
        forms_kernels=True,
        max_samples=2000,
        aliases=("FC-MKMC",),
    ),
    _compared_completer(
        "em",
        "completion:EMFill",
        "views that predict one another linearly; slow beyond some ten views",
        cannot="take thousands of samples with many patterns of absence",
        max_samples=2000,
    ),
    _compared_completer(
        "auto",
        "completion:AutoCompleter",
        "mean, cvkt or mkmc-pca for each view, by hiding; error .098 on digits, 2 to 30 times cvkt's time",
        cannot="choose well where a view has few samples to hide",
    ),
    _compared_completer(
        "mkc-ht",
        "completion:MKC",
        "views alike in who resembles whom; a classic to compare with",
        cannot=_CANNOT_TAKE_MANY,
        fixed={"variant": "ht"},
        forms_kernels=True,
        max_samples=500,
        aliases=("MKC-embd-ht",),
    ),
    _compared_completer(
        "mkc-app",
        "completion:MKC",
        "mkc-ht for views whose kernels themselves are alike",
        cannot="take more than hundreds of samples, or repeat itself exactly in another order",
        fixed={"variant": "app"},
        forms_kernels=True,
        max_samples=500,
    ),
    _compared_completer(
        "mkc-sdp",
        "completion:MKC",
        "a view is a mixture of the others; quick on few samples",
        cannot=_CANNOT_TAKE_MANY,
        fixed={"variant": "sdp"},
        without=("c1", "c3"),
        forms_kernels=True,
        max_samples=500,
    ),
    _PMA,
    _PMA.variant("pma-map", "the same by the paper's alternation; slower", {"inference": "map"}),
    _PMA.variant("pma-gibbs", "the same by Gibbs sampling; slower", {"inference": "gibbs"}),
)
