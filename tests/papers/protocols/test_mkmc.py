"""The protocol of the papers on mutual kernel matrix completion."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from absentia import MKMC, ViewKernels, Views, datasets, metrics, missingness
from absentia.papers._one_view import complete_by_em
from absentia.papers.protocols import _mkmc as mkmc
from absentia.papers.protocols import perform_trial

# the protocol says nothing of fits that are warned of: papers do not
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
KEY = {"protocol": "mkmc", "data": "simulated-small", "samples": 0, "hidden": 0.3, "repeat": 1, "seed": 0}
PCA = {"method": "MKMC", "parameters": {"covariance": "pca", "n_components": "gk", "tol": 1e-4}}


def by_hand(kernels, labels, train, keep):
    """The mean of completed kernels, a machine per class, the area under its curve."""
    completed = MKMC("pca", n_components="gk", tol=1e-4, random_state=0).fit_transform(kernels.hide(keep))
    K = np.mean([completed.to_dense()[v] for v in range(len(kernels.names))], axis=0)
    test = [i for i in range(len(K)) if i not in set(train)]
    found = []
    for own in labels.T:
        machine = SVC(C=1.0, kernel="precomputed").fit(K[np.ix_(train, train)], own[train])
        found.append(roc_auc_score(own[test], machine.decision_function(K[np.ix_(test, train)])))
    return found


def test_a_cell_is_what_the_method_gives_by_hand():
    task = mkmc._load_problem("simulated-small", 0)
    rng = np.random.default_rng([0, 1, 300])
    keep = missingness.fixed_per_view(task.kernels, 0.3, random_state=rng)
    train = np.sort(rng.choice(120, 24, replace=False))
    found = perform_trial(KEY | PCA)["scores"]["ROC"]
    np.testing.assert_allclose(
        list(found.values()), by_hand(task.kernels, task.labels, train, keep), rtol=1e-10
    )
    assert list(found) == [str(one) for one in range(1, 14)]


def test_a_cell_of_real_digits_is_what_the_method_gives_by_hand(data_folder, monkeypatch):
    monkeypatch.setenv("ABSENTIA_DATA", str(data_folder))
    data = datasets.load_benchmark("mfeat")
    y = np.asarray(data.target)
    rows = np.sort(np.concatenate([np.flatnonzero(y == c)[:6] for c in range(10)]))
    kernels = ViewKernels(clip=None).fit_transform(data.views[rows])
    labels = y[rows][:, None] == np.arange(10)
    rng = np.random.default_rng([0, 0, 200])
    keep = missingness.fixed_per_view(kernels, 0.2, random_state=rng)
    train = np.sort(np.concatenate([rng.permutation(np.flatnonzero(own))[:1] for own in labels.T]))
    found = perform_trial(
        KEY | PCA | {"data": "mfeat", "kernel": "rbf", "samples": 60, "hidden": 0.2, "repeat": 0}
    )["scores"]["ROC"]
    np.testing.assert_allclose(list(found.values()), by_hand(kernels, labels, train, keep), rtol=1e-10)


def test_kernels_are_said_by_the_design_and_not_by_the_name_of_the_file(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    views = {f"view_{v}": rng.standard_normal((120, 4)) * [1, 2, 3, 4] + np.eye(4)[y] for v in "ab"}
    for name in ("mfeat", "bbcsport_2view544", "another"):
        np.savez(tmp_path / f"{name}.npz", **views, y=y)
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    monkeypatch.setattr(mkmc, "_load_problem", mkmc._load_problem.__wrapped__)
    trial = KEY | {"method": "ZeroFill", "parameters": {}}
    found = {
        kernel: [
            perform_trial(trial | {"data": name, "kernel": kernel})
            for name in ("mfeat", "bbcsport_2view544", "another")
        ]
        for kernel in ("rbf", "linear", "cosine")
    }
    for of_files in found.values():
        assert of_files[0] == of_files[1] == of_files[2]
    assert found["rbf"][0] != found["linear"][0] != found["cosine"][0] != found["rbf"][0]
    with pytest.raises(ValueError, match="no kernel ''"):
        perform_trial(trial | {"data": "mfeat"})


def test_all_methods_of_a_repeat_see_the_same_mask_and_split(monkeypatch):
    seen = []
    monkeypatch.setattr(
        mkmc, "_roc_by_class", lambda K, labels, train: seen.append(train) or [0.5] * labels.shape[1]
    )
    masks = []
    fixed = missingness.fixed_per_view
    monkeypatch.setattr(
        mkmc.missingness, "fixed_per_view", lambda *a, **k: masks.append(fixed(*a, **k)) or masks[-1]
    )
    for method in ("ZeroFill", "MeanFill"):
        perform_trial(KEY | {"method": method, "parameters": {}})
    perform_trial(KEY | {"method": "ZeroFill", "parameters": {}, "repeat": 2})
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(masks[0], masks[1])
    assert (masks[0] != masks[2]).any()
    assert (seen[0] != seen[2]).any()


def test_a_class_that_cannot_be_judged_is_none():
    labels = np.zeros((10, 2), dtype=bool)
    labels[:5, 0] = True
    labels[9, 1] = True
    K = np.eye(10) + 1.0
    found = mkmc._roc_by_class(K, labels, np.array([0, 1, 6, 7]))
    assert found[1] is None
    assert found[0] == pytest.approx(0.5)


def test_classes_that_exclude_one_another_are_all_learned():
    labels = np.arange(3) == np.repeat([0, 1, 2], [30, 10, 2])[:, None]
    train = mkmc._draw_training_samples(labels, np.random.default_rng(0))
    assert labels[train].sum(axis=0).tolist() == [6, 2, 1]
    overlapping = labels.copy()
    overlapping[0, 1] = True
    assert len(mkmc._draw_training_samples(overlapping, np.random.default_rng(0))) == 8


def test_yeast_kernels_are_read_from_their_files(tmp_path, monkeypatch):
    """The papers' data, made small: two kernels of proteins in another order each, thirteen classes."""
    rng = np.random.default_rng(0)
    names = [f"YAL{i:03d}" for i in range(40)]
    folder = tmp_path / "yeast"
    folder.mkdir()
    X = rng.standard_normal((40, 3))
    for view, order in (("tap", np.arange(40)), ("exp", rng.permutation(40))):
        K = X[order] @ X[order].T + 0.1 * np.eye(40)
        lines = ["\t".join([view, *(names[i] for i in order)])]
        lines += [
            "\t".join([names[i], *(repr(float(x)) for x in row)]) for i, row in zip(order, K, strict=True)
        ]
        (folder / f"kernel_matrix_{view}_n_40.txt").write_text("\n".join(lines) + "\n")
    labels = np.where(X @ rng.standard_normal((3, 13)) > 0, 1, -1)
    table = ["\t".join(["gene", *(f"c{c}" for c in range(13))])]
    table += ["\t".join([name, *map(str, row)]) for name, row in zip(names, labels, strict=True)]
    (folder / "labels.txt").write_text("\n".join(table) + "\n")
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    mkmc._load_problem.cache_clear()
    task = mkmc._load_problem("yeast", 0)
    mkmc._load_problem.cache_clear()
    order = [names.index(one) for one in task.kernels.ids]
    np.testing.assert_array_equal(task.labels, labels[order] > 0)
    np.testing.assert_allclose(
        task.kernels.to_dense()[0], (X @ X.T + 0.1 * np.eye(40))[np.ix_(order, order)], rtol=1e-12
    )
    found = perform_trial(KEY | PCA | {"data": "yeast"})["scores"]["ROC"]
    assert len(found) == 13
    assert np.mean([value for value in found.values() if value is not None]) > 0.7


def test_one_table_is_split_and_classes_that_overlap_are_columns(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.random((60, 3)) < 0.4
    np.savez(tmp_path / "table.npz", X=X, Y=Y.astype(int))
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    task = mkmc._load_problem.__wrapped__("table", 30, "rbf", 2)
    rows = np.linspace(0, 59, 30).round().astype(int)
    np.testing.assert_array_equal(task.labels, Y[rows])
    for K, part in zip(task.kernels.to_dense(), (X[rows, :2], X[rows, 2:]), strict=True):
        wanted = ViewKernels("rbf", clip=None).fit_transform(Views.from_dict({"x": part})).to_dense()[0]
        np.testing.assert_allclose(K, wanted, rtol=1e-12)


ONE_VIEW = {"method": "em, one complete view", "parameters": {"tol": 1e-3}}


def test_a_view_that_is_left_complete_and_the_error_of_the_others():
    task = mkmc._load_problem("simulated-small", 0)
    names = task.kernels.names
    rng = np.random.default_rng([0, 1, 300])
    keep = missingness.fixed_per_view(task.kernels, 0.3, random_state=rng)
    keep[:, 2] = True
    for own, completer in (
        (PCA, lambda shown: MKMC("pca", n_components="gk", tol=1e-4, random_state=0).fit_transform(shown)),
        (ONE_VIEW, lambda shown: complete_by_em(shown, names[2], tol=1e-3)),
    ):
        found = perform_trial(KEY | own | {"complete": names[2]})["scores"]
        done, truth = completer(task.kernels.hide(keep)).to_dense(), task.kernels.to_dense()
        errors = {
            name: float(metrics.are([truth[v]], [done[v]], keep[:, [v]]))
            for v, name in enumerate(names)
            if v != 2
        }
        assert found["ARE"] == pytest.approx(errors, rel=1e-10)
        assert len(found["ROC"]) == 13
    assert "ARE" not in perform_trial(KEY | PCA)["scores"]
