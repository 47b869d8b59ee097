"""What the columns of a view look like."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import Views
from absentia.data import columns_in_words, looks_like_counts, numeric

COUNTS = np.random.default_rng(0).poisson(0.8, size=(30, 20)).astype(float)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_counts_are_whole_with_many_zeros(form):
    assert looks_like_counts(form(COUNTS))
    assert not looks_like_counts(form(COUNTS * 0.5))
    assert not looks_like_counts(form(COUNTS + 1))
    assert not looks_like_counts(form((COUNTS > 0).astype(float)))  # sets, not counts
    assert not looks_like_counts(form(-COUNTS))
    assert not looks_like_counts(form(np.zeros((2, 2))))


def test_gaps_do_not_hide_counts():
    gappy = COUNTS.copy()
    gappy[0, :3] = np.nan
    assert looks_like_counts(gappy)


def test_columns_are_counted_by_kind():
    frame = pd.DataFrame({"age": [1.0, 2], "sex": ["f", "m"], "stage": ["I", "II"]})
    views = Views.from_dict({"a": frame, "b": frame[["sex"]], "c": frame[["age"]]})
    assert [columns_in_words(views, name) for name in "abc"] == [
        "1 numeric, 2 categorical (sex, stage) -> one-hot",
        "1 categorical (sex) -> one-hot",
        "1 numeric",
    ]


def test_categories_are_no_counts():
    frame = pd.DataFrame({f"c{k}": ["a", "b", "c"] * 4 for k in range(6)}).assign(age=range(12))
    views = Views.from_dict({"a": frame})
    assert looks_like_counts(views.block("a"))  # their numbers are
    assert numeric(views, "a").shape == (12, 1)
    assert not looks_like_counts(numeric(views, "a"))
