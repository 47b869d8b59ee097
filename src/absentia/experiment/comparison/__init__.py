"""Which method works best on some data: cells hidden and completed, labels cross-validated, and what the
numbers support.
"""

from absentia.experiment.comparison._costs import expected, thinned
from absentia.experiment.comparison._design import Design, chosen_methods
from absentia.experiment.comparison._problem import Problem, labelled, problem_of
from absentia.experiment.comparison._strategies import FAMILY, USUAL, fitted_to_all
from absentia.experiment.comparison._study import Study, open_study
from absentia.experiment.comparison._verdict import seconds_words
