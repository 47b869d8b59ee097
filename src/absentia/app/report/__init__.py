"""One self-contained HTML page about a completion (what was absent, what was filled in, how well), of
kernels or of one matrix, or a classification (which views count, how often it is right, beside which
baselines).

A page is a pure function of plain data (:class:`CompletionStory`, :class:`MatrixStory`,
:class:`ClassificationStory`); it knows nothing of estimators.
"""

from absentia.app.report._classification import ClassificationStory as ClassificationStory
from absentia.app.report._classification import render_classification as render_classification
from absentia.app.report._matrix import MatrixStory as MatrixStory
from absentia.app.report._matrix import render_matrix as render_matrix
from absentia.app.report._page import render as render
from absentia.app.report._page import require as require
from absentia.app.report._page import save as save
from absentia.app.report._page import write as write
from absentia.app.report._story import CompletionStory as CompletionStory

__all__ = [
    "ClassificationStory",
    "CompletionStory",
    "MatrixStory",
    "render",
    "render_classification",
    "render_matrix",
    "require",
    "save",
    "write",
]
