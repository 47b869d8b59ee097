"""Charts as SVG text."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from absentia.core.svg import (
    Frame,
    Markup,
    Scale,
    dot,
    element,
    fill,
    line_class,
    round_step,
    round_ticks,
    widen,
)

NASTY = "\"><script>'&"


def test_texts_and_attributes_are_escaped_and_markup_is_not():
    part = element("text", NASTY, class_="a", text_anchor="end", x=1.0, title=None)
    assert part == '<text class="a" text-anchor="end" x="1">&quot;&gt;&lt;script&gt;&#x27;&amp;</text>'
    whole = fill("<g>{}{}</g>", [part, part], NASTY)
    assert whole.count("<text") == 2
    assert "<script" not in whole
    assert isinstance(whole, Markup)
    ET.fromstring(element("svg", whole, aria_label=NASTY))
    assert element("img", alt="") == '<img alt="">'


def test_templates_take_markup_as_it_is():
    jinja2 = pytest.importorskip("jinja2")
    template = jinja2.Environment(autoescape=True).from_string("{{ part }}{{ words }}")
    assert template.render(part=element("b"), words="<b>") == "<b></b>&lt;b&gt;"


def test_scales_run_from_end_to_end():
    scale = Scale(2.0, 4.0, 100.0, 0.0)
    assert [scale(x) for x in (2, 3, 4)] == [100, 50, 0]
    log = Scale(1e-4, 1.0, 0.0, 80.0, log=True)
    assert [log(10.0**p) for p in (-4, -3, -2, 0)] == [0, 20, 40, 80]


@pytest.mark.parametrize(("span", "step"), [(6, 1), (7, 2), (0.5, 0.1), (1234, 500), (30, 5)])
def test_steps_are_round_and_few(span, step):
    assert round_step(span) == pytest.approx(step)


@pytest.mark.parametrize(("most", "ticks"), [(8.3, [0, 2, 4, 6, 8]), (0.06, None), (1200.0, None)])
def test_ticks_are_round(most, ticks):
    found = round_ticks(0.0, most)
    assert found[0] == 0
    assert found[-1] <= most * (1 + 1e-9)
    assert 4 <= len(found) <= 8
    if ticks:
        np.testing.assert_allclose(found, ticks)
    assert round_ticks(-1.0, 1.0) == pytest.approx([-1, -0.5, 0, 0.5, 1])


def test_ends_are_never_one_number():
    assert widen([1.0, 3.0]) == (1, 3)
    assert widen([1.0, 3.0], 0.5) == (0, 4)
    assert widen([2.0]) == (1.5, 2.5)


def test_a_frame_draws_what_lies_in_it():
    frame = Frame.make((200, 100), (0.0, 1.0), (0.0, 10.0), (40.0, 10.0, 5.0, 45.0))
    assert frame.path([(0, 0), (1, 10)]) == "M40 55L190 5"
    assert frame.steps([(0, 10), (0.5, 5)]) == "M40 5H115V30"
    drawn = frame.draw(
        frame.axes({0.0: "none", 1.0: "all"}, {10.0: "ten"}, "x", "y"), frame.diagonal(), label="A <chart>"
    )
    root = ET.fromstring(drawn)
    assert root.get("aria-label") == "A <chart>"
    places = {text.text: (text.get("x"), text.get("y")) for text in root.iter("text")}
    assert places["none"] == ("40", "74")
    assert places["all"][0] == "190"
    assert places["ten"] == ("32", "9")
    assert root.find("path").get("d") == "M40 55L190 5"


def test_a_dot_has_its_interval_and_its_title():
    drawn = ET.fromstring(dot(3.0, 4.0, "here & now", 2.0, interval=(1.0, 6.0), hollow=True, tabindex=0))
    assert drawn.get("tabindex") == "0"
    assert [drawn.find("line").get(key) for key in ("x1", "x2", "y1", "y2")] == ["3", "3", "1", "6"]
    assert drawn.findall("circle")[-1].get("class") == "dot hollow"
    assert drawn.find("title").text == "here & now"
    assert "<line" not in dot(3.0, 4.0, "", 2.0)


def test_colour_and_dash_tell_lines_apart():
    assert len({line_class(i, 6) for i in range(18)}) == 18
    assert re.fullmatch(r"c\d d\d", line_class(7, 6))
