"""What the tests of completers share."""

import pytest

from helpers.fillers import FILLERS


@pytest.fixture(params=FILLERS)
def filler(request):
    return FILLERS[request.param]
