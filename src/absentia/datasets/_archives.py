"""The public data sets by the archive that they come from: :func:`fetch` under shorter names."""

from collections.abc import Mapping
from typing import Any

from sklearn.utils import Bunch

from absentia.core import check_name
from absentia.datasets._fetching import fetch

_UCI = ("heart", "ionosphere", "sonar", "wdbc", "musk1", "splice", "spambase")
#: What each archive has, by the name that it is asked for and the one in the catalogue.
ARCHIVES: Mapping[str, Mapping[str, str]] = {
    "UCI": {**{name: f"uci_{name}" for name in _UCI}, "mfeat": "mfeat"},
    "OpenML": {"pima": "uci_pima"},
    "LIBSVM": {"splice": "libsvm_splice", "fourclass": "libsvm_fourclass"},
    "MULAN": {"emotions": "ml_emotions", "scene": "ml_scene"},
    "UCR": {"uwave": "uwave_train"},
    "kernels": {
        name: name
        for name in ("yeast", "proteinfold", "psortPos", "psortNeg", "plant", "flower17", "caltech101")
    },
}


def _fetched(archive: str, name: str, options: Mapping[str, Any]) -> Bunch:
    check_name(f"data set of {archive}", name, ARCHIVES[archive])
    return fetch(ARCHIVES[archive][name], **options)


def fetch_uci(name: str, **options: Any) -> Bunch:
    """A data set of the UCI repository: "heart", "sonar", "wdbc", "mfeat" ...; see :func:`fetch`."""
    return _fetched("UCI", name, options)


def fetch_openml(name: str, **options: Any) -> Bunch:
    """A data set of OpenML: "pima", which UCI has no more; see :func:`fetch`."""
    return _fetched("OpenML", name, options)


def fetch_libsvm(name: str, **options: Any) -> Bunch:
    """A data set of the LIBSVM pages: "fourclass", "splice"; see :func:`fetch`."""
    return _fetched("LIBSVM", name, options)


def fetch_mulan(name: str, **options: Any) -> Bunch:
    """A data set of MULAN with several labels: "emotions", "scene"; see :func:`fetch`."""
    return _fetched("MULAN", name, options)


def fetch_ucr(name: str, **options: Any) -> Bunch:
    """A data set of the UCR archive: "uwave"; see :func:`fetch`."""
    return _fetched("UCR", name, options)


def fetch_kernels(name: str, **options: Any) -> Bunch:
    """Kernels from their home pages: "yeast", "psortPos", "flower17" ...; see :func:`fetch`."""
    return _fetched("kernels", name, options)
