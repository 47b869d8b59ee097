"""What became of claims."""

import pytest

from absentia.experiment.reproduction import summarise
from reproducing import experiment_of, record

CLAIM = '[[claims]]\nwords = "w"\nmeasure = "error"\nfirst = "zero"\nsecond = "mean"\n'


def verdict(tmp_path, more, *differences, columns=("zero", "mean")):
    """Of a claim that the zeros' error is less, by so much in each repeat."""
    experiment = experiment_of(tmp_path, CLAIM + more).asked(quick=columns != ("zero", "mean"))
    records = []
    for repeat, difference in enumerate(differences):
        records.append(record("ZeroFill", 10, {"error": {"": 5.0}}, repeat))
        records.append(record("MeanFill", 10, {"error": {"": 5.0 + difference}}, repeat))
    return summarise(experiment, records).claims[0].verdict


@pytest.mark.parametrize(
    ("more", "differences", "wanted"),
    [
        ("", (0.5, 0.6, 0.7), "holds"),
        ("", (-0.5, -0.6, -0.7), "does not hold"),
        ("", (-0.5, 0.6, 0.1), "no difference seen"),
        ("within = 1.0", (0.5, 0.6, 0.7), "holds"),
        ("within = 1.0", (-0.5, -0.6, -0.7), "holds"),
        ("within = 0.1", (0.5, 0.6, 0.7), "does not hold"),
        ("within = 0.1", (-0.5, -0.6, -0.7), "does not hold"),
        ("within = 0.1", (-2.0, 3.0, 0.1), "holds"),  # as near as can be told
    ],
)
def test_a_claim_is_that_one_is_better_or_that_two_are_alike(tmp_path, more, differences, wanted):
    assert verdict(tmp_path, more, *differences) == wanted


def test_a_claim_about_a_column_that_was_left_out_was_not_run(tmp_path):
    assert verdict(tmp_path, "", 0.5, 0.6, columns=("zero",)) == "not run"
