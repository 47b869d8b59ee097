"""What a story may be made of."""

import dataclasses

import numpy as np
import pytest

from stories import make_story, views_of

pytest.importorskip("jinja2")


def test_what_does_not_fit_is_refused():
    story = make_story()
    fewer = views_of(np.zeros((3, 23, 23)), story.names)
    renamed = views_of(np.zeros((3, 24, 24)), "abc")
    for changes, message in (
        ({"before": story.before[:5]}, "a square KernelViews"),
        ({"after": {"m": fewer}}, r"after\['m'\] has the views .*pass the same views and samples"),
        ({"truth": renamed}, r"truth has the views \['a', 'b', 'c'\]"),
        ({"truth": story.before}, "truth lacks views for some samples"),
        ({"labels": np.zeros(3)}, "3 labels for 24 samples"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(story, **changes)
