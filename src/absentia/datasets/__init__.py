"""Data to try things on: made-up views with known truth, bundled digits, public benchmarks.

The data of the papers, made and fetched, are in :mod:`absentia.papers`.
"""

from absentia.datasets._benchmarks import BENCHMARKS, data_folder, load_benchmark, read_bunch
from absentia.datasets._digits import load_digit_views
from absentia.datasets._made import make_cohort, make_multiview, write_cohort
