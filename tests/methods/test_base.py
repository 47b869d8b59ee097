"""What whoever adds a method finds in one place."""

from absentia import core
from absentia.methods import base


def test_all_that_a_method_is_made_of_is_here():
    for name in (
        "Estimator",
        "estimator",
        "Iterative",
        "get_parameters",
        "Range",
        "PositiveInt",
        "Positive",
        "NonNegative",
        "Fraction",
    ):
        assert getattr(base, name) is getattr(core, name)
