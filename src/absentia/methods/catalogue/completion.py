"""Methods that complete kernels."""

from functools import partial

from absentia.methods.catalogue._entry import Entry

_completer = partial(Entry, "completer", "kernels", "kernels")
_compared = partial(_completer, compared=("completion",))
_UNLINKED = "link groups of samples that no view sees together: values between them become zero"
_SQUARES = "take more than hundreds of samples: memory grows with views x samples^2"

ENTRIES: tuple[Entry, ...] = (
    _compared(
        "mean",
        "completion:MeanFill",
        "baseline: absent samples are the average sample",
        baseline=True,
        aliases=("mean-fill",),
    ),
    _compared(
        "zero",
        "completion:ZeroFill",
        "baseline: absent samples are like nothing; hard to beat before an SVM",
        baseline=True,
        aliases=("zero-fill",),
    ),
    _compared(
        "knn",
        "completion:KNNFill",
        "many samples, close ones alike in every view; quick, no model; error .125 on digits",
        "tell apart what neighbours differ in",
        max_samples=5000,
    ),
    _compared(
        "svt",
        "completion:SVTFill",
        "views that share a few directions; kernels side by side have low rank",
        "take many thousands of samples: kernels are formed",
        max_samples=5000,
    ),
    _compared(
        "cvkt",
        "completion:CVKT",
        "the first to try: views predict one another, in rounds; error .098 on digits, mean fill .210",
        "learn a view that nobody has together with another one",
        {"solver": "ridge"},
        ("n_iter",),
        default=True,
    ),
    _completer(
        "cvkt-descent",
        "completion:CVKT",
        "the paper's own procedure, for comparison; slow",
        "keep observed values, or stay positive semidefinite",
        {"solver": "descent"},
        ("ridge", "rounds"),
        max_samples=10,
    ),
    _compared(
        "mkmc-pca",
        "completion:MKMC",
        "several views that share structure, and a model of it; error .104 on digits",
        _UNLINKED,
        {"covariance": "pca"},
        aliases=("PCA-MKMC",),
    ),
    _compared(
        "mkmc-fa",
        "completion:MKMC",
        "mkmc-pca where some samples are much noisier than others",
        _UNLINKED,
        {"covariance": "fa"},
        aliases=("FA-MKMC",),
    ),
    _compared(
        "mkmc-full",
        "completion:MKMC",
        "few samples and many views; can follow noise",
        "take thousands of samples: time grows with their cube",
        {"covariance": "full"},
        ("n_components", "center", "dtype"),
        max_samples=2000,
        aliases=("FC-MKMC",),
    ),
    _compared(
        "em",
        "completion:EMFill",
        "views that predict one another linearly; slow beyond some ten views",
        "take thousands of samples with many patterns of absence",
        max_samples=2000,
    ),
    _compared(
        "auto",
        "completion:AutoCompleter",
        "mean, cvkt or mkmc-pca for each view, by hiding; error .098 on digits, 2 to 30 times cvkt's time",
        "choose well where a view has few samples to hide",
    ),
    _compared(
        "mkc-ht",
        "completion:MKC",
        "views alike in who resembles whom; a classic to compare with",
        _SQUARES,
        {"variant": "ht"},
        max_samples=500,
        aliases=("MKC-embd-ht",),
    ),
    _compared(
        "mkc-app",
        "completion:MKC",
        "mkc-ht for views whose kernels themselves are alike",
        "take more than hundreds of samples, or repeat itself exactly in another order",
        {"variant": "app"},
        max_samples=500,
    ),
    _compared(
        "mkc-sdp",
        "completion:MKC",
        "a view is a mixture of the others; quick on few samples",
        _SQUARES,
        {"variant": "sdp"},
        ("c1", "c3"),
        max_samples=500,
    ),
)
