"""Valid files, and ways of damaging them that come further than flipped bytes do.

Shared by the tests and by ``fuzz/run.py``.  Everything is drawn from one ``random.Random``.
"""

import csv
import gzip
import io as memory
import json
import shutil
import struct
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse

from absentia import MKLClassifier, ViewKernels, Views, datasets, io, models
from absentia.experiment.comparison import open_study
from absentia.files import _matrix, read_new

IDS = np.array(["p", "q", "=r", "-1", "t", "u"])
SIX = Views.from_dict({"a": np.eye(6)}, ids=IDS)


# ------------------------------------------------------------------------------------------- readers


def _predicted(path):
    model = models.load(path)
    if model.kernels is not None and set(model.names) <= {"a", "b"}:
        new = Views.from_dict({"a": np.ones((2, 2)), "b": np.ones((2, 3))})
        with warnings.catch_warnings(action="ignore"):
            try:
                scores = model.decision_function(new)
            except ValueError:  # of the samples, that they do not go with the model
                return model
        assert np.isfinite(scores).all()
        if model.classifier.probability:
            assert np.isfinite(model.predict_proba(new)).all()
    return model


def _completed(path):
    matrix = io.read_matrix(path)
    b"".join(io.csv_rows(_matrix._format_rows(matrix, matrix.X)))
    return matrix


def _unpack(path, ending=""):
    """The folder that is packed in a zip file, beside it; names that no folder can hold are our damage."""
    folder = path.parent / f"unpacked{ending}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        for name, data in members(path.read_bytes()):
            place = folder / name
            if name and not name.endswith("/") and place.resolve().is_relative_to(folder.resolve()):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
    except Exception as error:
        raise io.FileError(f"{path}: is no packed folder") from error
    return folder


def _compared(path):
    """A folder of ``absentia compare``, packed; what is wrong with a file in it is wrong with the folder."""
    folder = _unpack(path)
    try:
        study = open_study(folder)
        study.outstanding()
        return study.results()
    except ValueError as error:  # one sentence, which the command line prints
        raise io.FileError(f"{path}: {' '.join(str(error).split())}") from error


def _read_folder(path, ending=""):
    """A folder of tables or a Zarr folder, packed; errors name the folder, or a file in it."""
    folder = _unpack(path, ending)
    try:
        return io.read(folder)
    except io.FileError as error:
        assert str(error).startswith(str(folder)), error  # noqa: PT017
        raise io.FileError(f"{path}: {error}") from error


#: name -> (reader, the file's ending)
READERS = {
    "io.read": (io.read, ".npz"),
    "models.load": (_predicted, ".npz"),
    "rows.read_new": (read_new, ".npz"),
    "io.read_matrix of arrays": (_completed, ".npz"),
    "io.read_labels of an array": (lambda p: io.read_labels("y", SIX, p), ".npz"),
    "datasets.load_benchmark": (lambda p: datasets.load_benchmark("mfeat", p.parent), ".npz"),
    "io.holds_matrix": (io.holds_matrix, ".npz"),
    "io.read_matrix of text": (_completed, ".csv"),
    "io.read of text": (io.read, ".csv"),
    "io.read of packed text": (io.read, ".csv.gz"),
    "io.read of Parquet": (io.read, ".parquet"),
    "io.read of Feather": (io.read, ".feather"),
    "io.read of a workbook": (io.read, ".xlsx"),
    "io.read_labels of text": (lambda p: io.read_labels(str(p), SIX, p), ".csv"),
    "io.read of one array": (io.read, ".npy"),
    "io.read of MATLAB": (io.read, ".mat"),
    "io.read of HDF5": (io.read, ".h5"),
    "io.read of Zarr": (lambda p: _read_folder(p, ".zarr"), ".zip"),
    "io.read of a folder": (_read_folder, ".zip"),
    "io.read of AnnData": (io.read, ".h5ad"),
    "io.read of MuData": (io.read, ".h5mu"),
    "comparison.open_study": (_compared, ".zip"),
}
#: Readers of which one input takes long; tests take the files as they are, and ``fuzz/run.py`` damages them.
SLOW = ("io.read of AnnData", "io.read of MuData", "io.read of Zarr", "comparison.open_study")


def place(folder, reader):
    """Where `reader` finds its file."""
    return Path(folder) / f"mfeat{READERS[reader][1]}"


def attempt(reader, path):
    """Read; whether it was taken.  Anything but a return or a FileError comes out."""
    try:
        with warnings.catch_warnings(action="ignore"):
            READERS[reader][0](path)
    except io.FileError as error:
        sentence = str(error)
        assert sentence.startswith(f"{path}: "), sentence
        assert "\n" not in sentence
        assert "do not fit into the memory" not in sentence, sentence
        return False
    return True


# --------------------------------------------------------------------------------------------- seeds


def _zipped(arrays, write=np.savez):
    content = memory.BytesIO()
    write(content, **arrays)
    return content.getvalue()


def _arrays():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    B[2] = np.nan
    K = np.stack([A @ A.T, np.eye(6)])
    X = rng.normal(size=(6, 4))
    X[0, 1] = np.nan
    y = np.array([0, 1, 0, 1, 0, 1])
    texts = np.array(["a", "b", "", "a", "b", "a"])
    mask = ~np.isnan([A[:, 0], B[:, 0]]).T
    return {
        "io.read": [
            {"view_a": A, "view_b": B, "ids": IDS, "y": y},
            {"K": K, "mask": mask, "names": ["a", "b"]},
        ],
        "rows.read_new": [{"K": K[:, :2], "column_ids": IDS, "ids": ["x", "y"]}, {"view_a": A}],
        "io.read_matrix of arrays": [
            {"X": X, "row_ids": IDS, "column_names": np.arange(4), "row_kernel": K[1]},
            {"X": X.astype(np.float32)},
        ],
        "io.read_labels of an array": [{"view_a": A, "y": y}, {"y": texts}, {"y": y.astype(float)}],
        "datasets.load_benchmark": [{"view_a": A, "view_b": B, "mask": mask, "sample": IDS, "y": y}],
        "io.holds_matrix": [{"X": X}],
    }


def _models():
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(12, 2)), "b": rng.normal(size=(12, 3))})
    y, found = np.arange(12) % 2, []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        for n_classes, probability, kernel in [
            (2, True, "rbf"),
            (3, True, "polynomial"),
            (2, False, "linear"),
        ]:
            y, kernels = np.arange(12) % n_classes, ViewKernels(kernel)
            classifier = MKLClassifier(probability=probability, norm=2).fit(kernels.fit_transform(views), y)
            path = models.save(
                models.Model(classifier, kernels, {"a": [1, {"b": "c"}]}), Path(folder) / "m.npz"
            )
            found.append(path.read_bytes())
    return found


TABLES = [
    'id,a,b\np,1,2\nq,,3\n"=r",NA,4\n\'-x,1e3,-5\n',
    "id,label\np,a\nq,b\n'=r,a\n-1,\nt,b\nu,a\n",
    '﻿"id","label"\r\n"p","x,y"\r\n"q","a ""b"""\r\n',
]


def seeds():
    """Valid files by reader."""
    found = {reader: [_zipped(a) for a in many] for reader, many in _arrays().items()}
    found["io.read"] += [_zipped(_arrays()["io.read"][0], np.savez_compressed), _sparse()]
    found["io.read of one array"] = [_npy_of(np.eye(6)), _npy_of(np.stack([np.eye(3)] * 2))]
    found["models.load"] = _models()
    for reader, (_, ending) in READERS.items():
        if ending == ".csv":
            found[reader] = [text.encode() for text in TABLES]
    found["io.read of packed text"] = [gzip.compress(text.encode()) for text in TABLES]
    found["io.read of a folder"] = [
        packed([("a.csv", TABLES[0].encode()), ("b.tsv", b"id\tc\np\t1\nt\t2\n"), ("more/c.csv", b"x")])
    ]
    return found | _frames() | _containers() | _hierarchies() | {"comparison.open_study": _comparisons()}


def _sparse():
    content = memory.BytesIO()
    scipy.sparse.save_npz(content, scipy.sparse.csr_matrix(np.eye(6)[:, :4]))
    return content.getvalue()


def _hierarchies():
    """Files of HDF5, and packed Zarr folders."""
    import h5py
    import zarr

    held = {"views/a": np.eye(6), "views/b": np.ones((6, 2), "f4"), "y": np.arange(6)}
    found = {"io.read of HDF5": [], "io.read of Zarr": []}
    with tempfile.TemporaryDirectory() as folder:
        for packing in ({}, {"chunks": (3, 2), "compression": "gzip"}):
            with h5py.File(Path(folder) / "a.h5", "w") as file:
                file["ids"] = IDS.astype(object)
                for key, value in held.items():
                    file.create_dataset(key, data=value, **packing if value.ndim == 2 else {})
            found["io.read of HDF5"].append((Path(folder) / "a.h5").read_bytes())
        for form in (2, 3):
            root = zarr.create_group(Path(folder) / f"{form}.zarr", zarr_format=form)
            for key, value in held.items():
                root.create_array(key, data=value, config={"write_empty_chunks": True})
            found["io.read of Zarr"].append(_pack_folder(Path(folder) / f"{form}.zarr"))
    return found


def _newer_matlab(cells):
    """A file of MATLAB 7.3: cells, which are references into the file, and a struct."""
    import h5py

    content = memory.BytesIO()
    with h5py.File(content, "w", userblock_size=512) as file:
        for k, cell in enumerate(cells):
            file[f"#refs#/{k}"] = cell.T
            file[f"#refs#/{k}"].attrs["MATLAB_class"] = np.bytes_("double")
        references = [file[f"#refs#/{k}"].ref for k in range(len(cells))]
        file.create_dataset("X", data=np.array(references)[:, None], dtype=h5py.ref_dtype)
        file["X"].attrs["MATLAB_class"] = np.bytes_("cell")
        file["about/y"] = np.arange(float(len(cells[0])))[None]
        file["about"].attrs["MATLAB_class"] = np.bytes_("struct")
    return content.getvalue()


def _pack_folder(folder):
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return packed([(str(path.relative_to(folder)), path.read_bytes()) for path in files])


def _containers():
    """Files of MATLAB, AnnData and MuData."""
    import scipy.io

    from absentia.files import write_mudata
    from helpers.omics import modality, three_modalities

    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = A, B
    found = {"io.read of MATLAB": [], "io.read of AnnData": [], "io.read of MuData": []}
    for held in (
        {"X": cells, "gt": np.arange(6)},
        {"K": np.stack([A @ A.T, B @ B.T], axis=2), "y": np.arange(6.0)},
        {"X1": scipy.sparse.csc_matrix(A > 0, dtype=float), "X2": B, "ids": np.array(IDS, dtype=object)},
    ):
        for packed_too in (True, False):
            content = memory.BytesIO()
            scipy.io.savemat(content, held, do_compression=packed_too)
            found["io.read of MATLAB"].append(content.getvalue())
    found["io.read of MATLAB"].append(_newer_matlab([A, B]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        for reader, name, data in [
            ("io.read of AnnData", "a.h5ad", modality("rna")),
            ("io.read of MuData", "a.h5mu", three_modalities()),
            ("io.read of MuData", "b.h5mu", Views.from_dict({"a": A, "b": B}).to_mudata()),
        ]:
            found[reader].append(write_mudata(Path(folder) / name, data).read_bytes())
    return found


def _comparisons():
    """Folders of comparisons with their records, packed."""
    from absentia.experiment.comparison import Study
    from helpers import comparison_problems

    found = []
    for task in ("classes", "completion"):
        with tempfile.TemporaryDirectory() as folder:
            study = Study(
                comparison_problems.made_data(task), comparison_problems.made_design(task), folder
            )
            study.save()
            rng = np.random.default_rng(0)
            for trial in study.trials[:12]:
                study.records.write(comparison_problems.made_up(study.data, trial, rng))
            found.append(_pack_folder(folder))
    return found


def _frames():
    """Tables in the formats of other libraries, where these are installed."""
    import pandas as pd

    frame = pd.DataFrame(
        {"id": list("pqrstu"), "a": [1.5, None, 3, 4, 5, 6], "s": list("xyxyxy"), "n": range(6)}
    )
    found = {}
    for reader, write in [
        ("io.read of Parquet", frame.to_parquet),
        ("io.read of Feather", frame.to_feather),
        ("io.read of a workbook", lambda content: frame.to_excel(content, index=False)),
    ]:
        content = memory.BytesIO()
        write(content)
        found[reader] = [content.getvalue()]
    return found


LARGE = {
    (8_000_000, 1): ["f8", "i1", "?"],
    (9_000_000, 1): ["f8"],
    (2, 4_000_000): ["f4"],
    (1_000_000,): ["U1"],
    (2, 2000, 2000): ["f8"],
    (1_000_000, 2, 2): ["f8"],
}


def bomb(rng):
    """A small file that becomes large arrays, just within what a ceiling of 64 MiB lets pass or just beyond."""
    shape = rng.choice(list(LARGE))
    key = rng.choice(["view_a", "ids", "K", "X", "y", "mask", "model", "names", "column_ids"])
    return _bomb(key, shape, rng.choice(LARGE[shape]))


@cache
def _bomb(key, shape, dtype):
    large, small = _npy_of(np.zeros(shape, dtype)), _npy_of(np.eye(2))
    return packed([(f"{key}.npy", large), ("view_b.npy", small)], zipfile.ZIP_DEFLATED)


# ---------------------------------------------------------------------------------------------- damage

NUMBERS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 64) - 1]
VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    1e-308,
    5e-324,
    1e155,
    1e40,
    1e41,
    0.5,
]
ODD = [None, True, False, -1, 0, 1, 10**400, -1e308, 1e-300, float("nan"), float("inf"), "", "x", "x" * 5000,
       "\ud800", "\0", [], {}, [[]], [1, 2], {"a": 1}, "rbf", "isotonic", "=1+1"]  # fmt: skip
TYPES = ["<f8", ">f8", "<f4", "<f2", "<f16", "<i8", "<i1", "|u1", "|b1", "<c16", "<U0", "<U1", "<U9", ">U2", "|S3",
         "|O", "O", "<M8[D]", "<m8", "|V8", "<f8,<i4", "(2,)<f8", "<U999999999", "<i3", "", "x", "f" * 500]  # fmt: skip


def flip(rng, data):
    """Bytes changed, put in, taken out, moved, cut off."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0:
            data[at:at] = rng.randbytes(rng.choice([1, 2, 4, 100]))
        elif kind == 1:
            del data[at : at + rng.choice([1, 2, 4, 50])]
        elif kind == 2:
            size = rng.choice([1, 2, 4, 8])
            data[at : at + size] = (rng.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(
                size, rng.choice(["little", "big"])
            )
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other : other + rng.choice([4, 30, 200])]
        elif kind == 4 and rng.random() < 0.2:
            del data[at:]
        elif at < len(data):
            data[at] = rng.randrange(256)
    return bytes(data)


def members(data):
    """Arrays of a file as (name, bytes), whatever they hold."""
    with zipfile.ZipFile(memory.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def packed(content, compression=zipfile.ZIP_STORED):
    result = memory.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(result, "w", compression) as archive:
        for name, data in content:
            archive.writestr(name, data)
    return result.getvalue()


def directory(rng, data):
    """Fields of the zip file's directory, local headers and end, set to what they should not be."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        sign, width = rng.choice([(b"PK\1\2", 46), (b"PK\3\4", 30), (b"PK\5\6", 22), (b"PK\1\2", 46)])
        places = [i for i in range(len(data)) if data[i : i + 4] == sign]
        if places:
            at = rng.choice(places) + rng.randrange(4, width, 2)
            size = rng.choice([2, 4])
            data[at : at + size] = (rng.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data)


def entries(rng, data):
    """Whole arrays dropped, doubled, renamed, exchanged, packed in another way."""
    content = members(data)
    kind = rng.randrange(6)
    i, j = rng.randrange(len(content)), rng.randrange(len(content))
    if kind == 0:
        del content[i]
    elif kind == 1:
        content.append(content[i])
    elif kind == 2:
        names = ["K.npy", "view_a.npy", "view_.npy", "ids.npy", "names.npy", "mask.npy", "column_ids.npy", "X", "y.npy",
                 "", "../../x.npy", "é.npy", "a" * 1200 + ".npy", "model.npy", "X_0.npy"]  # fmt: skip
        content[i] = (rng.choice(names), content[i][1])
    elif kind == 3:
        content[i], content[j] = (content[i][0], content[j][1]), (content[j][0], content[i][1])
    elif kind == 4:
        content[i] = (content[i][0], flip(rng, content[i][1]))
    ways = [
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
        zipfile.ZIP_DEFLATED,
        zipfile.ZIP_BZIP2,
        zipfile.ZIP_LZMA,
    ]
    return packed(content, rng.choice(ways))


def _npy(descr, shape, fortran=False, version=1, length=None):
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode(
        "latin1", "replace"
    )
    count = len(text) if length is None else length
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", count & 0xFFFF)
        + text
    )


def _shape(rng):
    return (
        "("
        + "".join(
            f"{rng.choice([0, 1, 2, 3, 6, 12, 10**9, 10**12, 1 << 63])}, " for _ in range(rng.randrange(4))
        )
        + ")"
    )


def arrays(rng, data):
    """An array of another type, shape or order than it should be, or with odd values."""
    content = members(data)
    i = rng.randrange(len(content))
    name, old = content[i]
    try:
        with np.errstate(all="ignore"):
            array = np.load(memory.BytesIO(old))
    except Exception:
        array = np.eye(2)
    kind = rng.randrange(6)
    if kind == 0:
        new = _npy(rng.choice(TYPES), array.shape) + old[-array.nbytes :]
    elif kind == 1:
        new = _npy(array.dtype.str, _shape(rng)) + bytes(rng.choice([0, 8, 96]))
    elif kind == 2:
        odd = rng.choice(
            [
                "-" * 3000 + "1",
                "[" * 300,
                "(2, -1)",
                "{}",
                "(1e9,)",
                "(" + "1, " * 80 + ")",
                "(9" * 900 + ")",
            ]
        )
        new = _npy(
            array.dtype.str,
            odd,
            rng.choice([True, False, 7]),
            rng.choice([1, 2, 3, 9]),
            rng.choice([None, 0, 65535]),
        )
        new += old[-array.nbytes :]
    else:
        new = _npy_of(_changed(rng, array))
    content[i] = (name, new)
    return packed(content, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


def _npy_of(array):
    content = memory.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def _changed(rng, array):
    """Other values, or the same in another form."""
    array = np.array(array)
    kind = rng.randrange(7)
    if kind <= 1 and array.dtype.kind == "f" and array.size:
        for _ in range(rng.choice([1, 3, array.size])):
            with np.errstate(over="ignore"):
                array.flat[rng.randrange(array.size)] = rng.choice(VALUES)
    elif kind == 2 and array.dtype.kind == "U" and array.size:
        texts = array.ravel().tolist()
        texts[rng.randrange(len(texts))] = rng.choice(
            ["", "=1", "a\nb", "x" * 2000, "p", "\0x", "\u202e", "𝔘"]
        )
        array = np.array(texts).reshape(array.shape)
    elif kind == 3 and array.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            array = array.astype(
                rng.choice(["f4", "f2", "i8", "u1", "?", "U8", "S4", "c16", "M8[s]", ">f8", "g"])
            )
    elif kind == 4:
        array = array[..., :-1] if array.ndim and array.shape[-1] else array[None]
    elif kind == 5:
        array = np.asfortranarray(array.T)
    else:
        array = (
            array[None] if rng.random() < 0.5 else np.concatenate([array, array]) if array.ndim else array
        )
    return array


def description(rng, data):
    """Something in a model's description replaced, removed, repeated or nested without end."""
    content = members(data)
    at = next((i for i, (name, _) in enumerate(content) if name == "model.npy"), None)
    if at is None:
        return arrays(rng, data)
    text = _replaced(rng, json.loads(str(np.load(memory.BytesIO(content[at][1])))))
    content[at] = ("model.npy", _npy_of(np.array(text)))
    return packed(content)


def records(rng, data):
    """Something in one of the descriptions of a comparison replaced, removed or nested without end."""
    content = members(data)
    at = rng.choice(
        [i for i, (name, _) in enumerate(content) if name.endswith((".json", ".zgroup", ".zarray"))]
    )
    content[at] = (content[at][0], _replaced(rng, json.loads(content[at][1])).encode("utf-8", "replace"))
    return packed(content)


def _replaced(rng, thing):
    """A thing of JSON as a text, some of it something else."""
    for _ in range(rng.choice([1, 1, 2])):
        node = thing
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
                node = node[key]
                continue
            kind = rng.randrange(10)
            if kind == 0 and isinstance(node, dict):
                del node[key]
            elif kind == 1 and isinstance(node, dict):
                node[rng.choice(["callback", "x", "__class__", "tau_min", "approx"])] = rng.choice(ODD)
            else:
                node[key] = rng.choice(ODD)
            break
    text = json.dumps(thing)
    if rng.random() < 0.1:
        text = rng.choice(
            ["[" * 20_000, '{"a":' * 20_000, text[: rng.randrange(len(text))], "9" * 5000, "NaN", "null"]
        )
    return text


def table(rng, data):
    """Fields, lines and signs of a table changed."""
    lines = list(csv.reader(memory.StringIO(data.decode("utf-8", "replace"))))
    cells = ["", "nan", "NA", "inf", "-inf", "1e999", "1_0", "0x1", "=1+1", "'=1", "''-x", "+1", "id", "label", "a\nb", 'a"b',
             "\0", "\ufeff", "x" * 140_000, "١", "1,5", "p", "q", "\u2028", "1e308", "-1e200"]  # fmt: skip
    for _ in range(rng.choice([1, 1, 2, 4])):
        if not lines:
            break
        line = rng.choice(lines)
        kind = rng.randrange(6)
        if kind <= 2 and line:
            line[rng.randrange(len(line))] = rng.choice(cells)
        elif kind == 3:
            line.append(rng.choice(cells))
        elif kind == 4:
            lines.append(list(line))
        else:
            lines.remove(line)
    content = memory.StringIO()
    ending, quoting = rng.choice(["\n", "\r\n", "\r"]), rng.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    csv.writer(content, lineterminator=ending, quoting=quoting, escapechar="\\").writerows(lines)
    return content.getvalue().encode(
        rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"]), "replace"
    )


def unpacked(rng, data):
    """What is packed changed, and packed again."""
    return gzip.compress(table(rng, gzip.decompress(data)))


def parts(rng, data):
    """Bytes of what is packed in a workbook changed."""
    content = members(data)
    i = rng.randrange(len(content))
    content[i] = (content[i][0], flip(rng, content[i][1]))
    return packed(content, zipfile.ZIP_DEFLATED)


def damaged(rng, reader, data):
    """`data` damaged in a way that goes with the reader's format; bytes whatever they are may come in."""
    if READERS[reader][1] == ".csv.gz":
        way = rng.choice([flip, unpacked, unpacked])
    elif READERS[reader][1] == ".xlsx":
        way = rng.choice([flip, directory, parts, parts])
    elif reader == "io.read of a folder":
        way = rng.choice([parts, entries])
    elif READERS[reader][1] == ".zip":
        way = rng.choice([parts, entries, records, records, records, records])
    elif READERS[reader][1] in (".parquet", ".feather", ".npy", ".mat", ".h5", ".h5ad", ".h5mu"):
        way = flip
    elif READERS[reader][1] == ".csv":
        way = rng.choice([flip, table, table])
    elif reader == "models.load":
        way = rng.choice([flip, directory, entries, arrays, arrays, description, description, description])
    else:
        way = rng.choice([flip, directory, entries, arrays, arrays, arrays])
    try:
        return way(rng, data)
    except Exception:  # it was no such file any more
        return flip(rng, data)
