"""Mean ranks over many data sets as a picture."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from absentia import statistics

SVG = "{http://www.w3.org/2000/svg}"


def drawn(names, scores):
    found = statistics.nemenyi(scores)
    return found, ET.fromstring(statistics.critical_difference_diagram(names, found))


def test_every_method_stands_at_its_rank_and_bars_span_groups():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, 5)) + np.array([2.0, 1.5, 1.4, 0.0, -1.0])
    names = ["a", "b", "c", "d", "e"]
    found, picture = drawn(names, scores)
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    for name, rank in zip(names, found.ranks, strict=True):
        assert f"{name} ({rank:.2f})" in texts
    ticks = {t.text: float(t.get("x")) for t in picture.iter(f"{SVG}text") if re.fullmatch(r"\d", t.text)}
    unit = ticks["2"] - ticks["1"]
    bars = [line for line in picture.iter(f"{SVG}line") if line.get("stroke-width") == "4"]
    assert len(bars) == len(found.groups) > 0
    for bar, group in zip(bars, found.groups, strict=True):
        ends = [ticks["1"] + unit * (found.ranks[j] - 1) for j in (group[0], group[-1])]
        assert [float(bar.get("x1")) + 4, float(bar.get("x2")) - 4] == pytest.approx(ends, abs=0.2)
    ruler = next(line for line in picture.iter(f"{SVG}line") if line.get("stroke-width") == "2")
    length = float(ruler.get("x2")) - float(ruler.get("x1"))
    assert length == pytest.approx(unit * found.critical_difference, abs=0.2)


def test_names_are_texts_and_the_picture_says_what_it_shows():
    found, picture = drawn(["<script>", "b & c"], [[1, 2], [3, 1], [2, 5]])
    assert picture.get("role") == "img"
    assert "<script> 1.67" in picture.get("aria-label")
    assert f"critical difference {found.critical_difference:.2f}" in picture.get("aria-label")
    with pytest.raises(ValueError, match="1 names for 2 methods"):
        statistics.critical_difference_diagram(["a"], found)
