"""What the tests of the command line share."""

import pytest

from absentia import io
from conftest import random_problem


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "k.npz"
    io.write(path, random_problem(30, 3, 0.3))
    return path
