"""Vectors in their guises; what else lies beside views is tested with ``_guessing``."""

import numpy as np
import pytest

from absentia.files import _sidecar


@pytest.mark.parametrize(
    "x",
    [
        np.arange(3.0),
        np.arange(3.0)[None],
        np.arange(3.0)[:, None],
        [np.array([[x]]) for x in (0.0, 1.0, 2.0)],
    ],
)
def test_a_vector_in_any_guise(x):
    np.testing.assert_array_equal(_sidecar.as_vector(x), [0, 1, 2])


def test_what_is_no_vector():
    for x in (np.eye(2), np.array(1.0), [np.eye(2)], [], {"a": np.eye(2)}):
        assert _sidecar.as_vector(x) is None


def test_texts_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    texts = [np.array("x" * 100_000), *(np.array("a") for _ in range(1000))]
    with pytest.raises(ValueError, match="ABSENTIA_MAX_BYTES"):
        _sidecar.as_vector(texts)


def test_the_number_of_samples_is_known_if_all_say_the_same():
    assert _sidecar.count_samples({"y": np.zeros((1, 5)), "ids": np.arange(5)}) == 5
    assert _sidecar.count_samples({"y": np.zeros(5), "ids": np.arange(4)}) is None
    assert _sidecar.count_samples({"z": np.zeros(5)}) is None
