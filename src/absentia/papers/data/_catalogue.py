"""The public data sets that the methods' papers use: what they are, and where they are to be had.

One table, which :func:`absentia.papers.fetch` and ``docs/data.md`` read.  Addresses are those that the
papers and the archives give; none could be tried where this was written, and no checksum is known.  A file
without an address has to be got by hand from the data set's page.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from sklearn.utils import Bunch

from absentia.papers.data import _loaders

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-label"
UCR = "https://timeseriesclassification.com/aeon-toolkit"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
OXFORD = "https://www.robots.ox.ac.uk/~vgg/data/flowers/17"
NOBLE = ("http://noble.gs.washington.edu/proj/yeast", "http://noble.gs.washington.edu/yeast")
PSORT = "http://raetschlab.org/suppl/protsubloc/"

CC_BY = "CC BY 4.0, as UCI says"
NONE = "none stated"
AMKL, CVKT, PMA, MKMC = "Liu et al. 2020", "Huusari et al. 2022", "Agovic et al. 2011", "Rivero & Kato 2018"


@dataclass(frozen=True)
class Remote:
    """A file of a data set.

    Attributes
    ----------
    name : str
        What it is called.
    addresses : tuple of str
        Where it is to be had, the likeliest first; none: it has to be got by hand.
    instead : tuple of str
        Names of files that will do in its place, if they are found.
    sha256 : str, optional
        Its checksum, if known.
    """

    name: str
    addresses: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    sha256: str | None = None


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Attributes
    ----------
    what : str
        What it holds.
    size : str
        Samples and features, views, or kernels, and classes.
    page : str
        Its home.
    files : tuple of Remote
    loader : callable
        From paths by name to a Bunch.
    licence, citation : str
    used : str
        Which tables of which paper.
    shape : tuple of int, optional
        Samples, and features of each view (of kernels: how many).
    """

    what: str
    size: str
    page: str
    files: tuple[Remote, ...]
    loader: Callable[[Mapping[str, Path]], Bunch]
    licence: str
    citation: str
    used: str
    shape: tuple[int, ...] | None = None


def _at(base: str, *names: str) -> tuple[Remote, ...]:
    return tuple(Remote(name.rpartition("/")[2], (f"{base}/{name}",)) for name in names)


def _uci(
    number: int, file: str, loader: Callable[[Mapping[str, Path]], Bunch], **words: str | tuple[int, ...]
) -> DataSet:
    """A data set of the UCI repository that is one file."""
    return DataSet(
        page=f"https://archive.ics.uci.edu/dataset/{number}",
        files=_at(UCI, file),
        loader=loader,
        licence=CC_BY,
        **{"used": f"{AMKL}, Tables 1, 2", **words},  # type: ignore[arg-type]
    )


def _by_hand(name: str, **words: str) -> DataSet:
    """Kernels that have a home page, but no address of a file that is known for certain."""
    file = Remote(f"{name}.mat")
    return DataSet(files=(file,), loader=_loaders.prepared, licence=NONE, **words)  # type: ignore[arg-type]


def _axis(axis: str) -> Remote:
    stem = f"UWaveGestureLibrary{axis}"
    plain = tuple(f"{stem}_TRAIN{ending}" for ending in (".ts", ".tsv", ".txt"))
    return Remote(f"{stem}.zip", (f"{UCR}/{stem}.zip",), plain)


#: The six kernels of the MKMC papers, as the files of their authors are called.
YEAST = {
    "Pfam": "kernel_matrix_pfamdom_exp_cn_3588.txt.gz",
    "Gen": "kernel_matrix_mgi_n_3588.txt.gz",
    "Phys": "kernel_matrix_mpi_n_3588.txt.gz",
    "TAP": "kernel_matrix_tap_n_3588.txt.gz",
    "Exp": "kernel_matrix_exp_gauss_n_3588.txt.gz",
    "SW": "kernel_matrix_sw_cn_3588.txt.gz",
}
_DIGITS = ("fou", "fac", "kar", "pix", "zer", "mor")
_PSORT = "Zien & Ong, WABI 2008"

#: What :func:`absentia.papers.fetch` knows, by name.
CATALOGUE: Mapping[str, DataSet] = MappingProxyType(
    {
        "uci_heart": _uci(
            145,
            "statlog/heart/heart.dat",
            partial(_loaders.table, classes={"1": -1, "2": 1}, delimiter=None),
            what="Statlog heart: absence or presence of heart disease",
            size="270 x 13, 2 classes",
            citation="Statlog (Heart), UCI, doi:10.24432/C57303",
            shape=(270, 13),
        ),
        "uci_ionosphere": _uci(
            52,
            "ionosphere/ionosphere.data",
            partial(_loaders.table, classes={"b": -1, "g": 1}),
            what="radar returns, bad or good",
            size="351 x 34, 2 classes",
            citation="Sigillito et al. 1989, UCI",
            shape=(351, 34),
        ),
        "uci_sonar": _uci(
            151,
            "undocumented/connectionist-bench/sonar/sonar.all-data",
            partial(_loaders.table, classes={"R": -1, "M": 1}),
            what="sonar returns of rocks and mines",
            size="208 x 60, 2 classes",
            citation="Gorman & Sejnowski 1988, UCI",
            shape=(208, 60),
        ),
        "uci_wdbc": _uci(
            17,
            "breast-cancer-wisconsin/wdbc.data",
            partial(_loaders.table, classes={"B": -1, "M": 1}, label=1, without=1),
            what="cell nuclei of breast tumours, benign or malignant",
            size="569 x 30, 2 classes",
            citation="Street, Wolberg & Mangasarian 1993, UCI",
            shape=(569, 30),
        ),
        "uci_musk1": _uci(
            74,
            "musk/clean1.data.Z",
            _loaders.musk,
            what="conformations of molecules that are musks or not",
            size="476 x 166, 2 classes",
            citation="Dietterich et al. 1997, UCI",
            shape=(476, 166),
        ),
        "uci_spambase": _uci(
            94,
            "spambase/spambase.data",
            partial(_loaders.table, classes={"0": -1, "1": 1}),
            what="e-mails, spam or not (the paper takes 1000 of them)",
            size="4601 x 57, 2 classes",
            citation="Hopkins et al. 1999, UCI",
            shape=(4601, 57),
        ),
        "uci_splice": _uci(
            69,
            "molecular-biology/splice-junction-gene-sequences/splice.data",
            _loaders.splice,
            what="windows of DNA at borders of exons, four columns for each of 60 places",
            size="3190 x 240, 3 classes",
            citation="Noordewier, Towell & Shavlik 1991, UCI",
            used=f"{AMKL}, Tables 1, 2 (see libsvm_splice)",
            shape=(3190, 240),
        ),
        "libsvm_splice": DataSet(
            what="windows of DNA, junction or not: LIBSVM's training samples, as many as the paper has",
            size="1000 x 60, 2 classes",
            page="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
            files=_at(LIBSVM, "splice"),
            loader=_loaders.libsvm,
            licence=NONE,
            citation="Delve / UCI, through LIBSVM",
            used=f"{AMKL}, Tables 1, 2",
            shape=(1000, 60),
        ),
        "libsvm_fourclass": DataSet(
            what="points in the plane, two classes that no line parts",
            size="862 x 2, 2 classes",
            page="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
            files=_at(LIBSVM, "fourclass"),
            loader=_loaders.libsvm,
            licence=NONE,
            citation="Ho & Kleinberg 1996, through LIBSVM",
            used=f"{AMKL}, Tables 1, 2",
            shape=(862, 2),
        ),
        "uci_pima": DataSet(
            what="diabetes among Pima women, 0 where a value is missing; UCI no longer has it",
            size="768 x 8, 2 classes",
            page="https://www.openml.org/d/37",
            files=(
                Remote(
                    "dataset_37_diabetes.arff",
                    (
                        "https://www.openml.org/data/download/37/dataset_37_diabetes.arff",
                        "https://api.openml.org/data/v1/download/37",
                    ),
                ),
            ),
            loader=partial(_loaders.openml, classes={"tested_negative": -1, "tested_positive": 1}),
            licence="public, as OpenML says",
            citation="Smith et al. 1988, OpenML 37",
            used=f"{AMKL}, Tables 1, 2",
            shape=(768, 8),
        ),
        "mfeat": DataSet(
            what="handwritten digits in six views (Multiple Features)",
            size="2000, 6 views of 76, 216, 64, 240, 47, 6, 10 classes",
            page="https://archive.ics.uci.edu/dataset/72/multiple+features",
            files=_at(f"{UCI}/mfeat", *(f"mfeat-{view}" for view in _DIGITS)),
            loader=_loaders.digits,
            licence=CC_BY,
            citation="Duin, UCI, doi:10.24432/C5HC70",
            used=f"{CVKT}, Tables 4, 6, 8",
            shape=(2000, 76, 216, 64, 240, 47, 6),
        ),
        "uwave_train": DataSet(
            what="gestures on three axes (uWaveGestureLibrary), the training part",
            size="896, 3 views of 315, 8 classes",
            page="http://www.timeseriesclassification.com/description.php?Dataset=UWaveGestureLibraryAll",
            files=(_axis("X"), _axis("Y"), _axis("Z")),
            loader=_loaders.axes,
            licence=NONE,
            citation="Liu et al. 2009, UCR archive",
            used=f"{CVKT}, Tables 5, 7, 8",
            shape=(896, 315, 315, 315),
        ),
        "ml_emotions": DataSet(
            what="pieces of music and the emotions they evoke",
            size="593 x 72, 6 labels",
            page="https://github.com/tsoumakas/mulan/tree/master/data/multi-label/emotions",
            files=_at(MULAN, "emotions/emotions.arff"),
            loader=partial(_loaders.mulan, n_labels=6),
            licence=NONE,
            citation="Trohidis et al. 2008, MULAN",
            used=f"{PMA}, Table 1, Figure 3",
            shape=(593, 72),
        ),
        "ml_scene": DataSet(
            what="photographs and what they show, training and test part",
            size="2407 x 294, 6 labels",
            page="https://github.com/tsoumakas/mulan/tree/master/data/multi-label/scene",
            files=_at(MULAN, "scene/scene-train.arff", "scene/scene-test.arff"),
            loader=partial(_loaders.mulan, n_labels=6),
            licence=NONE,
            citation="Boutell et al. 2004, MULAN",
            used=f"{PMA}, Tables 1, 2, Figure 3",
            shape=(2407, 294),
        ),
        "flower17": DataSet(
            what="images of flowers: seven matrices of distances, three Gaussian kernels of each",
            size="1360, 21 kernels, 17 classes",
            page="https://www.robots.ox.ac.uk/~vgg/data/flowers/17/",
            files=_at(OXFORD, "distancematrices17gcfeat06.mat", "distancematrices17itfeat08.mat"),
            loader=_loaders.flowers,
            licence=NONE,
            citation="Nilsback & Zisserman 2006, 2008",
            used=f"{AMKL}, Tables 2, 5",
            shape=(1360, 21),
        ),
        "yeast": DataSet(
            what="proteins of yeast: domains, interactions (genetic, physical, in complexes), expression, "
            "sequence",
            size="3588, 6 kernels, 13 labels",
            page="http://noble.gs.washington.edu/proj/yeast/",
            files=(
                *(Remote(file, tuple(f"{base}/{file}" for base in NOBLE)) for file in YEAST.values()),
                Remote("labels.txt.gz", instead=("labels.txt", "labels.tsv", "labels.tsv.gz")),
            ),
            loader=partial(_loaders.yeast, kernels=YEAST),
            licence=NONE,
            citation="Lanckriet et al., PSB 2004",
            used=f"{MKMC}, Table 1",
            shape=(3588, 6),
        ),
        "proteinfold": _by_hand(
            "proteinfold",
            what="proteins in 27 folds, 12 kernels",
            size="694, 12 kernels, 27 classes",
            page="http://mkl.ucsd.edu/dataset/protein-fold-prediction/",
            citation="Ding & Dubchak 2001; Damoulas & Girolami 2008",
            used=f"{AMKL}, Tables 2, 3",
        ),
        "psortPos": _by_hand(
            "psortPos",
            what="where proteins of Gram-positive bacteria are",
            size="541, 69 kernels, 4 classes",
            page=PSORT,
            citation=_PSORT,
            used=f"{AMKL}, Tables 2, 4",
        ),
        "psortNeg": _by_hand(
            "psortNeg",
            what="where proteins of Gram-negative bacteria are",
            size="1444, 69 kernels, 5 classes",
            page=PSORT,
            citation=_PSORT,
            used=f"{AMKL}, Tables 2, 4",
        ),
        "plant": _by_hand(
            "plant",
            what="where proteins of plants are",
            size="940, 69 kernels, 4 classes",
            page=PSORT,
            citation=_PSORT,
            used=f"{AMKL}, Tables 2, 4",
        ),
        "caltech101": _by_hand(
            "caltech101",
            what="images of objects",
            size="3060, 48 kernels, 102 classes",
            page="http://files.is.tue.mpg.de/pgehler/projects/iccv09/",
            citation="Gehler & Nowozin, ICCV 2009",
            used=f"{AMKL}, Tables 2, 6",
        ),
    }
)


def table_lines() -> Iterator[str]:
    """The catalogue as the table of ``docs/data.md``, line by line."""
    yield "| name | what | size | licence | citation | from | used in |"
    yield "|---|---|---|---|---|---|---|"
    for name, one in CATALOGUE.items():
        first = [file.addresses[0] for file in one.files if file.addresses]
        by_hand = [file.name for file in one.files if not file.addresses]
        more = f" and {len(first) - 1} more" if len(first) > 1 else ""
        where = [f"`{first[0]}`{more}"] if first else []
        where += [f"by hand: {', '.join(f'`{file}`' for file in by_hand)}"] if by_hand else []
        home = f"[page]({one.page}); {'; '.join(where)}"
        cells = f"`{name}`", one.what, one.size, one.licence, one.citation, home, one.used
        yield f"| {' | '.join(cells)} |"
