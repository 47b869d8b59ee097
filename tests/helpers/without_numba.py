"""A plugin of pytest, ``-p helpers.without_numba``: tests run as if Numba were not installed."""

import sys

sys.modules["numba"] = None  # type: ignore[assignment]
