"""Public benchmark files: found, named where they are not, and read as views or kernels."""

import numpy as np
import pytest

from absentia import KernelViews, Views, datasets, io


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
