"""One self-contained HTML page about a completion (what was absent, what was filled in, how well), of
kernels or of one matrix, or a classification (which views count, how often it is right, beside which
baselines).

A page is a pure function of plain data (:class:`CompletionStory`, :class:`MatrixStory`,
:class:`ClassificationStory`); it knows nothing of estimators.
"""

from absentia.app.report._classification import ClassificationStory, render_classification
from absentia.app.report._matrix import MatrixStory, render_matrix
from absentia.app.report._page import render, require, save, write
from absentia.app.report._story import CompletionStory
