"""Pictures: lines where the numbers are, panels and names escaped."""

import re
import xml.etree.ElementTree as ET

from absentia.papers._charts import chart_svg
from absentia.papers._summary import summarise
from helpers.small_experiment import TEXT, experiment, records

CHART = '\n[chart]\nx = "level"\nmeasure = "error"\n'


def lines(svg):
    """Points of every line by its title."""
    return {
        title: [tuple(map(float, point.split())) for point in path[1:].split("L")]
        for path, title in re.findall(r'<path d="([^"]+)"[^>]*><title>([^<]+)</title>', svg)
    }


def test_lines_are_where_the_means_are(tmp_path):
    small = experiment(tmp_path, TEXT + CHART)
    svg = chart_svg(summarise(small, records(small)))
    ET.fromstring(svg)
    found = lines(svg)
    assert set(found) == {"zero", "mean", "entries", "oracle"}
    (x0, y0), (x1, y1) = found["zero"]
    assert x0 < x1
    assert y1 < y0  # .71 is above .50, and up is small
    assert found["mean"][0][1] > found["zero"][0][1]
    assert len(found["oracle"]) == 1


def test_panels_are_values_of_a_factor_or_parts(tmp_path):
    text = TEXT.replace('"{level} missing"', '"{level}, {part}"') + CHART + 'panel = "part"\n'
    small = experiment(tmp_path, text)
    all_of_them = records(small)
    for one in all_of_them:
        value = one["result"]["scores"]["error"].pop("")
        one["result"]["scores"]["error"] = {"<a>": value, "b": value + 1}
    svg = chart_svg(summarise(small, all_of_them))
    ET.fromstring(svg)
    assert re.findall(r'class="t"[^>]*>([^<]+)<', svg) == ["&lt;a&gt;", "b"]


def test_several_measures_have_panels_of_their_own(tmp_path):
    text = (
        TEXT
        + '\n[[measures]]\nname = "loss"\nbetter = "lower"\n'
        + CHART.replace('"error"', '["error", "loss"]')
    )
    small = experiment(tmp_path, text)
    all_of_them = records(small)
    for one in all_of_them:
        one["result"]["scores"]["loss"] = {"": 1.0}
    svg = chart_svg(summarise(small, all_of_them))
    ET.fromstring(svg)
    assert re.findall(r'class="t"[^>]*>([^<]+)<', svg) == ["error", "loss"]
