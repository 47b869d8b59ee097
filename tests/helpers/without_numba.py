"""A plugin of pytest, ``-p helpers.without_numba``: tests run as if Numba were not installed."""

import sys


def pytest_configure(config):
    sys.modules["numba"] = None
