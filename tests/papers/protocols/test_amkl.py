"""The protocol of the paper on absent multiple kernel learning."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from absentia import AbsentMKLClassifier, MeanFill, MKLClassifier, ViewKernels, Views, missingness
from absentia.files import FileError
from absentia.papers import Reproduction, find_experiment, list_experiments, missing_data
from absentia.papers.protocols import _amkl as amkl
from absentia.papers.protocols import perform_trial

# the protocol says nothing of fits that are warned of: papers do not
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
KEY = {
    "protocol": "amkl",
    "absent": 0.5,
    "spacing": "ratios",
    "folds": 3,
    "repeat": 1,
    "seed": 0,
    "parameters": {},
}
CONVEX = {"method": "AbsentMKLClassifier", "parameters": {"formulation": "convex"}}
PRINTED = {"method": "AbsentMKLClassifier", "parameters": {"formulation": "convex", "paper_form": True}}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Files of every kind that experiments read, small: features, factors, kernels."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [20, 16])
    np.savez(tmp_path / "uci_heart.npz", view_x=rng.standard_normal((36, 4)) + 0.8 * y[:, None], y=y)
    classes = np.repeat(np.arange(3), 14)
    parts = rng.standard_normal((5, 42, 6)) + 1.5 * np.eye(6)[classes]
    factors = {f"view_k{p}": X for p, X in enumerate(parts)}
    np.savez(tmp_path / "proteinfold_embed27.npz", **factors, y=classes)
    kernels = np.stack([X @ X.T for X in parts])
    for name in ("psortPos", "plant", "psortNeg", "flower17", "caltech101"):
        np.savez(tmp_path / f"{name}.npz", K=kernels, y=classes)
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    return tmp_path


def by_hand(known, rows, y, of_test, folds=3):
    """C of the most held-out training samples right, then the share of test samples right."""
    best, most = None, -1
    for C in (0.5, 2.0, 8.0, 32.0, 128.0):
        right = 0
        for fit, held in StratifiedKFold(folds, shuffle=True, random_state=1).split(np.zeros(len(y)), y):
            machine = AbsentMKLClassifier("convex", C=C).fit(known[np.ix_(fit, fit)], y[fit])
            right += (machine.predict(known[np.ix_(held, fit)]) == y[held]).sum()
        if right > most:
            best, most = C, right
    hits = AbsentMKLClassifier("convex", C=best).fit(known, y).predict(rows) == of_test
    return best, 100 * hits.mean()


def test_a_cell_of_heart_is_what_the_method_gives_by_hand(data_folder, monkeypatch):
    monkeypatch.setenv("ABSENTIA_DATA", str(data_folder))
    arrays = np.load(data_folder / "uci_heart.npz")
    X, y = arrays["view_x"].astype(float), arrays["y"]
    rng = np.random.default_rng([0, 1])
    train = np.sort(
        np.concatenate([rng.permutation(np.flatnonzero(y == c))[:k] for c, k in ((-1, 90), (1, 72))])
    )
    test = np.setdiff1d(np.arange(270), train)
    keep = missingness.fixed_per_sample((270, 20), 10, random_state=np.random.default_rng([0, 1, 10]))
    Z = X[train] / X[train].std(axis=0)
    mean = np.mean([np.linalg.norm(Z[i] - Z[j]) for i in range(162) for j in range(i)])
    widths = {f"width{p:02d}": mean * 2.0 ** (-7 + 14 * p / 19) for p in range(20)}
    kernels = ViewKernels(
        per_view={name: {"gamma": 1 / (2 * w * w)} for name, w in widths.items()}, center=True
    )
    views = Views.from_dict(dict.fromkeys(widths, X)).hide(keep)
    C, accuracy = by_hand(
        kernels.fit_transform(views[train]), kernels.transform(views[test]), y[train], y[test]
    )
    found = perform_trial(KEY | CONVEX | {"data": "uci_heart"})
    assert found["scores"] == {"accuracy": {"": pytest.approx(accuracy)}}
    assert found["chosen"] == {"C": C}
    assert found["right"].count("1") / 108 == pytest.approx(accuracy / 100)


def test_a_cell_of_kernels_is_what_the_method_gives_by_hand(made):
    key = KEY | CONVEX | {"data": "plant", "absent": 0.5}
    one = amkl._make_problem(key)
    assert (one.keep.sum(axis=1) == 2).all()  # half of five views is 2.5, which goes up
    K = np.load(made / "plant.npz")["K"]
    train, test, y = one.train, one.test, np.load(made / "plant.npz")["y"]
    blocks, rows = {}, {}
    for v in range(5):
        of_train, of_test = train[one.keep[train, v]], test[one.keep[test, v]]
        M = np.full((len(of_train), len(of_train)), 1 / len(of_train))
        inner, cross = K[v][np.ix_(of_train, of_train)], K[v][np.ix_(of_test, of_train)]
        own = np.diagonal(K[v])[of_test] - 2 * cross.mean(axis=1) + inner.mean()
        A = inner - M @ inner - inner @ M + M @ inner @ M
        B = cross - cross.mean(axis=1, keepdims=True) - inner.mean(axis=0) + inner.mean()
        blocks[v], rows[v] = (
            A / np.sqrt(np.outer(np.diagonal(A), np.diagonal(A))),
            B / np.sqrt(np.outer(own, np.diagonal(A))),
        )
    known, new = one.observed()
    for v, name in enumerate(known.names):
        np.testing.assert_allclose(known.block(name), blocks[v], atol=1e-10)
        np.testing.assert_allclose(new.block(name), rows[v], atol=1e-10)
    C, accuracy = by_hand(known, new, y[train], y[test])
    found = perform_trial(key)
    assert (found["chosen"], found["scores"]["accuracy"][""]) == ({"C": C}, pytest.approx(accuracy))


def test_what_is_filled_first_is_filled_from_training_samples(made):
    key = KEY | {"data": "proteinfold_embed27", "method": "MF-MKL"}
    one = amkl._make_problem(key)
    known, new = one.observed()
    fill = MeanFill().fit(known)
    found = perform_trial(key)
    machine = MKLClassifier(C=found["chosen"]["C"]).fit(fill.transform(known), one.y[one.train])
    hits = machine.predict(fill.transform(new)) == one.y[one.test]
    assert found["right"] == "".join("01"[int(hit)] for hit in hits)


@pytest.mark.slow
def test_only_the_printed_form_reads_what_is_absent(made, monkeypatch):
    """Another truth behind the mask changes nothing for others, and kernels for the printed form."""
    key = KEY | {"data": "psortPos"}
    one = amkl._make_problem(key)
    spoilt = np.load(made / "psortPos.npz")["K"].copy()
    for v in range(5):
        gone = ~one.keep[:, v]
        spoilt[v][gone] = spoilt[v][:, gone] = 0.0
        spoilt[v][gone, gone] = 1.0
    methods = [CONVEX, {"method": "MKLClassifier"}, {"method": "MF-MKL"}, {"method": "AverageKernelSVC"}]
    before = [perform_trial(key | method) for method in methods]
    printed = amkl._select_input(key | PRINTED, one)
    np.savez(made / "psortPos.npz", K=spoilt, y=one.y)
    assert [perform_trial(key | method) for method in methods] == before
    now = amkl._select_input(key | PRINTED, amkl._make_problem(key))
    assert printed[0].observed.all()
    assert (printed[1].observed == one.keep[one.test]).all()
    assert np.abs(printed[0].to_dense() - now[0].to_dense()).max() > 0.1


@pytest.mark.slow
def test_the_printed_form_is_chosen_and_fitted_under_the_mask(made):
    key = KEY | PRINTED | {"data": "proteinfold_embed27"}
    one = amkl._make_problem(key)
    known, new = one.complete()
    found = perform_trial(key)
    machine = AbsentMKLClassifier("convex", paper_form=True, C=found["chosen"]["C"])
    hits = (
        machine.fit(known, one.y[one.train], observed=one.keep[one.train]).predict(new) == one.y[one.test]
    )
    assert found["right"] == "".join("01"[int(hit)] for hit in hits)
    both = {"formulation": "penalized", "paper_form": True}
    assert set(perform_trial(key | {"parameters": both})["chosen"]) == {"C", "lam"}


def test_the_demonstration_learns_under_the_mask_and_scores_without_weights_against_complete_samples(made):
    """Score by score from public attributes: what one view says of one test sample, unmasked, unweighted."""
    for data in ("uci_heart", "proteinfold_embed27"):
        key = KEY | {"data": data, "method": "C-AMKL, demonstration"}
        one = amkl._make_problem(key)
        known, new = one.complete()
        found = perform_trial(key)
        machine = AbsentMKLClassifier("convex", C=found["chosen"]["C"])
        machine.fit(known.hide(one.keep[one.train]), one.y[one.train])
        right = ""
        for i, t in enumerate(one.test):
            scores = machine.bias_.copy()
            for v, name in enumerate(new.names):
                row = new.block(name)[np.flatnonzero(new.observed[:, v]) == i]  # none where it is absent
                scores += [(row @ z).sum() for z in machine.dual_coef_]
            best = int(scores[0] > 0) if len(scores) == 1 else int(np.argmax(scores))
            right += "01"[int(machine.classes_[best] == one.y[t])]
        assert found["right"] == right


def test_c_is_a_power_of_two_in_steps_of_the_design():
    key = {"method": "MKLClassifier", "parameters": {}}
    chosen = [option["C"] for option in amkl._option_grid(key | {"power_step": 1})]
    assert chosen == [0.5, 1, 2, 4, 8, 16, 32, 64, 128]
    assert [option["C"] for option in amkl._option_grid(key)] == chosen[::2]
    two_step = {"formulation": "penalized", "two_step": True}
    assert len(list(amkl._option_grid(key | {"parameters": two_step}))) == 15
    assert len(list(amkl._option_grid(key | {"parameters": {**two_step, "lam": 0.5}}))) == 5


def test_of_more_samples_than_the_design_says_so_many_are_drawn(made):
    key = KEY | {"data": "uci_heart"}
    some = amkl._make_problem(key | {"samples": 30})
    assert len(some.train) + len(some.test) == len(some.y) == len(some.data) == len(some.keep) == 30
    again = amkl._make_problem(key | {"samples": 30, "absent": 0.1})
    np.testing.assert_array_equal(again.y, some.y)
    for enough in (36, 1000):
        np.testing.assert_array_equal(
            amkl._make_problem(key | {"samples": enough}).train, amkl._make_problem(key).train
        )
    assert amkl._make_problem(KEY | {"data": "plant", "samples": 20}).data.shape == (20, 20)


def test_all_methods_of_a_repeat_have_one_split_and_mask_and_other_repeats_others(made):
    key = KEY | {"data": "uci_heart", "method": "AverageKernelSVC"}
    one, same = amkl._make_problem(key), amkl._make_problem(key | CONVEX)
    np.testing.assert_array_equal(one.keep, same.keep)
    np.testing.assert_array_equal(one.train, same.train)
    other, denser = amkl._make_problem(key | {"repeat": 2}), amkl._make_problem(key | {"absent": 0.1})
    assert (other.train != one.train).any()
    assert (other.keep != one.keep).any()
    np.testing.assert_array_equal(denser.train, one.train)
    assert (denser.keep.sum(axis=1) == 18).all()
    assert len(one.train) == 12 + 10  # 60 % of 20 and of 16, rounded up


def test_so_many_of_every_class():
    y = np.repeat([0, 1, 2], [30, 40, 12])
    train, test = amkl._split(y, 10, np.random.default_rng(0))
    assert np.bincount(y[train]).tolist() == [10, 10, 10]
    assert len(test) == 52


def test_widths_are_spaced_as_asked(made):
    heart = amkl._make_problem(KEY | {"data": "uci_heart"}).kernels.per_view
    steps = amkl._make_problem(KEY | {"data": "uci_heart", "spacing": "steps"}).kernels.per_view
    ratios = np.array([one["gamma"] for one in heart.values()]) ** -0.5
    equal = np.array([one["gamma"] for one in steps.values()]) ** -0.5
    np.testing.assert_allclose(ratios[1:] / ratios[:-1], 2 ** (14 / 19))
    np.testing.assert_allclose(np.diff(equal), equal[1] - equal[0])
    np.testing.assert_allclose((ratios[0], ratios[-1]), (equal[0], equal[-1]))


def test_which_kernels_are_made_is_said_by_the_design_and_not_by_the_name_of_the_file(made):
    (made / "uci_heart.npz").rename(made / "heart.npz")
    assert amkl._make_problem(KEY | {"data": "heart"}).data.n_views == 20
    (made / "proteinfold_embed27.npz").rename(made / "uci_folds.npz")
    assert amkl._make_problem(KEY | {"data": "uci_folds"}).data.n_views == 5
    unsaid = {name: value for name, value in KEY.items() if name != "spacing"}
    for key in (unsaid, KEY | {"spacing": "even"}):
        with pytest.raises(
            ValueError, match=r"heart\.npz is one table .* does not say which kernels .*spacing"
        ):
            amkl._make_problem(key | {"data": "heart"})


def test_how_many_are_trained_on_is_said_by_the_design_and_not_by_the_name_of_the_file(made):
    assert len(amkl._make_problem(KEY | {"data": "caltech101"}).train) == 3 * 9  # 60 % of 14
    assert len(amkl._make_problem(KEY | {"data": "plant", "train": 10}).train) == 30


def test_kernels_have_no_features(made):
    with pytest.raises(ValueError, match="no features"):
        perform_trial(KEY | {"data": "plant", "method": "MMAFClassifier"})
    assert perform_trial(KEY | {"data": "proteinfold_embed27", "method": "MMAFClassifier"})["scores"]


def test_a_file_without_classes_is_named(made):
    np.savez(made / "plant.npz", K=np.stack([np.eye(4)] * 5))
    with pytest.raises(FileError, match=r"plant\.npz.*'y'"):
        amkl._load_classes("plant")


def test_experiments_of_kernels_run_where_there_are_files_and_say_which_are_wanted(made, tmp_path):
    for name, columns in (("amkl-table4", 9), ("amkl-table5", 8), ("amkl-table6", 7)):
        assert len(find_experiment(name).columns) == columns
        assert missing_data(find_experiment(name)) == []
        done = perform_trial(
            Reproduction(find_experiment(name).reduce(quick=True), tmp_path / "out").trials[0].key
        )
        assert 0 <= done["scores"]["accuracy"][""] <= 100
    (made / "plant.npz").unlink()
    with pytest.raises(FileError, match=r"amkl-table4 needs plant .*ABSENTIA_DATA"):
        Reproduction(find_experiment("amkl-table4"), tmp_path / "out").trials  # noqa: B018


@pytest.mark.parametrize(
    ("table", "figure"), [("amkl-table1", "amkl-figure1"), ("amkl-table3", "amkl-figure2")]
)
def test_a_table_and_its_figure_share_trials(data_folder, monkeypatch, tmp_path, table, figure):
    monkeypatch.setenv("ABSENTIA_DATA", str(data_folder))
    of_table, of_figure = (
        [t.hash for t in Reproduction(find_experiment(n), tmp_path).trials] for n in (table, figure)
    )
    assert of_table == of_figure


@pytest.mark.slow
def test_every_method_of_the_experiments_can_be_performed(made):
    """Each method once, on the smallest data."""
    seen = {}
    for one in list_experiments().values():
        if one.protocol == "amkl":
            for column in one.columns:
                seen[repr((column.method, column.parameters))] = column
    assert len(seen) >= 11
    for column in seen.values():
        key = KEY | {
            "data": "proteinfold_embed27",
            "method": column.method,
            "parameters": column.parameters,
        }
        assert 0 <= perform_trial(key)["scores"]["accuracy"][""] <= 100
