"""The data of the papers: simulated as they say, or from the archives that they name."""

from absentia.papers.data._fetching import CATALOGUE, fetch
from absentia.papers.data._loaders import load_yeast_kernels
from absentia.papers.data._simulated import (
    factor_kernel,
    make_matrix_addition,
    make_var_views,
    make_width_views,
    plane_kernel,
)
