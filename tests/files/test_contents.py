"""Arrays of any container by name."""

import numpy as np
import pytest
import scipy.io

from absentia import io


def test_vectors_are_vectors_and_bundles_are_spelled_out(tmp_path):
    cells = np.empty((1, 2), object)
    cells[0, :] = [np.eye(3), np.ones((3, 2))]
    scipy.io.savemat(tmp_path / "a.mat", {"y": np.arange(3.0), "X": cells, "s": {"t": np.arange(3)}})
    arrays = io.arrays_of(tmp_path / "a.mat")
    assert {key: x.shape for key, x in arrays.items()} == {
        "y": (3,),
        "X/0": (3, 3),
        "X/1": (3, 2),
        "s/t": (3,),
    }


def test_labels_come_with_ids_where_there_are_some(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        ids=np.array(["a", "b"]),
        y=np.array([1, 2]),
        z=np.zeros((2, 2, 2)),
        w=np.arange(3),
    )
    found = io.label_array(tmp_path / "a.npz", "y")
    assert (found.ids.tolist(), found.values.tolist()) == (["a", "b"], [1, 2])
    assert io.label_array(tmp_path / "a.npz", "w").ids is None
    with pytest.raises(io.FileError, match=r"'z' has shape \(2, 2, 2\)"):
        io.label_array(tmp_path / "a.npz", "z")
    np.save(tmp_path / "b.npy", np.arange(4))
    assert io.label_array(tmp_path / "b.npy", "b").values.tolist() == [0, 1, 2, 3]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(io.FileError, match="no container of arrays"):
        io.arrays_of(tmp_path / "a.txt")
