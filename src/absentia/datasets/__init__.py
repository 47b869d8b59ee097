"""Data to try things on: made-up views with known truth, bundled digits, public benchmarks."""

from absentia.datasets._addition import make_matrix_addition
from absentia.datasets._archives import (
    fetch_kernels,
    fetch_libsvm,
    fetch_mulan,
    fetch_openml,
    fetch_uci,
    fetch_ucr,
)
from absentia.datasets._autoregression import make_var_views
from absentia.datasets._benchmarks import BENCHMARKS, data_folder, load_benchmark
from absentia.datasets._catalogue import CATALOGUE
from absentia.datasets._cohort import make_cohort, write_cohort
from absentia.datasets._digits import load_digit_views
from absentia.datasets._fetching import fetch
from absentia.datasets._made import make_multiview
from absentia.datasets._widths import make_width_views
from absentia.datasets._yeast import load_yeast_kernels
