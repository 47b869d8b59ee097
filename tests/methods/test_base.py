"""What whoever adds a method finds in one place."""

from absentia import core
from absentia.methods import base


def test_all_that_a_method_is_made_of_is_here():
    for name in (
        "Method",
        "method",
        "Iterative",
        "parameters_of",
        "Range",
        "Whole",
        "Positive",
        "NonNegative",
        "Share",
    ):
        assert getattr(base, name) is getattr(core, name)
