"""What records come to: counts, claims, a sentence."""

import numpy as np
import pytest

from absentia.papers._summary import summarise
from helpers.small_experiment import TEXT, VALUES, experiment, records


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
