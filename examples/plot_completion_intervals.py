"""
How far may completed entries be off?
=====================================

A completed entry has an interval: observed samples are hidden as absent ones are, and what comes
back says how far off entries are. Of nine tenths that are promised, this many hold.
"""

import matplotlib.pyplot as plt

from absentia import CVKT, ViewKernels, calibrate_completer, datasets, missingness

views = datasets.load_digit_views(n_samples=100).views.select(["pixels", "profiles", "gradients"])
truth = ViewKernels().fit_transform(views)
hidden = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
intervals = calibrate_completer(CVKT(rounds=2), hidden)
print(intervals.table(coverage=0.9).round(3))

# %%
# Entries of one absent sample with all others, with their intervals, and the truth.

sample = int((~hidden.observed[:, 0]).argmax())
low, high = (end[sample] for end in intervals.interval("pixels", coverage=0.9))
order = truth.block("pixels")[sample].argsort()[:-1]
figure, ax = plt.subplots(layout="constrained")
ax.vlines(range(len(order)), low[order], high[order], color="0.75", label="90 % interval")
ax.plot(truth.block("pixels")[sample][order], ".", label="truth")
ax.set(xlabel=f"samples, by similarity to sample {truth.ids[sample]}", ylabel="kernel value")
ax.legend(frameon=False)
