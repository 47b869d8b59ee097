"""One self-contained HTML page about a completion (what was absent, what was filled in, how well), of
kernels or of one matrix, a classification (which views count, how often it is right, beside which
baselines), numbers (how much is explained, predicted against true), survival (how well risks are
ordered, curves by predicted risk), or a comparison of many methods (which one to take, and how surely).

A page is a list of sections. Each is a function of the report's plain data (:class:`CompletionReport`,
:class:`MatrixReport`, :class:`ClassificationReport`, :class:`RegressionReport`, :class:`SurvivalReport`, or
the results of a comparison); none knows of estimators.
"""

from absentia.app.report._classification import ClassificationReport, render_classification
from absentia.app.report._comparison import render_comparison
from absentia.app.report._completion import (
    CompletionReport,
    MatrixReport,
    describe_intervals,
    render_completion,
    render_matrix,
)
from absentia.app.report._page import save
from absentia.app.report._regression import RegressionReport, render_numbers
from absentia.app.report._survival import SurvivalReport, render_survival
