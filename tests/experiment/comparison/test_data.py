"""What is compared on, out of what a user has; kept and read again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from absentia import AbsenceWarning, ViewKernels, Views
from absentia.core import serialize
from absentia.experiment.comparison import make_task_data
from absentia.experiment.comparison._data import DATA_FILE, load_data
from absentia.files import FileError, write_state
from helpers.comparison_problems import made_data, made_views, targets


@pytest.fixture(scope="module")
def views():
    return made_views()[0]


def classes(n=40):
    return np.array(["early", "late"])[np.arange(n) % 2]


# --------------------------------------------------------------------------------------- labels by id


def test_labels_go_by_id_whatever_carries_them(views):
    y = classes()
    shuffled = np.random.default_rng(0).permutation(40)
    series = pd.Series(y[shuffled], index=views.ids[shuffled])
    same = [
        make_task_data(views, y),
        make_task_data(views, y.tolist()),
        make_task_data(views, y[:, None]),
        make_task_data(views, series),
        make_task_data(views, series.to_frame("stage")),
        make_task_data(views, dict(zip(views.ids[shuffled].tolist(), y[shuffled].tolist(), strict=True))),
    ]
    assert {problem.hash for problem in same} == {same[0].hash}
    assert same[0].classes == ("early", "late")
    assert np.array(same[0].classes)[same[0].y].tolist() == y.tolist()


def test_a_frame_of_labels_goes_by_id_with_its_names(views):
    _, factors = made_views()
    Y = targets("labels", factors)
    frame = pd.DataFrame(Y, index=views.ids, columns=["er", "her2"])
    problem = make_task_data(views, frame.sample(frac=1, random_state=0))
    assert (problem.kind, problem.classes) == ("labels", ("er", "her2"))
    np.testing.assert_array_equal(problem.y, Y)
    assert make_task_data(views, Y).classes == ("label0", "label1")
    texts = frame.astype(object).where(frame.notna(), None)
    assert make_task_data(views, texts).hash == problem.hash


def test_what_is_unknown_is_left_out_and_counted(views):
    y = classes().astype(object)
    for nothing in (None, float("nan"), pd.NA, ""):
        y[:4] = nothing
        with pytest.warns(AbsenceWarning, match="4 of 40 samples have no label or no view: left out"):
            problem = make_task_data(views, y)
        assert problem.data.ids.tolist() == views.ids[4:].tolist()
        assert problem.kind == "classes"


def test_samples_without_any_view_are_left_out(views):
    keep = views.observed.copy()
    keep[3] = False
    blind = views.hide(keep)
    assert "p3" not in make_task_data(blind).data.ids
    with pytest.warns(AbsenceWarning, match="1 of 40"):
        assert "p3" not in make_task_data(blind, classes()).data.ids
    with pytest.warns(AbsenceWarning, match="no view at all"):
        kernels = ViewKernels().fit_transform(blind)
    assert make_task_data(kernels).data.shape == (39, 39)


def test_a_row_of_labels_is_known_if_one_of_them_is(views):
    Y = targets("labels", made_views()[1])
    Y[0], Y[1] = np.nan, [np.nan, 1]
    with pytest.warns(AbsenceWarning, match="1 of 40"):
        problem = make_task_data(views, Y)
    assert problem.data.ids[0] == "p1"
    assert np.isnan(problem.y[0, 0])


def test_small_classes_are_left_out_and_named(views):
    y = classes().astype(object)
    y[:2] = "rare"
    with pytest.warns(
        AbsenceWarning,
        match="class 'rare' has fewer than 3 samples with a view, too few for the folds: left out",
    ):
        problem = make_task_data(views, y)
    assert problem.classes == ("early", "late")
    assert len(problem.data) == len(problem.y) == 38


# ---------------------------------------------------------------------------------- classes or numbers


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(40) % 3, "classes"),
        (np.arange(40) % 3 + 0.0, "classes"),
        (np.arange(40) % 2 == 0, "classes"),
        (np.arange(40) % 20, "classes"),
        (np.arange(40) % 21, "numbers"),
        (np.arange(40) % 3 + 0.5, "numbers"),
        ([None, *(np.arange(39) + 0.5).tolist()], "numbers"),
        ([None, *[True, False, True] * 13], "classes"),
        (["1", "2"] * 20, "classes"),
    ],
)
@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_whole_numbers_of_few_kinds_are_classes(views, y, task):
    if task == "classes" and len(np.unique([x for x in y if x is not None])) == 20:
        y = np.arange(60) % 20
        views = made_views(60)[0]
    assert make_task_data(views, y).kind == task


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (classes()[:30], r"labels of shape \(30,\) for 40 samples; give one for each"),
        (["a"] * 40, "only the class 'a'"),
        (["a"] * 38 + ["b"] * 2, "class 'b' has 2 sample"),
        (np.full(40, 0.5), "all 40 numbers are 0.5"),
        (np.array(["a", 1] * 20, dtype=object), r"texts \('a'\) and others \(1\); give one kind"),
        (pd.DataFrame({"x": [1, 0] * 20, "z": [1] * 39 + [2]}, index=[f"p{i}" for i in range(40)]),
         "label 'z' of sample 'p39' is 2; of several labels each is 1, 0 or unknown"),
        (pd.DataFrame({"x": [1, 0] * 20, "z": [1] * 39 + [0]}, index=[f"p{i}" for i in range(40)]),
         "label 'z' has 39 samples with it and 1 without; at least 3 of both are wanted: leave it out"),
        (pd.DataFrame({"x": [1, 0] * 20, "z": ["yes", "no"] * 20}, index=[f"p{i}" for i in range(40)]),
         "label 'z' has the value 'yes'; of several labels each is 1, 0 or unknown"),
    ],
)  # fmt: skip
def test_errors_say_what_came_and_what_to_do(views, y, words):
    with pytest.raises(ValueError, match=words):
        make_task_data(views, y)


def test_data_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="Views, KernelViews or a dict of tables is wanted, not ndarray"):
        make_task_data(np.eye(3))


def test_a_dict_of_tables_will_do(views):
    tables = {name: np.arange(80.0).reshape(40, 2) for name in ("a", "b")}
    assert make_task_data(tables, classes()).data.names == ("a", "b")


# ------------------------------------------------------------------------------------- kept and read again


def with_categories():
    rng = np.random.default_rng(0)
    clinical = pd.DataFrame({"age": rng.normal(size=20), "stage": pd.Categorical(["i", "ii"] * 10)})
    return Views.from_dict({"clinical": clinical, "genes": pd.DataFrame(rng.normal(size=(20, 3)))})


def with_sparse():
    rng = np.random.default_rng(0)
    return Views.from_dict(
        {"texts": sp.random_array((20, 30), density=0.2, rng=0).tocsr(), "a": rng.normal(size=(20, 2))}
    )


def with_object_ids():
    rng = np.random.default_rng(0)
    ids = np.array(["a", 1, *range(2, 20)], dtype=object)
    return Views.from_dict({"a": rng.normal(size=(20, 2)), "b": rng.normal(size=(20, 3))}, ids=ids)


def as_kernels():
    return ViewKernels().fit_transform(made_views(20)[0])


@pytest.mark.parametrize("made", [with_categories, with_sparse, with_object_ids, as_kernels])
@pytest.mark.parametrize("y", [None, "classes", "numbers", "labels"])
def test_what_is_kept_comes_back(tmp_path, made, y):
    data = made()
    values = {
        None: None,
        "classes": np.arange(20) % 2,
        "numbers": np.arange(20) + 0.5,
        "labels": np.column_stack([np.arange(20) % 2, np.r_[np.nan, np.arange(19) // 4 % 2]]),
    }[y]
    problem = make_task_data(data, values)
    problem.save(tmp_path)
    back = load_data(tmp_path)
    assert back.hash == problem.hash
    assert (back.kind, back.classes) == (problem.kind, problem.classes)
    assert back.data.ids.tolist() == problem.data.ids.tolist()
    np.testing.assert_array_equal(back.data.observed, problem.data.observed)
    np.testing.assert_array_equal(back.order, problem.order)
    for name in problem.data.names:
        np.testing.assert_array_equal(
            back.kernels.operator(name).to_dense(), problem.kernels.operator(name).to_dense()
        )


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError):
        load_data(tmp_path)
    write_state(tmp_path / DATA_FILE, serialize(ViewKernels(), "data"), {})
    with pytest.raises(FileError, match="holds ViewKernels, not the data of a comparison"):
        load_data(tmp_path)
    (tmp_path / DATA_FILE).write_bytes(b"nothing")
    with pytest.raises(FileError):
        load_data(tmp_path)


def test_the_hash_changes_with_anything():
    views, factors = made_views(20)
    y = targets("numbers", factors)
    hashes = [make_task_data(views, y).hash, make_task_data(views).hash]
    other = y.copy()
    other[7] = np.nextafter(other[7], np.inf)
    hashes.append(make_task_data(views, other).hash)
    hashes.append(make_task_data(views, y, "linear").hash)
    hashes.append(make_task_data(views[np.r_[1, 0, 2:20]], y[np.r_[1, 0, 2:20]]).hash)
    keep = views.observed.copy()
    row = int(np.flatnonzero(keep.sum(axis=1) > 1)[0])
    keep[row, int(np.flatnonzero(keep[row])[0])] = False
    hashes.append(make_task_data(views.hide(keep), y).hash)
    assert make_task_data(made_views(20)[0], y).hash == hashes[0]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_one_value_changes_the_hash(kind):
    tables = {"a": np.arange(20.0).reshape(10, 2), "b": np.ones((10, 1)) * np.arange(10.0)[:, None]}
    one = Views.from_dict(tables)
    tables["b"][3, 0] += 1e-12
    other = Views.from_dict(tables)
    if kind == "kernels":
        one, other = (ViewKernels("linear").fit_transform(views) for views in (one, other))
    assert make_task_data(one).hash != make_task_data(other).hash
    assert make_task_data(one).hash == make_task_data(one).hash


def test_kernels_that_were_fitted_elsewhere_are_the_same_problem():
    views, factors = made_views()
    for y in (None, targets("classes", factors)):
        makes = ViewKernels()
        problem = make_task_data(views, y, makes)
        before = problem.hash
        assert problem.kernels.shape == (40, 40)
        makes.fit(views)
        assert make_task_data(views, y, makes).hash == problem.replace(views).hash == before


# ------------------------------------------------------------------------------------------ what it tells


@pytest.mark.parametrize("task", ["classes", "numbers", "labels", "completion"])
def test_the_order_is_that_of_the_data(task):
    problem = made_data(task)
    rows = np.random.default_rng(1).permutation(len(problem.data))
    y = None if problem.y is None else problem.y[rows]
    other = problem.replace(problem.data[rows])
    other = type(problem)(other.data, task, y, problem.classes, problem.kernel)
    np.testing.assert_array_equal(rows[other.order], problem.order)


def test_parts_of_features_and_of_kernels():
    problem = replace(made_data("classes"), times=np.arange(40.0), classes=("a", "b", "c"))
    rows = np.array([3, 1])
    for whole in (problem, problem.replace(problem.kernels)):
        part = whole.take(rows)
        assert part.data.ids.tolist() == ["p3", "p1"]
        assert part.data.square if not part.has_features else part.data.n_views == problem.data.n_views
        assert part.times.tolist() == [3.0, 1.0]
        assert part.y.tolist() == problem.y[rows].tolist()
        assert part.labels.tolist() == [problem.classes[k] for k in problem.y[rows]]


def test_nothing_can_be_completed_where_nobody_has_two_views():
    with pytest.raises(ValueError, match="no sample has two views"):
        make_task_data({"a": np.ones((5, 2))})


def test_costs_that_do_not_go_with_the_classes_are_refused_when_data_are_read(tmp_path):
    problem = made_data("classes").judged_by(None, np.array([[0.0, 2.0], [1.0, 0.0]]))
    problem.save(tmp_path)
    np.testing.assert_array_equal(load_data(tmp_path).decision, problem.decision)
    assert problem.hash != made_data("classes").hash
    replace(problem, decision=np.ones((3, 3))).save(tmp_path)
    with pytest.raises(FileError, match=r"not what a comparison keeps: costs of shape \(3, 3\) came"):
        load_data(tmp_path)
