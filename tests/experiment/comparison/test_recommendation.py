"""Sentences that the table supports, whatever the table is."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.core import format_seconds
from absentia.experiment.comparison._recommendation import (
    _SAME_PROBABILITY,
    _SIGNIFICANCE,
    Evidence,
    _format_p,
    _is_better,
    _is_worse,
    _size,
    recommend,
)
from absentia.experiment.results import Difference, Expectation, Interval, MethodRow, Metric

METRICS = [
    Metric("accuracy", True, True, ""),
    Metric("log-loss", False, False, ""),
    Metric("R2", True, True, ""),
    Metric("ARE", False, True, ""),
]
ACCURACY = METRICS[0]
SIMPLEST = "plain"
NAN = float("nan")


# ------------------------------------------------------------------------------------- made-up evidence


@st.composite
def differences(draw, method, mean):
    adjusted = draw(st.sampled_from([0.0, 0.0004, 0.01, 0.0499, _SIGNIFICANCE, 0.2, 1.0]))
    same = draw(st.sampled_from([0.0, 0.3, 0.96, 1.0]))
    half = draw(st.sampled_from([NAN, 0.0, 0.01]))
    rest = 1 - same
    worse, better = (rest, 0.0) if mean < 0 else (0.0, rest)
    return Difference(method, mean, mean - half, mean + half, adjusted / 2, adjusted, worse, same, better)


@st.composite
def evidence(draw):
    metric = draw(st.sampled_from(METRICS))
    sign, base = (1 if metric.higher else -1), draw(st.sampled_from([0.5, 0.75, 0.8]))
    times = st.sampled_from([None, 0.01, 0.5, 2.0, 500.0])
    sizes = st.sampled_from([None, 3.0, 1500.0])
    simplest_failed = draw(st.booleans())
    has_simplest = draw(st.booleans()) or not simplest_failed
    rows, found = [], []

    def row(method, score, failed):
        scores = {} if score is None else {metric.name: Interval(score, NAN, NAN)}
        rows.append(
            MethodRow(method, "", False, scores, draw(times), draw(sizes), 5, failed, 5, ("no",) * failed)
        )

    row(SIMPLEST, base if has_simplest else None, int(simplest_failed))
    for i in range(draw(st.integers(0, 7))):
        mean = draw(st.sampled_from([-0.2, -0.004, -0.0001, 0.0, 0.0001, 0.005, 0.01, 0.02, 0.021, 0.15]))
        measured, failed = draw(st.booleans()) or draw(st.booleans()), draw(st.sampled_from([0, 0, 0, 2]))
        row(f"m{i}", base + sign * mean if measured else None, failed)
        if measured and has_simplest and draw(st.sampled_from([True, True, True, False])):
            found.append(draw(differences(f"m{i}", mean)))
    if draw(st.booleans()):
        rows.append(MethodRow("skipped", "", False, left_out="takes features"))
    none = math.inf
    rows.sort(key=lambda r: -sign * r.scores[metric.name].value if r.scores else none)
    shrinkage, default = (
        draw(st.sampled_from([0.0, 0.5, 1.0])),
        draw(st.sampled_from(["m0", "m3", "other"])),
    )
    expected = [expectation(one.method, shrinkage * one.mean) for one in found]
    region = draw(st.sampled_from([0.0, 0.01, 0.05]))
    return Evidence(metric, region, SIMPLEST, rows, found, expected, default)


def expectation(method, mean, worse=0.07, better=0.76):
    return Expectation(method, mean, 0.02, worse, better)


def told(found):
    return recommend(found)


# ------------------------------------------------------------------------------------------- properties


@settings(max_examples=150, deadline=None)
@given(evidence())
def test_a_winner_is_shown_to_be_better_and_never_failed(found):
    said, own = told(found), found.by_method
    candidates = [d.method for d in found.differences if d.adjusted < _SIGNIFICANCE and d.mean > 0]
    candidates = [m for m in candidates if found.row(m).failed == 0]
    if not candidates:
        assert said.winner is None
    else:
        assert said.winner in candidates
        assert found.score(said.winner) == max(map(found.score, candidates))
        assert own[said.winner].mean > 0


@settings(max_examples=150, deadline=None)
@given(evidence())
def test_recommended_is_what_is_expected_to_lose_least_within_the_region(found):
    said, expected = told(found), found.expected
    assert said.simplest == SIMPLEST
    if not found.measured:
        assert (said.winner, said.recommended) == (None, SIMPLEST)
        return
    assert said.recommended in found.measured
    assert found.score(said.best) == max(map(found.score, found.measured))
    assert said.shown == (said.recommended in found.winners)
    if SIMPLEST not in found.measured:
        assert said.recommended == said.best
        return
    near = [m for m in expected if max(expected.values()) - expected[m] < found.equivalence + 1e-9]
    assert said.recommended in near
    assert said.recommended == SIMPLEST or not found.row(said.recommended).failed
    if found.default in near:
        assert said.recommended == found.default
    else:
        assert cost(found, said.recommended) == min(cost(found, m) for m in near)
    if found.default in expected and said.recommended != found.default:
        assert said.beyond_default == expected[said.recommended] - expected[found.default]
        assert said.beyond_default > found.equivalence - 0.05 - 1e-9
    else:
        assert said.beyond_default is None


def cost(found, method):
    cpu = found.row(method).cpu
    return math.inf if cpu is None else cpu


@settings(max_examples=150, deadline=None)
@given(evidence())
def test_the_headline_says_what_the_table_says(found):
    said = told(found)
    line = said.headline
    if not found.measured:
        assert line.startswith("No verdict: ")
        tried = [row for row in found.rows if not row.left_out]
        assert ("every method failed" in line) == all(row.failed for row in tried)
        return
    assert said.recommended in line
    assert "nan" not in line
    level = found.metric.format(found.row(said.recommended).scores[found.metric.name].value)
    assert line.startswith("No verdict") == (SIMPLEST not in found.measured)
    if line.startswith("No verdict") or said.recommended == SIMPLEST:
        assert "shown" not in line
        assert level in line
        return
    one = found.by_method[said.recommended]
    assert line.startswith(f"Take {said.recommended}: ")
    assert ("; shown at the 5% level" in line) == _is_better(one) == said.shown
    assert ("; not shown at the 5% level" in line) == (not said.shown)
    assert found.metric.format_difference(abs(said.expected.mean)) in line
    assert said.details[0].startswith(f"{said.recommended}: ")
    assert level in said.details[0]
    assert _format_p(one.adjusted) in said.details[0]
    assert f"for {len(found.differences)} comparison" in said.details[0]


LISTS = {
    **{
        f"{words} to be better than plain": lambda found, one: (
            _is_better(one) and one.method in found.winners
        )
        for words in ("Also shown", "Shown")
    },
    "Shown to be better than plain, but failed at times": lambda found, one: (
        _is_better(one) and found.row(one.method).failed
    ),
    "Shown to be worse than plain": lambda found, one: _is_worse(one),
    "Practically the same as plain, with a probability above 95%": lambda found, one: (
        one.same > _SAME_PROBABILITY
    ),
}


@settings(max_examples=150, deadline=None)
@given(evidence())
def test_details_name_nobody_for_what_they_are_not(found):
    said, listed = told(found), []
    own = found.by_method
    for sentence in said.details:
        assert "nan" not in sentence
        head, _, names = sentence.removesuffix(".").partition(": ")
        if head in LISTS:
            names = re.sub(r" and \d+ more$", "", names).split(", ")
            assert all(LISTS[head](found, own[name]) for name in names), sentence
            listed += names
        elif best := re.match(r"(\S+) had the best mean, (.*) better than plain", sentence):
            assert best[1] == said.best
            assert own[best[1]].mean > 0
            assert not _is_better(own[best[1]])
            assert best[2] == found.metric.format_difference(own[best[1]].mean)
        elif still := re.match(r"(\S+) is expected .* better still", sentence):
            assert found.expected[still[1]] == max(found.expected.values())
            assert found.expected[still[1]] - found.expected[said.recommended] <= found.equivalence + 1e-9
        elif beside := re.match(r"(\S+) is expected (.*) better than (\S+), the default", sentence):
            assert (beside[1], beside[3]) == (said.recommended, said.default)
            assert beside[2] == found.metric.format_difference(said.beyond_default)
        elif sentence.startswith("Nothing is expected to beat"):
            assert said.recommended == said.default
        elif head == said.recommended:
            assert sentence == said.details[0]
        elif absent := re.match(r"(\S+), the default, is not judged here", sentence):
            assert absent[1] == said.default
            assert said.default not in found.expected
        elif head == "Failed at least once":
            assert all(found.row(name).failed for name in names.split(";")[0].split(" and ")[0].split(", "))
        else:
            assert sentence.startswith(f"A fit of {said.recommended} took ")
    assert len(listed) == len(set(listed))  # nobody is two things
    assert said.recommended not in listed
    worse = [d.method for d in found.differences if _is_worse(d) and d.method != said.recommended]
    if 0 < len(worse) <= 5:
        assert set(worse) <= set(listed)


# ---------------------------------------------------------------------------------------------- examples


def row(method, score, cpu=1.0, failed=0, name="accuracy"):
    scores = {} if score is None else {name: Interval(score, score - 0.01, score + 0.01)}
    return MethodRow(method, "", False, scores, cpu, 20.0, 5, failed, 5)


def difference(method, mean, adjusted, same=0.0):
    return Difference(method, mean, mean - 0.01, mean + 0.01, adjusted, adjusted, 0.0, same, 1 - same)


def of(rows, found, equivalence=0.01, metric=ACCURACY, shrinkage=0.5, default=""):
    expected = [expectation(one.method, shrinkage * one.mean) for one in found]
    return Evidence(metric, equivalence, SIMPLEST, rows, found, expected, default)


def test_what_is_shown_in_words():
    rows = [row("a", 0.85, 4.0), row(SIMPLEST, 0.8, 0.5)]
    said = told(of(rows, [difference("a", 0.05, 0.003)]))
    assert said.headline == (
        "Take a: expected 2.5 points better than plain, 76% chance of being better; shown at the 5% level."
    )
    assert said.details == (
        "a: accuracy 85.0%, 7% chance of being worse; 95% interval 4.0 to 6.0, p = 0.003 after correction "
        "for 1 comparison.",
        "A fit of a took 4 s of one core and 20 MB of memory, 8 times what plain takes.",
    )
    assert (said.winner, said.shown, said.beyond_default) == ("a", True, None)


def test_what_is_not_shown_is_recommended_and_said_to_be_so():
    rows = [row("a", 0.85, 4.0), row(SIMPLEST, 0.8, 0.5)]
    said = told(of(rows, [difference("a", 0.05, 0.3)]))
    assert (said.winner, said.recommended, said.shown) == (None, "a", False)
    assert said.headline.endswith("76% chance of being better; not shown at the 5% level.")
    weak = told(of(rows, [difference("a", 0.05, 0.3)], shrinkage=0.1))
    assert (weak.recommended, weak.expected) == (SIMPLEST, None)
    assert weak.headline == (
        "Take plain, the simplest: accuracy 80.0%, and nothing is expected to be better by more than "
        "1 point."
    )
    assert weak.details[0].startswith("a is expected 0.5 points better still, no more than the 1 point")
    assert weak.details[1].startswith("a had the best mean, 5 points better than plain, which could be")


def test_the_default_is_taken_where_nothing_is_expected_to_beat_it():
    rows = [row("a", 0.86, 1.0), row("usual", 0.85, 9.0), row(SIMPLEST, 0.8, 0.5)]
    near = [difference("a", 0.06, 0.2), difference("usual", 0.05, 0.2)]
    said = told(of(rows, near, default="usual"))
    assert (said.recommended, said.beyond_default) == ("usual", None)
    assert said.details[1] == "Nothing is expected to beat usual, the default, by more than 1 point."
    far = [difference("a", 0.08, 0.2), difference("usual", 0.05, 0.2)]
    said = told(of(rows, far, default="usual"))
    assert (said.recommended, said.beyond_default) == ("a", pytest.approx(0.015))
    assert said.details[1] == "a is expected 1.5 points better than usual, the default."
    failing = [rows[0], row("usual", 0.85, 9.0, failed=1), rows[2]]
    said = told(of(failing, far, default="usual"))
    assert said.details[1] == "usual, the default, is not judged here: it failed."
    assert told(of(rows, far, default="other")).details[1] == "other, the default, is not judged here."


def test_the_cheaper_of_two_that_are_near_is_taken():
    rows = [row("dear", 0.86, 9.0), row("cheap", 0.85, 2.0), row(SIMPLEST, 0.8, 0.5)]
    near = [difference("dear", 0.06, 0.001), difference("cheap", 0.05, 0.01)]
    said = told(of(rows, near, shrinkage=1.0))
    assert (said.winner, said.recommended) == ("dear", "cheap")  # .06 - .05 is more than .01 by rounding
    assert said.details[1] == (
        "dear is expected 1 point better still, no more than the 1 point within which the cheapest is "
        "taken."
    )
    assert "Also shown to be better than plain: dear." in said.details
    far = [difference("dear", 0.065, 0.001), difference("cheap", 0.05, 0.01)]
    assert told(of(rows, far, shrinkage=1.0)).recommended == "dear"


def test_what_failed_is_no_winner_but_is_told():
    rows = [row("a", 0.85, 4.0, failed=1), row(SIMPLEST, 0.8, 0.5)]
    said = told(of(rows, [difference("a", 0.05, 0.001)]))
    assert (
        said.headline
        == "Take plain, the simplest: nothing else is measured without failing (accuracy 80.0%)."
    )
    assert "Shown to be better than plain, but failed at times: a." in said.details
    assert "Failed at least once: a; the table says why." in said.details


def test_without_a_test_nothing_is_shown():
    rows = [row("a", 0.9), row(SIMPLEST, 0.8)]
    said = told(Evidence(ACCURACY, 0.01, SIMPLEST, rows, [], [expectation("a", 0.02)]))
    assert said.headline.endswith("76% chance of being better; nothing is shown by a single draw.")
    alone = told(of([row(SIMPLEST, 0.8)], []))
    assert "nothing else is measured (" in alone.headline


def test_the_simplest_failed_or_is_to_come():
    failed = told(of([row("a", 0.9), row(SIMPLEST, None, failed=5)], []))
    assert failed.headline == (
        "No verdict: plain, the simplest method, failed, and there is nothing to hold the others against; "
        "a had the best mean (accuracy 90.0%)."
    )
    assert "is not measured yet" in told(of([row("a", 0.9), row(SIMPLEST, None)], [])).headline


def test_nothing_measured():
    assert (
        "every method failed"
        in told(of([row("a", None, failed=1), row(SIMPLEST, None, failed=1)], [])).headline
    )
    some = told(of([row("a", None, failed=1), row(SIMPLEST, None)], []))
    assert some.headline == "No verdict: no method has been measured yet."


def test_a_tie_is_no_better_mean():
    said = told(of([row("a", 0.8), row(SIMPLEST, 0.8)], [difference("a", 0.0, 1.0)]))
    assert (said.best, said.recommended) == ("a", SIMPLEST)
    assert not any("best mean" in sentence for sentence in said.details)


def test_errors_are_better_when_smaller():
    loss = METRICS[1]
    rows = [row("a", 0.4, name="log-loss"), row(SIMPLEST, 0.5, name="log-loss")]
    said = told(of(rows, [difference("a", 0.1, 0.001)], 0.005, loss))
    assert (said.best, said.winner) == ("a", "a")
    assert said.headline.startswith("Take a: expected 0.05 better than plain")


def test_better_but_practically_the_same_is_called_one_thing():
    rows = [row("a", 0.85), row("b", 0.801), row("c", 0.799), row(SIMPLEST, 0.8)]
    found = [
        difference("a", 0.05, 0.0),
        difference("b", 0.001, 0.01, 0.99),
        difference("c", -0.001, 0.01, 0.99),
    ]
    said = told(of(rows, found))
    assert "Practically the same as plain, with a probability above 95%: b, c." in said.details
    assert not any(sentence.startswith(("Also", "Shown")) for sentence in said.details)


@pytest.mark.parametrize(
    ("metric", "difference", "words"),
    [
        (ACCURACY, 0.05, "5 points"),
        (ACCURACY, 0.01, "1 point"),
        (ACCURACY, 0.0123, "1.2 points"),
        (ACCURACY, 0.0, "0 points"),
        (ACCURACY, 0.0002, "less than 0.1 points"),
        (METRICS[1], 0.01234, "0.0123"),
    ],
)
def test_differences_in_words(metric, difference, words):
    assert metric.format_difference(difference) == words


def test_numbers_in_words():
    assert [_format_p(p) for p in (0.0, 0.0009, 0.012, 0.994, 0.996, 1.0)] == [
        *("p < 0.001", "p < 0.001", "p = 0.012", "p = 0.99", "p = 1", "p = 1")
    ]
    assert [format_seconds(s) for s in (0.0123, 1.5, 119.0, 120.0, 3600.0)] == [
        *("0.012 s", "1.5 s", "119 s", "2 min", "60 min")
    ]
    assert ACCURACY.format(0.8512) == "85.1%"
    assert METRICS[1].format(0.123456) == "0.1235"
    assert "more" in told(of([row(SIMPLEST, 0.8), *(row(f"m{i}", 0.7) for i in range(8))],
                             [difference(f"m{i}", -0.1, 0.0) for i in range(8)])).details[0]  # fmt: skip


def test_memory_in_words():
    assert [_size(m) for m in (3.2, 999.0, 2048.0)] == ["3 MB", "999 MB", "2.0 GB"]
