"""Numbers and shares as text."""

import numpy as np
import pytest

from absentia.app.report._text import number, percent

pytest.importorskip("jinja2")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01234, "0.0123"), (0.9996, "1.00"), (1234.5, "1\u202f230"), (-0.5, "−0.500"),
        (1.5e-7, "1.50×10⁻⁷"), (2e9, "2.00×10⁹"), (0.0, "0"), (np.float32(0.5), "0.500"),
        (12345, "12\u202f345"), (np.int64(3), "3"), (True, "yes"), ("word", "word"),
        (float("nan"), "–"), (-np.inf, "–"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_percent_is_whole_only_when_it_is():
    assert percent(9999, 10000) == "99.9%"
    assert percent(1, 10000) == "0.1%"
    assert (percent(5, 5), percent(0, 5), percent(1, 3)) == ("100%", "0%", "33.3%")
