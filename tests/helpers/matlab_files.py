"""MATLAB's files: those of version 5 as SciPy writes them, those of version 7.3 as MATLAB does."""

import h5py
import numpy as np
import scipy.io
import scipy.sparse


class Matlab:
    """A file of version 7.3, member by member, as MATLAB lays it out."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "w", userblock_size=512)

    def close(self):
        self.file.close()
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 ."
        with self.path.open("r+b") as file:
            file.write(text.ljust(116) + bytes(8) + b"\x00\x02IM" + bytes(384))
        return self.path

    def put(self, where, value):
        """One value under a name; arrays lie transposed."""
        if isinstance(value, dict):
            group = self.file.create_group(where)
            group.attrs["MATLAB_class"] = np.bytes_("struct")
            for key, one in value.items():
                self.put(f"{where}/{key}", one)
        elif isinstance(value, list):
            names = [f"#refs#/{where.replace('/', '_')}{place}" for place in range(len(value))]
            for name, one in zip(names, value, strict=True):
                self.put(name, one)
            cells = np.array([[self.file[name].ref] for name in names], dtype=h5py.ref_dtype)
            self._made(where, cells, "cell")
        elif scipy.sparse.issparse(value):
            matrix = scipy.sparse.csc_array(value)
            group = self.file.create_group(where)
            group.attrs["MATLAB_sparse"], group.attrs["MATLAB_class"] = matrix.shape[0], np.bytes_("double")
            group["data"], group["ir"] = matrix.data, matrix.indices.astype("u8")
            group["jc"] = matrix.indptr.astype("u8")
        elif isinstance(value, str):
            self._made(where, np.array([[ord(c)] for c in value], dtype="u2"), "char")
        elif not value.size:
            self._made(where, np.array(value.shape, "u8"), "double")
            self.file[where].attrs["MATLAB_empty"] = np.uint8(1)
        elif value.dtype == bool:
            self._made(where, value.T.astype("u1"), "logical")
        else:
            self._made(where, value.T, "double")

    def _made(self, where, array, kind):
        self.file[where] = array
        self.file[where].attrs["MATLAB_class"] = np.bytes_(kind)


def as_cells(value):
    """For SciPy's writer: cell arrays are arrays of objects."""
    if isinstance(value, list):
        cells = np.empty((len(value), 1), dtype=object)
        cells[:, 0] = [as_cells(one) for one in value]
        return cells
    return value


def written(path, version, **members):
    if version == 5:
        scipy.io.savemat(path, {k: as_cells(x) for k, x in members.items()}, do_compression=True)
        return path
    file = Matlab(path)
    for key, value in members.items():
        file.put(key, value)
    return file.close()
