"""
How well are kernels completed?
===============================

Cells are hidden, completed and compared with the truth: relative error of the hidden entries by the
share that is hidden, for five completers. The mean is what everything has to beat.
"""

import matplotlib.pyplot as plt

from absentia import CVKT, MKMC, EMFill, KNNFill, MeanFill, ViewKernels, datasets, metrics, missingness

views = datasets.load_digit_views(n_samples=100).views
truth = ViewKernels().fit_transform(views)
shares = [0.1, 0.3, 0.5]
completers = {
    "mean": MeanFill(),
    "nearest neighbours": KNNFill(),
    "EM": EMFill(),
    "MKMC": MKMC("pca"),
    "CVKT": CVKT(rounds=3),
}
figure, ax = plt.subplots(layout="constrained")
for (name, completer), marker in zip(completers.items(), "osD^v", strict=True):
    errors = []
    for share in shares:
        hidden = truth.hide(missingness.mcar(truth, share, random_state=0))
        completed = completer.fit_transform(hidden)
        errors.append(metrics.are(truth, completed, hidden.observed))
    ax.plot(shares, errors, marker=marker, label=name)
ax.set(
    xlabel="share of cells that is hidden", ylabel="relative error of hidden entries (ARE)", ylim=(0, None)
)
ax.legend(frameon=False)
