"""Compiled loops where nothing can be written, and what importing costs."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import tempfile

def refuse(*arguments, **options):
    raise PermissionError("read-only")

tempfile.TemporaryFile = refuse  # how Numba finds out where it may write
import numpy as np
from absentia.methods.learning.engine import _regions as polytope
from absentia.methods.learning.engine import _svm as svm
assert not svm._smo.signatures, "compiled while importing"
assert not polytope._maximal.signatures, "compiled while importing"
print(polytope.maximal_rows(np.array([[True, True], [True, False]])))
"""


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_works():
    """No folder may be written to: not beside the source, not the user's, which there is not."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[1. 1.]]"
