"""What whoever adds a method finds in one place."""

import absentia.methods.base as base


def test_all_that_a_method_is_made_of_is_here():
    assert set(base.__all__) == {
        "Iterative",
        "Method",
        "NonNegative",
        "Positive",
        "Range",
        "Share",
        "Whole",
        "method",
        "parameters_of",
    }
    assert all(hasattr(base, name) for name in base.__all__)
