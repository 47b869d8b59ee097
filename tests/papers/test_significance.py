import numpy as np
import pytest

from absentia import statistics
from absentia.papers import Experiment, MethodColumn, summarise

COLUMNS = (
    MethodColumn("ours", "A", beside="A"),
    MethodColumn("b", "B", beside="B"),
    MethodColumn("c", "C", beside="C"),
    MethodColumn("extra", "E"),
)


def experiment(statistic):
    design = {"data": ["one", "two"], "missing": [10, 20]}
    return Experiment(
        "t", "p", "Table 1", "what", row="{missing} %", design=design, columns=COLUMNS, statistic=statistic
    )


def record(method, right=None, scores=None, data="one", missing=10, repeat=0):
    key = {"data": data, "missing": missing, "method": method, "parameters": {}, "repeat": repeat}
    return {"trial": key, "result": {"right": right or {}, "scores": scores or {}}}


def observe(experiment, records):
    """What a summary says was observed, of trials that were done."""
    done = {"status": "done", "error": "", "cost": {}}
    return summarise(
        experiment, [{**one, "trial": {**one["trial"], "version": "1"}, **done} for one in records]
    ).observed


def values(found, measure):
    return {(one.row, one.column): one.value for one in found if one.measure == measure}


def test_every_other_column_is_held_against_the_first_view_by_view():
    records = [
        record("A", {"x": "1111111111", "y": "1111100000"}),
        record("B", {"x": "0000000001", "y": "1111100000"}),
    ]
    found = observe(experiment("mcnemar"), records)
    own, other = np.ones(10, dtype=bool), np.array([False] * 9 + [True])
    p = statistics.mcnemar(own, other).p
    assert p == pytest.approx(2 * 0.5**9)
    assert [one.value for one in found if one[:3] == ("p-value", "10 %", "b")] == [p, 1.0]
    assert [one.value for one in found if one[:3] == ("rejected, %", "10 %", "b")] == [100.0, 0.0]
    assert not [one for one in found if one.column == "ours"]


def test_all_levels_together_have_a_row_and_repeats_are_not_mixed():
    records = [
        record(method, {"x": right}, missing=missing, repeat=repeat)
        for missing, repeat in ((10, 0), (20, 0), (10, 1))
        for method, right in (("A", "11111111"), ("B", "00000000" if repeat else "11111111"))
    ]
    found = [one for one in observe(experiment("mcnemar"), records) if one.measure == "p-value"]
    assert [one.repeat for one in found if one.row == "all"] == [0, 0, 1]
    assert [one.value for one in found if one.row == "10 %"] == [1.0, pytest.approx(2 * 0.5**8)]


def test_without_answers_of_the_first_there_is_nothing_to_say():
    assert observe(experiment("mcnemar"), [record("B", {"x": "11"})]) == []


def ranked_records():
    """Three data sets; ours is best by CA in two of three, and by accuracy in every view."""
    ca = {("one", 10): (1, 2, 3), ("one", 20): (2, 1, 3), ("two", 10): (1, 2, 3)}
    for (data, missing), numbers in ca.items():
        for method, number in zip("ABC", numbers, strict=True):
            scores = {"CA": {"x": number - 1, "y": number + 1}, "accuracy": {"x": -number, "y": -number}}
            yield record(method, scores=scores, data=data, missing=missing)
        yield record("E", scores={"CA": {"x": 0.0}, "accuracy": {"x": 1.0}}, data=data, missing=missing)


def test_ranks_over_data_sets_and_for_accuracy_over_views_too():
    found = observe(experiment("friedman-nemenyi"), list(ranked_records()))
    ranks = values(found, "mean rank")
    assert ranks["CA", "ours"] == pytest.approx(4 / 3)
    assert ranks["CA", "c"] == 3.0
    assert values(found, "rank difference")["CA", "b"] == pytest.approx(1 / 3)
    assert not [one for one in found if one.column == "extra"]  # nothing was published of it
    least = values(found, "critical difference")
    # as Demsar has it, with q of three methods
    assert least["CA, alpha 0.05", "ours"] == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), abs=1e-3)
    assert least["accuracy, alpha 0.05", "ours"] == pytest.approx(
        2.343 * np.sqrt(3 * 4 / (6 * 6)), abs=1e-3
    )


def test_a_repeat_that_some_methods_lack_is_not_ranked():
    """Means over other masks for one method than for another would not be held against each other."""
    records = list(ranked_records())
    once = observe(experiment("friedman-nemenyi"), records)
    far = {"CA": {"x": 100.0, "y": 100.0}, "accuracy": {"x": -100.0, "y": -100.0}}
    again = [record("A", scores=far, data=data, missing=10, repeat=1) for data in ("one", "two")]
    assert observe(experiment("friedman-nemenyi"), records + again) == once


def test_told_apart_is_a_difference_above_the_critical_one():
    apart = values(observe(experiment("friedman-nemenyi"), list(ranked_records())), "told apart")
    assert apart["accuracy, alpha 0.05", "c"] == 1.0
    assert apart["accuracy, alpha 0.05", "b"] == 0.0
    assert apart["CA, alpha 0.05", "c"] == 0.0


def test_the_papers_table_8_follows_from_its_tables_4_and_5():
    """Rank differences of CA and ARE, and all critical differences, from the printed means."""
    from absentia.papers import find_experiment

    eight = find_experiment("cvkt-table8")
    records = []
    for name, data in (("cvkt-table4", "cvkt_digits200_kernels"), ("cvkt-table5", "uwave_train")):
        for missing in (10, 20, 30, 40, 50):
            for column in eight.columns:
                scores = {
                    measure: {
                        "x": find_experiment(name)
                        .measure(measure)
                        .published[f"{missing} %", column.beside]
                        .value
                    }
                    for measure in ("CA", "ARE")
                }
                key = {"data": data, "missing": missing, "method": column.method, "repeat": 0}
                key["parameters"] = column.parameters_in({"data": data, "missing": missing})
                records.append({"trial": key, "result": {"scores": scores}})
    found = observe(eight, records)
    for measure in ("rank difference", "critical difference", "told apart"):
        beside = {column.name: column.beside for column in eight.columns}
        own = values(found, measure)
        assert len(own) >= 4
        for (row, column), value in own.items():
            printed = eight.measure(measure).published[row, beside[column]]
            assert abs(value - printed.value) <= printed.rounding, (measure, row, column)
