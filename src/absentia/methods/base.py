"""What methods are made of, for whoever adds one: see CONTRIBUTING.md."""

from absentia.core import (
    Array,
    Estimator,
    Fraction,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    Range,
    check_name,
    estimator,
    get_parameters,
    make_generator,
    warn,
)
from absentia.core.optimize import Solution, Status, StoppingRule, iterate
