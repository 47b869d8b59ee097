"""One way for random_state."""

import numpy as np
import pytest

from absentia.core._random import generator


def test_none_is_a_fixed_seed():
    assert generator().random() == generator(None).random() == generator(0).random()
    assert generator(1).random() != generator(0).random()


def test_a_generator_is_used_and_moved_on():
    rng = np.random.default_rng(3)
    assert generator(rng) is rng


def test_a_random_state_is_moved_on():
    rng = np.random.RandomState(3)
    assert generator(rng).random() != generator(rng).random()
    assert generator(np.random.RandomState(3)).random() == generator(np.random.RandomState(3)).random()


def test_the_global_state_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generator(None).random()
    generator(5).random()
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("wrong", ["zero", -1, 0.5])
def test_what_is_no_seed_is_named(wrong):
    with pytest.raises(ValueError, match="random_state must be None"):
        generator(wrong)
