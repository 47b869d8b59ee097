"""What readers are told."""

import pytest

from absentia.files import Options


def test_what_a_format_has_no_use_for_is_refused_by_name():
    Options(id="x").refuse("views", why="a table")
    with pytest.raises(ValueError, match=r"id and layer cannot be given for an \.npz file"):
        Options(id="x", layer="counts").refuse("id", "layer", "views", why="an .npz file")
