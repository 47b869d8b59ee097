"""Files of version 5: the same as SciPy reads, and never more than an error for what is damaged."""

import random

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from absentia import io
from absentia.files import mat_content

rng = np.random.default_rng(0)


def cells(*values):
    found = np.empty((1, len(values)), object)
    found[0] = values
    return found


CONTENT = {
    **{
        kind: (rng.normal(size=(3, 4)) * 20).astype(kind)
        for kind in ("f8", "f4", "i1", "u1", "i2", "u4", "i8")
    },
    "cube": rng.normal(size=(2, 3, 4)),
    "whole": np.array([[1.0, 300.0], [2.0, 3.0]]),
    "flag": np.array([[True, False, True]]),
    "none": np.zeros((0, 3)),
    "number": np.array([[5.0]]),
}


@pytest.mark.parametrize("packed", [False, True])
def test_numbers_are_those_that_scipy_reads(tmp_path, packed):
    scipy.io.savemat(tmp_path / "a.mat", CONTENT, do_compression=packed)
    found, wanted = mat_content(tmp_path / "a.mat"), scipy.io.loadmat(tmp_path / "a.mat", mat_dtype=True)
    for key, value in CONTENT.items():
        np.testing.assert_array_equal(found[key], wanted[key])
        assert found[key].shape == value.shape
        assert found[key].dtype == value.dtype


@pytest.mark.parametrize("packed", [False, True])
def test_texts_cells_structs_and_sparse_matrices(tmp_path, packed):
    sparse = scipy.sparse.random_array((5, 7), density=0.3, rng=0, format="csc")
    deep = cells(cells(cells(cells(cells(np.eye(2))))))
    held = {
        "t": "Grüße",
        "c": cells(np.eye(2), "abc"),
        "s": {"a": np.eye(3), "b": {"c": "d"}},
        "sp": sparse,
    }
    rows = {"rows": np.array(["ab", "cde"]), "deep": deep, "complex": np.eye(2) * 1j}
    scipy.io.savemat(tmp_path / "a.mat", held | rows, do_compression=packed)
    found = mat_content(tmp_path / "a.mat")
    assert (found["t"], found["s"]["b"]["c"]) == ("Grüße", "d")
    assert found["rows"].tolist() == ["ab", "cde"]
    np.testing.assert_array_equal(found["c"][0], np.eye(2))
    assert found["c"][1] == "abc"
    np.testing.assert_array_equal(found["sp"].toarray(), sparse.toarray())
    assert not {"deep", "complex"} & set(found)


@pytest.mark.parametrize("packed", [False, True])
def test_damage_is_an_error_or_another_value_and_nothing_else(tmp_path, packed, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "32M")
    sparse = scipy.sparse.csc_matrix(np.eye(4))
    held = {"X": cells(np.eye(5, 3), np.eye(5, 2)), "s": {"a": np.eye(3)}, "sp": sparse, "t": "text"}
    scipy.io.savemat(tmp_path / "whole.mat", held, do_compression=packed)
    whole, chance, path = (tmp_path / "whole.mat").read_bytes(), random.Random(0), tmp_path / "a.mat"
    errors: list[str] = []
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 2, 8])):
            place = chance.randrange(116, len(whole))
            damaged[place : place + 1] = bytes([chance.choice([0, 1, 127, 255, chance.randrange(256)])])
        path.write_bytes(damaged[: chance.choice([len(whole)] * 3 + [chance.randrange(len(whole))])])
        try:
            io.read_container(path)
        except io.FileError as error:
            errors.append(str(error))
    assert len(errors) > 100
    assert not [error for error in errors if "damaged file (" in error]  # every reason is known


def test_old_and_foreign_files_are_told_what_to_do(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"X": np.eye(3)}, format="4")
    with pytest.raises(io.FileError, match="save it in MATLAB with -v7"):
        io.read_container(tmp_path / "a.mat")
