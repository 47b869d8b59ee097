"""Which views to measure for whom."""

import numpy as np
import pandas as pd
import pytest

from absentia import AbsentClassifier, Views, inspection
from helpers.known_effects import planted

COLUMNS = ["id", "view", "batch", "cost", "gain", "gain per cost", "cumulative cost", "cumulative gain"]


@pytest.fixture(scope="module")
def fitted():
    views, y = planted(120)
    return AbsentClassifier(C=1.0).fit(views[:80], y[:80]), views[80:], views[:80]


def plan(fitted, **options):
    return inspection.plan(*fitted, n_draws=5, **options)


def gains_of(fitted):
    frame = inspection.value_of_views(*fitted, n_draws=5)
    return frame.set_index(["id", "view"])


def test_the_view_that_decides_comes_first_and_sums_are_those_of_the_rows(fitted):
    table = plan(fitted)
    assert table.columns.tolist() == COLUMNS
    assert (table["view"][:5] == "tells").all()
    assert (table["cost"] == 1).all()
    assert table["batch"].tolist() == list(range(1, len(table) + 1))
    assert np.allclose(table["gain per cost"], table["gain"] / table["cost"])
    assert np.allclose(table["cumulative cost"], table["cost"].cumsum())
    assert np.allclose(table["cumulative gain"], table["gain"].cumsum())
    assert table["gain per cost"].is_monotonic_decreasing
    assert not table.duplicated(["id", "view"]).any()


def test_first_views_have_the_gain_of_value_of_views_and_second_ones_what_is_left(fitted):
    """A view removes the same share of the doubt that is left as it would of all."""
    alone = gains_of(fitted)
    table = plan(fitted)
    assert table["id"].duplicated().any()
    left = {}
    for row in table.itertuples(index=False):
        value = alone.loc[row.id, row.view]
        doubt = 1 - value["now"]
        rest = left.get(row.id, doubt)
        assert row.gain == pytest.approx(value["gain"] * rest / doubt)
        left[row.id] = rest - row.gain
    assert set(map(tuple, table[["id", "view"]].to_numpy())) == set(alone.index[alone["gain"] > 0])


def test_costs_change_the_order_and_the_budget_is_kept(fitted):
    costs = {"tells": 50.0, "echo": 1.0, "noise": 1.0}
    table = plan(fitted, costs=costs, budget=120)
    assert table["view"].iloc[0] != "tells"
    assert (table["view"] == "tells").any()
    assert (table["cost"] == table["view"].map(costs)).all()
    assert table["cost"].sum() <= 120
    everything = plan(fitted, costs=costs)
    paid = everything.merge(table[["id", "view"]], on=["id", "view"], how="left", indicator=True)
    left_out = paid[paid["_merge"] == "left_only"]
    assert (left_out["cost"] > 120 - table["cost"].sum()).all()  # nothing more could be paid for
    assert set(plan(fitted, costs={"echo": 2.0})["view"]) == {"echo"}


def test_a_budget_that_is_a_sum_of_costs_is_spent_to_the_last(fitted):
    table = plan(fitted, costs={"tells": 0.1}, budget=0.3)  # in floating point 3 * 0.1 is more
    assert len(table) == 3


def test_batches_are_whole_and_share_their_cost(fitted):
    sizes, fixed = {"tells": 4, "echo": 3}, {"tells": 8.0}
    table = plan(fitted, batch=sizes, batch_costs=fixed)
    for (_, view), rows in table.groupby(["batch", "view"]):
        size, last = sizes.get(view, 1), rows.index[-1] == table.index[table["view"] == view][-1]
        assert len(rows) == size or (last and len(rows) < size)
        assert rows["cost"].sum() == pytest.approx(fixed.get(view, 0.0) + len(rows))
    assert table["batch"].is_monotonic_increasing
    whole = plan(fitted, costs={"tells": 1.0}, batch=4, budget=7)
    assert whole["batch"].tolist() == [1, 1, 1, 1]
    alone = gains_of(fitted)["gain"].xs("tells", level="view")
    assert whole["id"].tolist() == alone.nlargest(4).index.tolist()


def test_a_dear_batch_waits_until_it_is_worth_it(fitted):
    cheap = plan(fitted, batch={"tells": 4})
    dear = plan(fitted, batch={"tells": 4}, batch_costs={"tells": 1000.0})
    assert cheap["view"].iloc[0] == "tells"
    assert dear["view"].iloc[0] != "tells"
    assert dear["view"].iloc[-1] == "tells"


def test_one_sample_and_the_order_of_samples_and_views(fitted):
    """Every sample is there twice, so that gains are equal and names decide."""
    model, new, train = fitted
    at = int(np.argmax(~new.observed[:, 0]))
    one = plan((model, new[[at]], train))
    assert set(one["id"]) == {new.ids[at]}
    assert "tells" in set(one["view"])
    frames = {name: new.to_frame(name) for name in new.names}
    twice = Views.from_dict({n: pd.concat([f, f.rename(lambda x: f"{x}b")]) for n, f in frames.items()})
    turned = twice[np.arange(len(twice))[::-1]].select(["noise", "tells", "echo"])
    first, other = plan((model, twice, train)), plan((model, turned, train))
    pd.testing.assert_frame_equal(first, other, rtol=1e-9)


def test_nothing_absent_is_an_empty_table_and_what_costs_nothing_is_first(fitted):
    model, new, train = fitted
    complete = new[np.flatnonzero(new.observed.all(axis=1))]
    empty = plan((model, complete, train))
    assert empty.columns.tolist() == COLUMNS
    assert len(empty) == 0
    free = plan(fitted, costs={"tells": 1.0, "noise": 0.0}, budget=1)
    assert free["view"].iloc[0] == "noise"
    assert free["gain per cost"].iloc[0] == np.inf
    assert free["view"].iloc[-1] == "tells"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"costs": {"tell": 1.0}}, "costs: no view 'tell'; the views are 'tells', 'echo', 'noise'"),
        ({"costs": {"tells": -1.0}}, "costs: view 'tells' has -1.0; a number of 0 or more"),
        ({"costs": {"tells": np.nan}}, "costs: view 'tells' has nan"),
        ({"batch": {"echo": 0}}, "batch: view 'echo' has 0; a whole number of 1 or more"),
        ({"batch": 1.5}, "has 1.5; a whole number"),
        ({"batch_costs": {"echo": -2.0}}, "batch_costs: view 'echo' has -2.0"),
        ({"budget": 0.0}, "the budget is a number above 0, not 0.0"),
        ({"budget": np.nan}, "the budget is a number above 0, not nan"),
        ({"costs": {"tells": 5.0, "echo": 3.0}, "budget": 2.0}, "pays for nothing: the least is 3,"),
        ({"batch": 4, "budget": 3.0}, "the least is 4"),
    ],
)
def test_what_is_no_price_is_refused(fitted, options, words):
    with pytest.raises(ValueError, match=words):
        plan(fitted, **options)
