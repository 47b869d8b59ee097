"""Archives made byte by byte, as strangers may make them, and everything that reads archives."""

import io as memory
import json
import struct
import zipfile

import numpy as np
import pytest

from absentia import Views, io, models
from absentia.files import _archive, _outputs, read_new


def header(descr, shape, fortran=False, version=1):
    """The beginning of an array, with anything in it."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode("latin1")
    return (
        b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text
    )


def zipped(path, compression=zipfile.ZIP_STORED, **members):
    """An archive of arrays, each given by its bytes."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for key, content in members.items():
            archive.writestr(f"{key}.npy", content)
    return path


def raw(array):
    content = memory.BytesIO()
    np.save(content, array)
    return content.getvalue()


VIEW = raw(np.eye(2))


READERS = {
    "io.read": io.read,
    "read_new": read_new,
    "read_matrix": io.read_matrix,
    "models.load": models.load,
    "read_labels": lambda path: io.read_labels("y", Views.from_dict({"a": np.eye(2)}), path),
    "keys": _archive.list_keys,
}


def bomb(path, megabytes):
    return zipped(
        path,
        zipfile.ZIP_DEFLATED,
        view_a=header("<f8", f"({megabytes << 7}, 1024)") + bytes(megabytes << 20),
    )


def refused(read, path, sentence):
    """That `read` says what is wrong with a file in one sentence, which names it once."""
    with pytest.raises(io.FileError, match=sentence) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert said.count(str(path)) == 1
    assert "\n" not in said
    assert len(said) < 1200


def write_rows(path, kv, rows, columns, **changes):
    """A file of kernels of new samples, `rows`, against training samples, `columns`."""
    K = kv.to_dense()[:, rows][:, :, columns]
    arrays = {"K": K, "ids": kv.ids[rows], "column_ids": kv.ids[columns], "names": np.array(kv.names)}
    np.savez(path, **{key: value for key, value in (arrays | changes).items() if value is not None})
    return path


def described(text=None, **changes):
    """The description with fields changed (its checksum made anew), or as another text."""

    def change(arrays):
        if text is not None:
            return {"model": text}
        tree = json.loads(str(arrays["model"])) | changes
        rest = {key: value for key, value in arrays.items() if key != "model"}
        tree = {key: value for key, value in tree.items() if value is not None}
        return {"model": json.dumps(tree | {"checksum": _outputs._checksum(tree, rest)})}

    return change
