"""What records come to: cells beside the published numbers, which are best, counts, claims, a sentence."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.papers import Cell, Measure, summarise
from absentia.papers._experiment import Published
from absentia.papers._summary import TableRow, _differs, _judge, _mark
from helpers.small_experiment import TEXT, VALUES, experiment, records


def cells(tmp_path):
    small = experiment(tmp_path)
    rows = summarise(small, records(small)).tables["error"]
    return {row.name: row.cells for row in rows}


def test_numbers_of_trials_become_cells(tmp_path):
    found = cells(tmp_path)
    assert list(found) == ["0.25 missing", "half missing", "more missing"]
    cell = found["half missing"]["zero"]
    assert cell.mean == pytest.approx(0.71)
    assert cell.error == pytest.approx(np.std([0.7, 0.72, 0.71], ddof=1) / np.sqrt(3))
    assert cell.difference == pytest.approx(0.11)
    assert found["half missing"]["oracle"].mean is None


def test_two_columns_of_one_method_are_told_apart_by_parameters(tmp_path):
    found = cells(tmp_path)["0.25 missing"]
    assert found["mean"].mean == pytest.approx(0.32)
    assert found["entries"].mean == pytest.approx(0.32)
    assert found["entries"].values[2] == [0.3]


def test_verdicts_of_cells(tmp_path):
    found = cells(tmp_path)
    assert found["0.25 missing"]["zero"].verdict == "reproduced"
    assert found["0.25 missing"]["zero"].exact
    assert found["0.25 missing"]["mean"].verdict == "reproduced"  # .08 off, and the paper's error is .05
    assert not found["0.25 missing"]["mean"].exact
    assert found["half missing"]["zero"].verdict == "not reproduced"
    assert found["half missing"]["mean"].verdict == ""
    assert found["more missing"]["zero"].verdict == "not run"


@pytest.mark.parametrize(
    ("mean", "error", "text", "better", "repeats", "verdict"),
    [
        (0.1449, None, "0.14", "lower", 1, "reproduced"),
        (0.1451, None, "0.14", "lower", 1, "not reproduced"),
        (0.1451, None, "0.14", "higher", 1, "exceeded"),
        (0.1349, None, "0.14", "lower", 1, "exceeded"),
        (0.1349, None, "0.14", "higher", 1, "not reproduced"),
        (0.1349, None, "0.14", "neither", 1, "not reproduced"),
        (0.1449, None, "0.14", "neither", 1, "reproduced"),
        (0.20, 0.031, "0.14", "lower", 1, "reproduced"),
        (0.20, 0.029, "0.14", "lower", 1, "not reproduced"),
        (0.20, 0.029, "0.14±0.04", "lower", 4, "reproduced"),
        (0.20, 0.01, "0.14±0.04", "lower", 4, "not reproduced"),
        (0.20, 0.0, "0.14±0.04", "lower", 1, "reproduced"),
    ],
)
def test_agreement_is_to_the_last_digit_or_within_two_standard_errors(
    mean, error, text, better, repeats, verdict
):
    value, _, spread = text.partition("±")
    published = Published(text, float(value), float(spread) if spread else None)
    assert _judge(mean, error, published, better, repeats) == verdict


def test_the_error_is_over_repeats_and_of_a_single_one_over_its_parts(tmp_path):
    column = experiment(tmp_path).columns[0]
    several = Cell(column, {0: [1.0, 3.0], 1: [2.0, 6.0]})
    assert several.mean == 3.0
    assert several.error == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2))
    assert Cell(column, {0: [1.0, 3.0]}).error == pytest.approx(np.std([1.0, 3.0], ddof=1) / np.sqrt(2))
    assert Cell(column, {0: [1.0]}).error is None


def test_levels_that_a_row_pools_are_no_error(tmp_path):
    small = experiment(tmp_path, TEXT.replace('"{level} missing"', '"all"'))
    first = [one for one in records(small) if one["trial"]["repeat"] == 0]
    cell = summarise(small, first).tables["error"][0].cells["zero"]
    assert cell.mean == pytest.approx(0.6)
    assert cell.error is None
    both = summarise(small, records(small)).tables["error"][0].cells["zero"]
    assert both.error == pytest.approx(np.std([0.6, 0.61, 0.6065], ddof=1) / np.sqrt(3))


def test_what_could_not_be_judged_is_left_out(tmp_path):
    small = experiment(tmp_path)
    one = records(small)[0]
    one["result"] = {"scores": {"error": {"a": 1.0, "b": None}}}
    assert [found.value for found in summarise(small, [one]).observed] == [1.0]


# -------------------------------------------------------------------------------- marking


def test_best_and_like_the_best(tmp_path):
    small = experiment(tmp_path)
    rows = summarise(small, records(small)).tables["error"]
    second = {name: cell.mark for name, cell in rows[1].cells.items()}
    assert second == {"zero": "", "mean": "best", "entries": "like the best", "oracle": ""}
    neither = replace(small.measure("error"), better="neither")
    unmarked = summarise(replace(small, measures=(neither,), claims=()), records(small)).tables["error"]
    assert {cell.mark for row in unmarked for cell in row.cells.values()} == {""}
    # what reads hidden truth is not the best of anything
    assert rows[0].cells["oracle"].mark == ""


def test_higher_may_be_better_and_ties_share(tmp_path):
    a, b, c, _ = experiment(tmp_path).columns
    row = TableRow(
        "r",
        {"zero": Cell(a, {0: [1.0], 1: [1.2], 2: [1.1]}), "mean": Cell(b, {0: [1.2], 1: [1.0], 2: [1.1]})},
    )
    row.cells["entries"] = Cell(c, {0: [0.1], 1: [0.11], 2: [0.1]})
    found = _mark(row, Measure("error", "higher"), 0.05).cells
    assert [cell.mark for cell in found.values()] == ["best", "best", ""]


def test_differences_that_are_always_the_same_are_differences(tmp_path):
    a, b, *_ = experiment(tmp_path).columns
    assert _differs(Cell(a, {0: [1.0], 1: [2.0]}), Cell(b, {0: [1.5], 1: [2.5]}), 0.05)
    assert _differs(Cell(a, {0: [1.0]}), Cell(b, {0: [1.5]}), 0.05)  # nobody can say
    assert not _differs(
        Cell(a, {0: [1.0], 1: [2.0], 2: [3.0]}), Cell(b, {0: [1.4], 1: [1.5], 2: [3.2]}), 0.05
    )


# -------------------------------------------------------------------------------- summary


def test_counts_sentence_and_word(tmp_path):
    small = experiment(tmp_path)
    found = summarise(small, records(small))
    assert found.counts == {"reproduced": 2, "exceeded": 0, "not reproduced": 1, "not run": 2}
    assert found.verdict == (
        "Of 5 published numbers 2 reproduced, 1 not reproduced, 2 not run. Of 2 claims 1 holds."
    )
    assert found.word == "mostly reproduced"
    assert (found.repeats, found.trials) == (3, 21)
    assert found.cpu == 42.0
    assert found.seconds == {"zero": 2.0, "mean": 2.0, "entries": 2.0, "oracle": 2.0}


def test_columns_that_read_what_is_hidden_do_not_count(tmp_path):
    text = TEXT.replace('beside = "Z"', 'beside = "Z"\nleaks = true')
    assert summarise(experiment(tmp_path, text), []).counts["not run"] == 2  # the mean's alone


def test_claims_are_paired_by_row_and_repeat(tmp_path):
    small = experiment(tmp_path)
    better, nothing = summarise(small, records(small)).claims
    pairs = [
        a - b
        for level in (0.25, 0.5)
        for a, b in zip(VALUES["zero", level], VALUES["mean", level], strict=True)
    ]
    assert better.mean == pytest.approx(np.mean(pairs))
    assert better.error == pytest.approx(np.std(pairs, ddof=1) / np.sqrt(6))  # repeats differ by less
    assert (better.pairs, better.published, better.verdict) == (6, 0.1, "holds")
    assert nothing.verdict == "no difference seen"


def test_a_claim_may_be_about_some_rows_and_be_wrong(tmp_path):
    text = TEXT.replace(
        'first = "mean"\nsecond = "zero"', 'first = "zero"\nsecond = "mean"\nrows = ["half missing"]'
    )
    small = experiment(tmp_path, text)
    found = summarise(small, records(small)).claims[0]
    assert (found.pairs, found.verdict) == (3, "does not hold")
    text = text.replace("half missing", "no such", 1).replace(
        'rows = ["half missing"]', 'rows = ["no such"]'
    )
    small = experiment(tmp_path, text)
    assert summarise(small, records(small)).claims[0].verdict == "not run"


def test_one_number_tells_nothing(tmp_path):
    small = experiment(tmp_path)
    one = [r for r in records(small) if r["trial"]["repeat"] == 0 and r["trial"]["level"] == 0.5]
    assert summarise(small, one).claims[0].verdict == "too few to tell"


def test_rows_that_share_their_mask_are_not_taken_for_independent(tmp_path):
    small = experiment(tmp_path)
    shift = [0.0, 0.3, -0.3]
    values = {("zero", level): [0.5, 0.5, 0.5] for level in (0.25, 0.5)}
    values |= {("mean", level): [0.49 + x for x in shift] for level in (0.25, 0.5)}
    found = summarise(small, records(small, values)).claims[0]
    assert found.error == pytest.approx(np.std(shift, ddof=1) / np.sqrt(3))
    assert found.verdict == "no difference seen"


@pytest.mark.parametrize(("within", "verdict"), [(0.3, "holds"), (0.1, "does not hold")])
def test_a_claim_may_be_that_two_are_alike(tmp_path, within, verdict):
    text = TEXT.replace("published = 0.1", f"within = {within}")
    small = experiment(tmp_path, text)
    assert summarise(small, records(small)).claims[0].verdict == verdict  # zero and mean are .24 apart
    other = text.replace('first = "mean"\nsecond = "zero"', 'first = "zero"\nsecond = "mean"')
    small = experiment(tmp_path, other)
    assert summarise(small, records(small)).claims[0].verdict == verdict


def test_versions_and_failures_are_told(tmp_path):
    small = experiment(tmp_path)
    all_of_them = records(small)
    all_of_them[0]["trial"]["version"] = "older"
    all_of_them[1] |= {"status": "failed", "result": {}, "error": "it broke"}
    found = summarise(small, all_of_them)
    assert found.versions["ZeroFill"] == "older and of ZeroFill"
    assert found.failures == ["ZeroFill, repeat 1: it broke"]


def test_without_published_numbers_claims_decide(tmp_path):
    text = TEXT[: TEXT.index("published = '''")] + TEXT[TEXT.index("\n[[claims]]") :]
    small = experiment(tmp_path, text)
    assert summarise(small, records(small)).word == "in part"
    assert summarise(experiment(tmp_path, text[: text.index("[[claims]]")]), []).word == ""
