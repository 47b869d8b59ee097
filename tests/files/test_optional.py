"""Packages that are not there."""

import pytest

from absentia.files._optional import needed


def test_what_to_install_is_said():
    assert needed("numpy", "an array").__name__ == "numpy"
    with pytest.raises(
        ValueError, match=r'a Zarr folder needs no_such_thing: pip install "absentia\[io\]"'
    ):
        needed("no_such_thing", "a Zarr folder")
