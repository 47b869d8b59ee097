"""Public benchmark sets, from the folder that the environment variable ``ABSENTIA_DATA`` names."""

import os
from pathlib import Path

from sklearn.utils import Bunch

from absentia.data import KernelViews
from absentia.files import FileError, file_errors, from_arrays, is_data, read_arrays

#: What ``load_benchmark`` knows: file, what it is.
BENCHMARKS: dict[str, str] = {
    "mfeat": "UCI multiple features: 2000 digits, 6 views, 10 classes",
    "3sources_full416": "416 news stories in up to 3 papers, 6 topics; naturally incomplete",
    "bbcsport_2view544": "544 sports stories in 2 segments, 5 classes",
    "cll_mofaCLL": "277 leukaemia patients, drugs, genomics, seahorse, protein; naturally incomplete",
    "tcga_breast_mixomics": "220 breast tumours, mirna, mrna, protein; one view missing for the test part",
    "uwave_train": "896 gestures on 3 axes, 8 classes",
    "proteinfold_embed27": "694 proteins, rank-27 factors of 12 kernels, 27 folds",
    "embryo_kernels": "255 fly embryos, 6 kernels; naturally incomplete",
    "cvkt_digits200_kernels": "200 digits, 6 kernels, published masks",
    "cvkt_simulated_kernels": "100 simulated samples, 7 kernels, published masks",
    "mkc_drm25_kernels": "25 samples, 8 kernels, published splits",
    "uci_heart": "Statlog heart, 270 x 13, binary",
    "uci_ionosphere": "ionosphere, 351 x 34, binary",
    "uci_sonar": "sonar, 208 x 60, binary",
    "uci_wdbc": "breast cancer, 569 x 30, binary",
    "uci_pima": "Pima diabetes, 768 x 8, binary",
    "ml_emotions": "593 pieces of music x 72, 6 labels",
    "ml_scene": "2407 scenes x 294, 6 labels",
}

_ID_KEYS = ("ids", "sample", "patient", "story_id")


def load_benchmark(name: str, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """A public benchmark set from `folder`, by default the one ``ABSENTIA_DATA`` names.

    Parameters
    ----------
    name : str
        One of :data:`BENCHMARKS`.
    folder : str or path, optional
        Where its file is.

    Returns
    -------
    Bunch
        ``views`` (Views) or ``kernels`` (KernelViews); ``target`` where the file has labels (key ``y``
        or ``Y``); ``extra``, a dict of the file's other arrays; ``DESCR``.
    """
    if name not in BENCHMARKS:
        raise ValueError(f"no benchmark {name!r}; known are {sorted(BENCHMARKS)}")
    return read_bunch(data_folder(folder) / f"{name}.npz", BENCHMARKS[name])


def read_bunch(path: Path, what: str) -> Bunch:
    """The arrays of an ``.npz`` file as :func:`load_benchmark` gives them."""
    with file_errors(path):
        arrays = read_arrays(path)
        ids = next((arrays.pop(key) for key in _ID_KEYS if key in arrays), None)
        data = from_arrays(arrays if ids is None else {**arrays, "ids": ids})
    extra = {key: array for key, array in arrays.items() if not is_data(key)}
    bunch = Bunch(DESCR=what, extra=extra)
    bunch["kernels" if isinstance(data, KernelViews) else "views"] = data
    for key in ("y", "Y"):
        if key in extra:
            bunch["target"] = extra.pop(key)
    return bunch


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the benchmark files, or an error that says how to name it."""
    chosen = folder if folder is not None else os.environ.get("ABSENTIA_DATA")
    if not chosen:
        raise FileError(
            "the benchmark files are not part of the package; set the environment variable "
            "ABSENTIA_DATA to the folder that holds them"
        )
    path = Path(chosen)
    if not path.is_dir():
        raise FileError(f"{path}: no such folder" + (" (named by ABSENTIA_DATA)" if folder is None else ""))
    return path
