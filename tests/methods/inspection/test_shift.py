"""New data beside training data: what differs is said, what does not is not."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import KernelViews, ViewKernels, Views, inspection
from absentia.data import DataSummary


def made(n, seed=0, **more):
    rng = np.random.default_rng(seed)
    tables = {
        "blood": pd.DataFrame(rng.normal(size=(n, 4)), columns=["iron", "zinc", "salt", "lead"]),
        "mri": pd.DataFrame(np.exp(rng.normal(size=(n, 30))), columns=[f"x{j}" for j in range(30)]),
    }
    tables["blood"]["stage"] = rng.choice(["I", "II"], n)
    for name, change in more.items():
        change(tables[name])
    return Views.from_dict(tables)


@pytest.fixture(scope="module")
def training():
    views = made(150)
    keep = np.ones(views.observed.shape, bool)
    keep[:30, 1] = False
    return views.hide(keep)


def hidden_as(training, new):
    """The first fifth of the new samples lacks the MRI, as in training."""
    keep = np.ones(new.observed.shape, bool)
    keep[: len(new) // 5, 1] = False
    return new.hide(keep)


def test_of_samples_that_are_alike_nothing_is_said(training):
    alarms = [
        inspection.shift(training, hidden_as(training, made(60, seed))).sentences for seed in range(1, 21)
    ]
    assert sum(map(bool, alarms)) <= 3  # one in twenty, of which two more are luck


def test_a_shifted_feature_and_one_out_of_range_are_found_and_no_others(training):
    def change(table):
        table["iron"] += 1.0
        table["zinc"] *= 50

    found = inspection.shift(training, hidden_as(training, made(80, 1, blood=change)))
    assert set(zip(found.notable["kind"], found.notable["name"], strict=True)) == {
        ("range", "zinc"),
        ("location", "iron"),
    }
    row = found.table.query("kind == 'location' and name == 'iron'").iloc[0]
    assert row["effect"] == pytest.approx(1.0, abs=0.35)
    assert row["low"] < 1.0 < row["high"]
    assert [remark.kind for remark in found.remarks] == ["range", "location"]
    assert "'zinc'" in found.sentences[0]
    assert "'iron' (+" in found.sentences[1]
    assert found.table["kind"].tolist() == sorted(
        found.table["kind"], key=["pattern", "range", "location", "view", "missing"].index
    )
    assert found.table.iloc[-1]["kind"] == "missing"


def test_one_wild_value_among_many_does_not_shift_a_mean(training):
    def change(table):
        table.loc[5, "iron"] = 1e9

    found = inspection.shift(training, hidden_as(training, made(80, 1, blood=change)))
    row = found.table.query("kind == 'location' and name == 'iron'").iloc[0]
    assert abs(row["effect"]) < 0.5
    assert not found.sentences


def test_a_single_sample_far_off_is_seen(training):
    def age(table):
        table["iron"] = 700.0

    assert "'iron' (100% of samples)" in inspection.shift(training, made(1, 1, blood=age)).sentences[0]
    rng = np.random.default_rng(0)
    wide = Views.from_dict({"genes": rng.normal(size=(100, 2000))})
    one = Views.from_dict({"genes": 1000 * rng.normal(size=(1, 2000))})
    (sentence,) = inspection.shift(wide, one).sentences
    assert sentence.startswith("view 'genes': 100% of all values are outside the training range")
    assert not inspection.shift(wide, Views.from_dict({"genes": rng.normal(size=(1, 2000))})).sentences


def test_patterns_that_training_does_not_have_are_named(training):
    new = made(40, 1)
    keep = np.ones(new.observed.shape, bool)
    keep[:10, 0] = False
    found = inspection.shift(training, new.hide(keep))
    words = "10 of 40 new samples (25%) have a pattern that no training sample has: only mri (10)."
    assert found.sentences[0] == words
    rows = found.table.query("kind == 'pattern'").set_index("name")
    assert rows.loc["only mri", ["training", "new"]].tolist() == [0, 0.25]
    assert rows.loc["every view", ["training", "new"]].tolist() == [0.8, 0.75]
    assert "view 'blood': 75% of the new samples have it, 100% in training." in found.sentences


def test_views_columns_and_levels_that_differ_are_said(training):
    tables = {name: made(40, 1).to_frame(name) for name in ("blood", "mri")}
    tables["blood"] = tables["blood"].drop(columns="zinc").assign(gold=1.0)
    tables["blood"]["stage"] = "III"
    tables["eeg"] = pd.DataFrame(np.ones((40, 1)), tables["mri"].index)
    found = inspection.shift(training, Views.from_dict(tables))
    columns = [remark.sentence for remark in found.remarks if remark.kind == "column"]
    assert columns[0].startswith("view 'blood': 1 missing")
    assert "1 unknown (ignored: 'gold')" in columns[0]
    assert "levels that training did not have ('III')" in columns[0]
    assert columns[1] == "view 'eeg' was not there in training (ignored)."


def test_missing_values_within_a_view_are_counted(training):
    def change(table):
        table.loc[:40, "iron"] = np.nan
        table.loc[:40, "salt"] = np.nan

    found = inspection.shift(training, hidden_as(training, made(80, 1, blood=change)))
    (row,) = found.notable.to_dict("records")
    assert (row["kind"], row["view"]) == ("missing", "blood")
    assert row["effect"] == pytest.approx(2 * 41 / (80 * 6))  # a column for each of two levels
    assert found.sentences == ("view 'blood': 17% of the values are missing, 0% in training.",)


def test_categories_are_compared_level_by_level(training):
    def change(table):
        table["stage"] = np.where(np.arange(len(table)) % 10 == 0, "I", "II")

    found = inspection.shift(training, hidden_as(training, made(80, 1, blood=change)))
    assert set(found.notable["name"]) == {"stage=I", "stage=II"}


def test_a_summary_says_what_the_data_say_and_holds_no_rows(training):
    new = hidden_as(training, made(80, 1))
    summary = DataSummary.of(training)
    pd.testing.assert_frame_equal(
        inspection.shift(training, new).table, inspection.shift(summary, new).table
    )
    sizes = [
        array.size for one in summary.features.values() for array in vars(one).values() if np.ndim(array)
    ]
    assert max(sizes) == 30  # features; there are 150 samples
    with pytest.raises(TypeError, match="knows nothing of its training data"):
        inspection.shift(ViewKernels(), new)
    with pytest.raises(TypeError, match="Views or KernelViews are wanted, not int"):
        inspection.shift(training, 3)
    with pytest.raises(ValueError, match="samples with some of"):
        inspection.shift(training, Views.from_dict({"z": [[1.0]]}))


def test_order_and_sparse_tables_change_nothing(training):
    new = hidden_as(training, made(80, 1))
    one = inspection.shift(training, new)
    order = np.random.default_rng(0).permutation(80)
    two = inspection.shift(training.select(["mri", "blood"]), new[order].select(["mri", "blood"]))
    keys = ["kind", "view", "name"]
    pd.testing.assert_frame_equal(
        one.table.sort_values(keys, ignore_index=True), two.table.sort_values(keys, ignore_index=True)
    )
    rng = np.random.default_rng(0)
    counts, more = rng.poisson(0.3, (90, 20)).astype(float), rng.poisson(3.0, (30, 20)).astype(float)
    dense = inspection.shift(Views.from_dict({"c": counts}), Views.from_dict({"c": more}))
    sparse = inspection.shift(
        *(Views.from_dict({"c": scipy.sparse.csr_array(table)}) for table in (counts, more))
    )
    pd.testing.assert_frame_equal(dense.table, sparse.table)
    assert len(dense.notable) > 10


def test_kernels_are_compared_by_who_has_which_view():
    blocks = {"a": (range(30), np.eye(30)), "b": (range(10, 30), np.eye(20))}
    training = KernelViews.from_blocks(blocks)
    found = inspection.shift(training, KernelViews.from_blocks({"a": (range(9), np.eye(9))}))
    assert set(found.table["kind"]) == {"pattern", "view"}
    assert found.sentences == ("view 'b': 0% of the new samples have it, 67% in training.",)


def test_programs_get_the_notable_rows(training):
    def change(table):
        table["iron"] += 2.0

    found = inspection.shift(training, hidden_as(training, made(80, 1, blood=change)))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["sentences"] == list(found.sentences)
    assert {row["name"] for row in document["notable"]} >= {"iron"}
