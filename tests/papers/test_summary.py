"""What records come to: cells beside the published numbers, which are best, counts, claims, a sentence."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.papers import Cell, Measure, PublishedNumber, add_counts, describe_counts, summarise
from absentia.papers._summary import TableRow, _is_like, _judge, _mark
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
    assert cell.error == pytest.approx(np.std([0.7, 0.72, 0.71, 0.7, 0.72], ddof=1) / np.sqrt(5))
    assert cell.difference == pytest.approx(0.11)
    assert found["half missing"]["oracle"].mean is None


def test_two_columns_of_one_method_are_told_apart_by_parameters(tmp_path):
    found = cells(tmp_path)["0.25 missing"]
    assert found["mean"].mean == pytest.approx(0.32)
    assert found["entries"].mean == pytest.approx(0.32)
    assert found["entries"].values[2] == [0.3]


def test_verdicts_of_cells(tmp_path):
    found = cells(tmp_path)
    assert found["0.25 missing"]["zero"].verdict == "agrees"
    assert found["0.25 missing"]["zero"].exact
    assert found["0.25 missing"]["mean"].verdict == "agrees"  # .08 off, and the paper's error is .05
    assert not found["0.25 missing"]["mean"].exact
    assert found["half missing"]["zero"].verdict == "worse here"
    assert found["half missing"]["mean"].verdict == ""
    assert found["more missing"]["zero"].verdict == "not run"


@pytest.mark.parametrize(
    ("mean", "error", "text", "better", "repeats", "verdict"),
    [
        (0.1449, 0, "0.14", "lower", 1, "agrees"),
        (0.1451, 0, "0.14", "lower", 1, "worse here"),
        (0.1451, 0, "0.14", "higher", 1, "better here"),
        (0.1349, 0, "0.14", "lower", 1, "better here"),
        (0.1349, 0, "0.14", "higher", 1, "worse here"),
        (0.1349, 0, "0.14", "neither", 1, "differs"),
        (0.1449, 0, "0.14", "neither", 1, "agrees"),
        # without a printed spread the paper's repeats differ as our five: 2 hypot(e, e sqrt(5 / repeats))
        (0.20, 0.0124, "0.14", "lower", 1, "agrees"),
        (0.20, 0.0121, "0.14", "lower", 1, "worse here"),
        (0.20, 0.0214, "0.14", "lower", 5, "agrees"),
        (0.20, 0.0210, "0.14", "lower", 5, "worse here"),
        (0.20, 0.029, "0.14±0.04", "lower", 4, "agrees"),
        (0.20, 0.01, "0.14±0.04", "lower", 4, "worse here"),
        (0.20, 0, "0.14±0.04", "lower", 1, "agrees"),
    ],
)
def test_agreement_is_to_the_last_digit_or_within_two_joint_standard_errors(
    tmp_path, mean, error, text, better, repeats, verdict
):
    value, _, spread = text.partition("±")
    published = PublishedNumber(text, float(value), float(spread) if spread else None)
    values = mean + error * np.sqrt(5) * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) / np.sqrt(0.625)
    column = experiment(tmp_path).columns[0]
    cell = Cell(column, {repeat: [value] for repeat, value in enumerate(values)}, published)
    assert cell.error == pytest.approx(error)
    small = replace(experiment(tmp_path), published_repeats=repeats)
    assert _judge(cell, better, small) == verdict


def test_a_printed_spread_over_views_is_none_over_repeats(tmp_path):
    column = experiment(tmp_path).columns[0]
    values = {repeat: [0.2 + 0.01 * repeat] for repeat in range(5)}
    cell = Cell(column, values, PublishedNumber("0.14±0.04", 0.14, 0.04))
    small = replace(experiment(tmp_path), published_repeats=1)
    assert _judge(cell, "lower", small) == "agrees"
    assert _judge(cell, "lower", replace(small, published_spread="views")) == "worse here"


def test_the_error_is_over_repeats_and_views_of_one_mask_are_not_draws(tmp_path):
    column = experiment(tmp_path).columns[0]
    several = Cell(column, {0: [1.0, 3.0], 1: [2.0, 6.0]})
    assert several.mean == 3.0
    assert several.error == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2))
    assert Cell(column, {0: [1.0, 3.0]}).error is None


def cell_of_zero(small, which, quick=False):
    row = summarise(small, [one for one in records(small) if which(one["trial"])], quick).tables["error"][0]
    return row.cells["zero"]


@pytest.mark.parametrize(
    ("which", "quick", "verdict", "reason"),
    [
        (lambda key: True, False, "agrees", ""),
        (lambda key: key["repeat"] < 4, False, "not comparable", "4 repeats"),
        (lambda key: key["repeat"] == 0, False, "not comparable", "1 repeat"),
        (lambda key: True, True, "not comparable", "a run in small"),
        (lambda key: False, True, "not run", ""),
    ],
)
def test_few_repeats_and_small_runs_are_not_judged(tmp_path, which, quick, verdict, reason):
    cell = cell_of_zero(experiment(tmp_path), which, quick)
    assert (cell.verdict, cell.reason) == (verdict, reason)


def test_a_row_that_lacks_some_of_its_settings_is_not_judged(tmp_path):
    text = TEXT.replace('"{level} missing"', '"all"').replace("0.25 missing |", "all |")
    small = experiment(tmp_path, text)
    assert cell_of_zero(small, lambda key: True).verdict == "worse here"

    def lacks_one(key):
        return (key["level"], key["repeat"]) != (0.5, 3)

    cell = cell_of_zero(small, lacks_one)
    assert (cell.verdict, cell.reason) == ("not comparable", "some settings are missing")
    kept = [
        one for one in records(small) if lacks_one(one["trial"]) or one["trial"]["method"] != "ZeroFill"
    ]
    found = summarise(small, kept)
    assert [claim.verdict for claim in found.claims] == [
        "not run",
        "no difference seen",
    ]  # zero is in the first
    assert found.tables["error"][0].cells["mean"].mark
    assert not found.tables["error"][0].cells["zero"].mark
    only = text.replace('beside = "Z"', 'beside = "Z"\nonly = { level = [0.25] }')
    assert cell_of_zero(experiment(tmp_path, only), lambda key: key["level"] == 0.25).verdict == "agrees"


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
    values = {
        "zero": [1.0, 1.2, 1.1, 1.1, 1.1],
        "mean": [1.2, 1.0, 1.1, 1.1, 1.1],
        "entries": [0.1, 0.11, 0.1, 0.1, 0.1],
    }
    row = TableRow(
        "r",
        {
            name: Cell(column, {repeat: [value] for repeat, value in enumerate(numbers)})
            for column, (name, numbers) in zip((a, b, c), values.items(), strict=True)
        },
    )
    found = _mark(row, Measure("error", "higher"), 0.05).cells
    assert [cell.mark for cell in found.values()] == ["best", "best", ""]


def test_what_is_always_apart_is_not_alike_nor_is_what_nobody_can_tell(tmp_path):
    a, b, *_ = experiment(tmp_path).columns
    first = {repeat: [float(repeat)] for repeat in range(5)}
    assert not _is_like(Cell(a, first), Cell(b, {r: [x + 0.5] for r, (x,) in first.items()}), 0.05)
    noisy = Cell(b, {r: [x + (-1) ** r] for r, (x,) in first.items()})
    assert _is_like(Cell(a, first), noisy, 0.05)
    assert not _is_like(Cell(a, {r: first[r] for r in range(4)}), noisy, 0.05)  # four repeats


# -------------------------------------------------------------------------------- summary


def test_published_numbers_are_counted_by_what_they_are_about(tmp_path):
    small = experiment(tmp_path)
    found = summarise(small, records(small))
    of_proposed, of_baselines = (
        {w: n for w, n in found.counts[k].items() if n} for k in ("proposed", "baseline")
    )
    assert of_proposed == {"agrees": 1, "not run": 1}
    assert of_baselines == {"agrees": 1, "worse here": 1, "not run": 1}
    assert not any(found.counts["comparator"].values())
    assert found.verdict == (
        "Of 2 numbers of the proposed methods 1 agree, 1 not run. "
        "Of 3 numbers of baselines 1 agree, 1 worse here, 1 not run. Of 2 claims 1 holds."
    )
    assert (found.repeats, found.trials) == (5, 35)
    assert found.cpu == 70.0
    assert found.seconds == {"zero": 2.0, "mean": 2.0, "entries": 2.0, "oracle": 2.0}
    both = add_counts([found.counts, found.counts])
    assert describe_counts(both) == "Of 4 numbers of the proposed methods 2 agree, 2 not run."


def test_columns_that_read_what_is_hidden_do_not_count(tmp_path):
    text = TEXT.replace('beside = "Z"', 'beside = "Z"\nleaks = true')
    counts = summarise(experiment(tmp_path, text), []).counts
    assert (counts["proposed"]["not run"], counts["baseline"]["not run"]) == (2, 0)


def test_numbers_that_follow_from_others_do_not_count(tmp_path):
    small = experiment(tmp_path, TEXT.replace("0.25 missing | 0.50 |", "0.25 missing | 0.50* |"))
    found = summarise(small, records(small))
    assert found.tables["error"][0].cells["zero"].verdict == "agrees"
    assert found.counts["baseline"]["agrees"] == 0


def test_numbers_of_tests_are_statistics_whatever_they_compare(tmp_path):
    small = replace(experiment(tmp_path), statistic="mcnemar", claims=())
    counts = summarise(small, []).counts
    assert counts["statistic"]["not run"] == 5
    assert not any(counts["proposed"].values())


COMMENT = '\n[comment]\ndate = 2026-11-18\nof = "OF"\nwords = ["Because."]\n'


def test_a_comment_is_of_some_records_and_of_no_others(tmp_path):
    small = experiment(tmp_path)
    of = summarise(small, records(small)).trials_hash
    small = experiment(tmp_path, TEXT + COMMENT.replace("OF", of))
    found = summarise(small, records(small)[::-1])
    assert found.comment is not None
    assert (str(found.comment.date), found.comment.words) == ("2026-11-18", ("Because.",))
    assert summarise(small, records(small), quick=True).comment is None
    assert summarise(small, records(small)[1:]).comment is None  # fewer trials
    others = records(small)
    others[0]["trial"]["contents"] = "of other data"
    assert summarise(small, others).comment is None


def test_claims_are_paired_by_row_and_repeat(tmp_path):
    small = experiment(tmp_path)
    better, nothing = summarise(small, records(small)).claims
    pairs = [
        a - b
        for level in (0.25, 0.5)
        for a, b in zip(VALUES["zero", level], VALUES["mean", level], strict=True)
    ]
    assert better.mean == pytest.approx(np.mean(pairs))
    assert better.error == pytest.approx(np.std(pairs, ddof=1) / np.sqrt(10))  # repeats differ by less
    assert (better.pairs, better.published, better.verdict) == (10, 0.1, "holds")
    assert nothing.verdict == "no difference seen"


def test_a_claim_may_be_about_some_rows_and_be_wrong(tmp_path):
    text = TEXT.replace(
        'first = "mean"\nsecond = "zero"', 'first = "zero"\nsecond = "mean"\nrows = ["half missing"]'
    )
    small = experiment(tmp_path, text)
    found = summarise(small, records(small)).claims[0]
    assert (found.pairs, found.verdict) == (5, "does not hold")
    text = text.replace("half missing", "no such", 1).replace(
        'rows = ["half missing"]', 'rows = ["no such"]'
    )
    small = experiment(tmp_path, text)
    assert summarise(small, records(small)).claims[0].verdict == "not run"


def test_few_repeats_tell_nothing_of_a_claim_however_many_rows_they_have(tmp_path):
    small = experiment(tmp_path)
    four = summarise(small, [r for r in records(small) if r["trial"]["repeat"] < 4])
    assert (four.claims[0].pairs, four.claims[0].verdict) == (8, "too few to tell")
    assert four.verdict.endswith("Of 2 claims 0 hold, 2 could not be told.")
    assert summarise(small, records(small), quick=True).claims[0].verdict == "too few to tell"


def test_rows_that_share_their_mask_are_not_taken_for_independent(tmp_path):
    small = experiment(tmp_path)
    shift = [0.0, 0.3, -0.3, 0.3, -0.3]
    values = {("zero", level): [0.5] * 5 for level in (0.25, 0.5)}
    values |= {("mean", level): [0.49 + x for x in shift] for level in (0.25, 0.5)}
    found = summarise(small, records(small, values)).claims[0]
    assert found.error == pytest.approx(np.std(shift, ddof=1) / np.sqrt(5))
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


def test_without_published_numbers_claims_alone_are_told(tmp_path):
    text = TEXT[: TEXT.index("published = '''")] + TEXT[TEXT.index("\n[[claims]]") :]
    small = experiment(tmp_path, text)
    assert summarise(small, records(small)).verdict == "Of 2 claims 1 holds."
    small = experiment(tmp_path, text[: text.index("[[claims]]")])
    assert summarise(small, []).verdict == "Nothing was published in numbers."
