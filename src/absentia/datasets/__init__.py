"""Data to try things on: made-up views with known truth, bundled digits, public benchmarks."""

from absentia.datasets._sets import (
    BENCHMARKS,
    data_folder,
    load_benchmark,
    load_digit_views,
    make_multiview,
)

__all__ = ["BENCHMARKS", "data_folder", "load_benchmark", "load_digit_views", "make_multiview"]
