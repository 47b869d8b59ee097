"""The papers again: their data, and their tables and figures, our numbers beside the published ones.

A file for each table or figure says what is tried and what was published.  An experiment expands to trials,
trials to records, records to cells with the published number beside ours, cells to a page.  A page is a
function of records alone.

Everything here is written with the public names of absentia, and shows that these are enough.
"""

from absentia.papers._bound import AMKLBound, amkl_bound
from absentia.papers._experiment import (
    Experiment,
    Measure,
    MethodColumn,
    PublishedNumber,
    find_experiment,
    list_experiments,
    list_papers,
    read_experiment,
)
from absentia.papers._fetching import CATALOGUE, fetch
from absentia.papers._loaders import load_yeast_kernels
from absentia.papers._pages import (
    as_mappings,
    chart_svg,
    describe_versions,
    read_records,
    render_markdown,
    render_pages,
    write_records,
)
from absentia.papers._simulated import make_matrix_addition, make_width_views
from absentia.papers._summary import Cell, Summary, add_counts, describe_counts, summarise
from absentia.papers.protocols import Reproduction, missing_data
