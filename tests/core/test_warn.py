"""Warnings point at the user's line, however deep inside they are given."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import MKMC, AbsenceWarning, CombineKernels, KernelViews, ViewKernels, Views
from absentia.core._warn import is_ours, warn
from conftest import random_kernels


def test_a_warning_names_the_line_that_called_the_package():
    with pytest.warns(UserWarning, match="hello") as caught:
        warn("hello")
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


def test_neither_the_package_nor_scikit_learn_is_blamed():
    with pytest.warns(AbsenceWarning, match="no view at all"):
        views = Views.from_dict({"a": [[1.0], [2.0], [np.nan]], "b": [[1.0], [0.0], [np.nan]]})
    with pytest.warns(AbsenceWarning, match="no view at all") as caught:
        make_pipeline(ViewKernels("linear"), CombineKernels()).fit_transform(views)
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


def test_a_method_that_did_not_converge_says_so_at_the_call():
    keep = np.ones((20, 3), dtype=bool)
    keep[:5, 0] = False
    kernels = KernelViews.from_dense(random_kernels(20, 3), observed=keep)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MKMC(n_components=2, max_iter=1).fit_transform(kernels)
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


def test_our_warnings_are_told_from_those_of_others():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("ours")
        warnings.warn("theirs", stacklevel=1)
    assert [is_ours(one.message) for one in caught] == [True, False]
    assert (str(caught[0].message), caught[0].category) == ("ours", UserWarning)
    assert not is_ours("a text")
