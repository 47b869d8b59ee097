"""Who has which view as authors' MATLAB files say it, and kernels written for MATLAB."""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.io

import absentia
from absentia import KernelViews, MeanFill, io
from absentia.files import open_data
from helpers.matlab_files import written

rng = np.random.default_rng(0)
N, V = 8, 3
FACTORS = rng.normal(size=(V, N, 4))
KERNELS = FACTORS @ FACTORS.transpose(0, 2, 1)
OBSERVED = np.ones((N, V), bool)
OBSERVED[[1, 4], 0] = OBSERVED[7, 2] = False
#: The same as positions, from 1 on, of samples that lack each view.
INDX = [{"indx": np.array([[2.0, 5.0]])}, {"indx": np.zeros((1, 0))}, {"indx": np.array([[8.0]])}]
pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("version", [5, 7.3])
@pytest.mark.parametrize(("key", "value"), [("MID", OBSERVED.astype(float)), ("S", INDX)])
def test_masks_of_the_papers_are_taken_with_a_word(tmp_path, version, key, value):
    path = written(tmp_path / "a.mat", version, K=np.moveaxis(KERNELS, 0, 2), **{key: value})
    loaded = open_data(path)
    np.testing.assert_array_equal(loaded.data.observed, OBSERVED)
    assert loaded.notes[0].startswith(f"{key!r} is taken as who has which view")
    assert loaded.notes[0].endswith("3 of 24 are absent")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (INDX[:2], "'S' has 2 cells for 3 views"),
        ([*INDX[:2], {"indx": np.array([[0.0]])}], r"'S\{3\}.indx' .* whole numbers from 1 to 8"),
        ([*INDX[:2], {"indx": np.array([[9.0]])}], "whole numbers from 1 to 8"),
        ([*INDX[:2], {"indx": np.array([[1.5]])}], "whole numbers from 1 to 8"),
        ([*INDX[:2], {"indx": "text"}], "whole numbers from 1 to 8"),
    ],
)
def test_positions_that_are_none(tmp_path, cells, message):
    path = written(tmp_path / "a.mat", 5, KH=np.moveaxis(KERNELS, 0, 2), S=cells)
    with pytest.raises(io.FileError, match=message):
        absentia.read(path)


def test_a_mask_by_another_name_is_offered(tmp_path):
    path = written(tmp_path / "a.mat", 5, K=np.moveaxis(KERNELS, 0, 2), W=OBSERVED.astype(float))
    with pytest.warns(UserWarning, match=r"if 'W' says who has which view, call it mask \(1 = present\)"):
        assert absentia.read(path).observed.all()


def make_kernels(ids=None, names=("RNA", "§ é", "c")):
    ids = [f"sample {i}" for i in range(N)] if ids is None else ids
    return KernelViews.from_dense(dict(zip(names, KERNELS, strict=True)), OBSERVED, ids)


def assert_same(found, wanted):
    assert found.names == wanted.names
    assert found.ids.tolist() == wanted.ids.tolist()
    np.testing.assert_array_equal(found.observed, wanted.observed)
    np.testing.assert_array_equal(found.to_dense(), wanted.to_dense())


@pytest.mark.parametrize("ids", [None, np.arange(5, 5 + N)], ids=["texts", "numbers"])
def test_kernels_written_for_matlab_are_read_as_they_were(tmp_path, ids):
    kernels = make_kernels(ids)
    completed = MeanFill().fit_transform(kernels)
    for name, data, extra in [
        ("a.mat", kernels, {}),
        ("b.mat", completed, {"mask_before": kernels.observed, "method": "mean"}),
    ]:
        path = absentia.write(tmp_path / name, data, **extra)
        assert_same(absentia.read(path), data)
        assert path.read_bytes() == absentia.write(tmp_path / f"again_{name}", data, **extra).read_bytes()
    content = scipy.io.loadmat(tmp_path / "b.mat")
    assert content["KH"].shape == (N, N, V)
    np.testing.assert_array_equal(content["mask_before"], OBSERVED)
    assert content["observed"].all()


def test_what_matlab_files_cannot_hold(tmp_path, monkeypatch):
    kernels = make_kernels()
    with pytest.raises(io.FileError, match=r"a\.mat: features are written to an \.npz file"):
        absentia.write(tmp_path / "a.mat", absentia.Views.from_dict({"a": np.eye(3)}))
    monkeypatch.setattr("absentia.files._mat._MAX_BYTES", 1000)
    with pytest.raises(io.FileError, match=r"3 kernels of 8 samples take 1,536 bytes.*\.npz"):
        absentia.write(tmp_path / "a.mat", kernels)
    assert not (tmp_path / "a.mat").exists()


@pytest.mark.skipif(shutil.which("octave-cli") is None, reason="Octave is not installed")
@pytest.mark.parametrize("version", ["-v7", "-v6"])
def test_there_and_back_through_octave(tmp_path, version):
    kernels = make_kernels(names=["RNA", "b", "c"])  # Octave counts bytes, and cuts other texts short
    absentia.write(tmp_path / "a.mat", kernels)
    program = (
        "a = load('a.mat'); assert(size(a.KH), [8 8 3]); assert(isna(a.KH(2, 1, 1)) || isnan(a.KH(2, 1, 1)));"
        "assert(strcmp(a.ids{3}, 'sample 2')); assert(islogical(a.observed)); a = rmfield(a, 'observed');"
        "for p = 1:3, a.S{p}.indx = find(all(isnan(a.KH(:, :, p)), 1)); end;"
        f"a.KH(isnan(a.KH)) = 0; save('{version}', 'b.mat', '-struct', 'a');"
    )
    subprocess.run(
        ["octave-cli", "--norc", "--eval", program],
        cwd=tmp_path,
        check=True,
        timeout=120,
        capture_output=True,
    )
    assert_same(absentia.read(tmp_path / "b.mat"), kernels)
