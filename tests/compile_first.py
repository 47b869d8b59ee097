"""Compile the machines' loops once, before several processes of tests would each do so."""

import numpy as np

from absentia import KernelViews, MKLClassifier

if __name__ == "__main__":
    kernels = KernelViews.from_dense(np.stack([np.eye(8), np.eye(8) + 1]))
    MKLClassifier(probability=True).fit(kernels, np.arange(8) % 2)
