"""The tables and figures of papers again: a file for each says what is tried and what was published.

An experiment expands to trials of the engine, trials to records, records to cells with the published number
beside ours, cells to a page.  A page is a function of records alone.
"""

from absentia.experiment.reproduction._cells import Cell, Row
from absentia.experiment.reproduction._charts import chart_svg
from absentia.experiment.reproduction._experiment import Experiment, Measure
from absentia.experiment.reproduction._listing import experiments, find, papers
from absentia.experiment.reproduction._markdown import markdown
from absentia.experiment.reproduction._publishing import freshness, plain, read_kept, regenerate, write_kept
from absentia.experiment.reproduction._running import Reproduction, missing_data
from absentia.experiment.reproduction._summary import Summary, summarise
