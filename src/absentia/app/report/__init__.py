"""One self-contained HTML page about a completion (what was absent, what was filled in, how well), of
kernels or of one matrix, a classification (which views count, how often it is right, beside which
baselines), numbers (how much is explained, predicted against true), survival (how well risks are
ordered, curves by predicted risk), or a comparison of many methods (which one to take, and how surely).

A page is a list of sections. Each is a function of the report's plain data (``ClassificationReport``, say,
or the results of a comparison); none knows of estimators.  A module has one kind of page, and is loaded
where one is made.
"""

from absentia.app.report._page import save
