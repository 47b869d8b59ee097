"""The papers again: their data, and their tables and figures, our numbers beside the published ones.

A file for each table or figure says what is tried and what was published.  An experiment expands to trials,
trials to records, records to cells with the published number beside ours, cells to a page.  A page is a
function of records alone.

Everything here is written with the public names of absentia, and shows that these are enough.
"""

from absentia.papers._cells import Cell, Row
from absentia.papers._charts import chart_svg
from absentia.papers._experiment import (
    Experiment,
    Measure,
    find_experiment,
    list_experiments,
    list_papers,
    read_experiment,
)
from absentia.papers._markdown import markdown
from absentia.papers._publishing import (
    as_mappings,
    describe_versions,
    read_records,
    render_pages,
    write_records,
)
from absentia.papers._running import Reproduction, missing_data
from absentia.papers._summary import Summary, summarise
from absentia.papers.data import (
    CATALOGUE,
    fetch,
    load_yeast_kernels,
    make_matrix_addition,
    make_var_views,
    make_width_views,
)
