import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import CombineKernels, KernelViews, ViewKernels, Views, datasets, io
from absentia.datasets import _sets


def test_make_multiview_is_what_its_formula_says():
    data = datasets.make_multiview(40, 2, n_features=[5, 7], noise=0.0, private_scale=0.3, random_state=1)
    for v, name in enumerate(data.views.names):
        A, B = data.loadings[v]
        wanted = data.shared @ A + 0.3 * data.private[v] @ B
        np.testing.assert_allclose(data.views.block(name), wanted)
    assert data.views.block("view1").shape == (40, 7)
    assert data.kernels.shape == (40, 40)


def test_make_multiview_classes_are_equal_shares_of_the_first_factor():
    data = datasets.make_multiview(90, 2, n_classes=3, random_state=0)
    assert np.bincount(data.target).tolist() == [30, 30, 30]
    assert data.shared[data.target == 0, 0].max() < data.shared[data.target == 1, 0].min()


def test_make_multiview_is_reproducible_and_its_kernel_can_be_chosen():
    one, two = (datasets.make_multiview(20, 2, random_state=3, kernel="linear") for _ in range(2))
    np.testing.assert_array_equal(one.kernels.to_dense(), two.kernels.to_dense())
    X = one.views.block("view0")
    X = (X - X.mean(0)) / X.std(0)
    K = X @ X.T
    np.testing.assert_allclose(
        one.kernels.block("view0"), K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    )
    with pytest.raises(ValueError, match="3 widths for 2 views"):
        datasets.make_multiview(20, 2, n_features=[1, 2, 3])


def test_digits_have_six_different_complete_views():
    bunch = datasets.load_digit_views()
    widths = {name: bunch.views.block(name).shape[1] for name in bunch.views.names}
    assert widths == {
        "pixels": 64,
        "fourier": 34,
        "profiles": 32,
        "projections": 30,
        "gradients": 32,
        "moments": 9,
    }
    assert bunch.views.observed.all()
    assert len(bunch.views) == len(bunch.target) == len(bunch.images) == 1797


def test_every_digit_view_tells_digits_apart():
    views, y = datasets.load_digit_views(n_samples=300, return_X_y=True)
    assert np.bincount(y).tolist() == [30] * 10
    for name in views.names:
        pipeline = make_pipeline(ViewKernels(), CombineKernels(), SVC(kernel="precomputed"))
        assert cross_val_score(pipeline, views.select([name]), y).mean() > 0.7, name


def test_digit_views_by_hand():
    image = np.zeros((1, 8, 8))
    image[0, 2, 3:5] = 1.0
    np.testing.assert_array_equal(_sets._profiles(image)[0, :8] * 8, [8, 8, 3, 8, 8, 8, 8, 8])
    np.testing.assert_array_equal(_sets._profiles(image)[0, 16:24] * 8, [8, 8, 8, 2, 2, 8, 8, 8])
    assert _sets._projections(image)[0, :16].tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(_sets._moments(image)[0, :5], [2, -1.5, 0, 0, 0.25])
    assert _sets._fourier(image)[0, 0] == pytest.approx(2.0)  # zero frequency: all the ink


def test_too_many_digits_are_refused():
    with pytest.raises(ValueError, match="n_samples=2000; there are 1797"):
        datasets.load_digit_views(n_samples=2000)


# --------------------------------------------------------------------------------------- benchmark files


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    with pytest.raises(io.FileError, match="set the environment variable ABSENTIA_DATA"):
        datasets.load_benchmark("mfeat")
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path / "gone"))
    with pytest.raises(io.FileError, match=r"gone: no such folder \(named by ABSENTIA_DATA\)"):
        datasets.load_benchmark("mfeat")
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    with pytest.raises(io.FileError, match=r"mfeat\.npz: no such file"):
        datasets.load_benchmark("mfeat")
    with pytest.raises(ValueError, match=r"no benchmark '\.\./secret'"):
        datasets.load_benchmark("../secret")


def test_a_benchmark_file_becomes_views_target_and_extras(tmp_path):
    np.savez(
        tmp_path / "cll_mofaCLL.npz",
        view_b=[[1.0], [np.nan]],
        view_a=[[1.0], [2.0]],
        view_names=["b", "a"],
        mask=[[True, True], [False, True]],
        patient=["P1", "P2"],
        y=[0, 1],
        age=[50, 60],
    )
    bunch = datasets.load_benchmark("cll_mofaCLL", tmp_path)
    assert isinstance(bunch.views, Views)
    assert bunch.views.names == ("b", "a")
    np.testing.assert_array_equal(bunch.views.ids, ["P1", "P2"])
    np.testing.assert_array_equal(bunch.target, [0, 1])
    assert list(bunch.extra) == ["age"]


@pytest.mark.parametrize("name", datasets.BENCHMARKS)
def test_every_known_benchmark_loads(data_folder, name):
    bunch = datasets.load_benchmark(name, data_folder)
    data = bunch.get("views", bunch.get("kernels"))
    assert isinstance(data, Views | KernelViews)
    assert str(len(data)) in bunch.DESCR
    assert ("incomplete" in bunch.DESCR or "missing" in bunch.DESCR) == (not data.observed.all())
    if "target" in bunch:
        assert len(bunch.target) == len(data)
