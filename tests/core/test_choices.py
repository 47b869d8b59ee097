"""Choices that rounding does not make."""

import numpy as np
import pytest

from absentia.core._choices import along_path, check_name, clear_cut, least


def test_of_values_that_are_tied_the_first_is_taken():
    assert least({1: 2.0, 2: 1.0 + 1e-12, 3: 1.0, 4: 1.5}) == 2
    assert least({1: 2.0, 2: 1.0 + 1e-6, 3: 1.0, 4: 1.5}) == 3
    assert least({"a": -1.0 + 1e-12, "b": -1.0}) == "a"


def test_a_cut_never_falls_between_values_that_are_alike():
    values = np.array([5.0, 3.0, 3.0 * (1 - 1e-9), 1.0])
    assert [clear_cut(values, most) for most in (1, 2, 3, 4, 9)] == [1, 1, 3, 4, 4]
    assert clear_cut(np.ones(4), 2) == 0


def test_a_path_is_left_once_it_only_gets_worse():
    errors = {4.0: 3.0, 3.0: 1.0, 2.0: 2.0, 1.0: 2.0, 0.5: 0.0}
    assert list(along_path(errors, errors.__getitem__)) == [4.0, 3.0, 2.0, 1.0]


def test_a_name_that_is_unknown_is_told_what_it_may_have_meant():
    check_name("method", "mean", ["mean", "zero"])
    with pytest.raises(ValueError, match="no method 'mena'; did you mean mean"):
        check_name("method", "mena", ["mean", "zero"])


def test_a_path_is_left_at_once_where_it_is_hopeless():
    errors = {1: 3.0, 2: 1.0, 4: 1.3, 8: 0.5}
    assert list(along_path(errors, errors.__getitem__, 3, hopeless=1.25)) == [1, 2, 4]
    assert list(along_path(errors, errors.__getitem__, 3, hopeless=1.35)) == [1, 2, 4, 8]
