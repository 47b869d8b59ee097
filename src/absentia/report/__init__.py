"""One self-contained HTML page about a completion: what was absent, what was filled in, how well.

The page is a pure function of plain data (:class:`CompletionStory`); it knows nothing of estimators.
"""

from absentia.report.page import render as render
from absentia.report.page import write as write
from absentia.report.story import CompletionStory as CompletionStory

__all__ = ["CompletionStory", "render", "write"]
