"""
Kernels before and after completion
===================================

Three kernels of the same digits. A third of the samples lack each view: rows and columns that are
grey. Cross-view kernel transfer (CVKT) fills them from the other views, and leaves what was
observed as it was.
"""

from absentia import CVKT, ViewKernels, datasets, missingness
from absentia.plots import KernelDisplay

views, y = datasets.load_digit_views(n_samples=120, return_X_y=True)
views = views.select(["pixels", "fourier", "profiles"])
views = views.hide(missingness.mcar(views, 0.33, random_state=0))
kernels = ViewKernels().fit_transform(views)
completed = CVKT(rounds=3).fit_transform(kernels)

KernelDisplay.from_kernels(y, observed=kernels, completed=completed)
