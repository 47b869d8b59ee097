"""One way for random_state, and choices that rounding does not make."""

import numpy as np
import pytest

from absentia.core import argmin_key, check_name, choose_rank, evaluate_path, make_generator


def test_none_is_a_fixed_seed():
    assert make_generator().random() == make_generator(None).random() == make_generator(0).random()
    assert make_generator(1).random() != make_generator(0).random()


def test_a_generator_is_used_and_moved_on():
    rng = np.random.default_rng(3)
    assert make_generator(rng) is rng


def test_a_random_state_is_moved_on():
    rng = np.random.RandomState(3)
    assert make_generator(rng).random() != make_generator(rng).random()
    assert (
        make_generator(np.random.RandomState(3)).random()
        == make_generator(np.random.RandomState(3)).random()
    )


def test_the_global_state_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make_generator(None).random()
    make_generator(5).random()
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("wrong", ["zero", -1, 0.5])
def test_what_is_no_seed_is_named(wrong):
    with pytest.raises(ValueError, match="random_state must be None"):
        make_generator(wrong)


def test_of_values_that_are_tied_the_first_is_taken():
    assert argmin_key({1: 2.0, 2: 1.0 + 1e-12, 3: 1.0, 4: 1.5}) == 2
    assert argmin_key({1: 2.0, 2: 1.0 + 1e-6, 3: 1.0, 4: 1.5}) == 3
    assert argmin_key({"a": -1.0 + 1e-12, "b": -1.0}) == "a"


def test_a_cut_never_falls_between_values_that_are_alike():
    values = np.array([5.0, 3.0, 3.0 * (1 - 1e-9), 1.0])
    assert [choose_rank(values, most) for most in (1, 2, 3, 4, 9)] == [1, 1, 3, 4, 4]
    assert choose_rank(np.ones(4), 2) == 0


def test_a_path_is_left_once_it_only_gets_worse():
    errors = {4.0: 3.0, 3.0: 1.0, 2.0: 2.0, 1.0: 2.0, 0.5: 0.0}
    assert list(evaluate_path(errors, errors.__getitem__)) == [4.0, 3.0, 2.0, 1.0]


def test_a_name_that_is_unknown_is_told_what_it_may_have_meant():
    check_name("method", "mean", ["mean", "zero"])
    with pytest.raises(ValueError, match="no method 'mena'; did you mean mean"):
        check_name("method", "mena", ["mean", "zero"])


def test_a_path_is_left_at_once_where_it_is_hopeless():
    errors = {1: 3.0, 2: 1.0, 4: 1.3, 8: 0.5}
    assert list(evaluate_path(errors, errors.__getitem__, 3, hopeless=1.25)) == [1, 2, 4]
    assert list(evaluate_path(errors, errors.__getitem__, 3, hopeless=1.35)) == [1, 2, 4, 8]
