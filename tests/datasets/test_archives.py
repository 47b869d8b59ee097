"""The public data sets by archive."""

import numpy as np
import pytest

from absentia import datasets
from absentia.datasets import CATALOGUE
from absentia.datasets._archives import ARCHIVES


def test_every_data_set_is_in_one_archive():
    named = [name for archive in ARCHIVES.values() for name in archive.values()]
    assert sorted(named) == sorted(CATALOGUE)
    pages = {"UCI": "archive.ics.uci.edu", "OpenML": "openml", "LIBSVM": "libsvm", "MULAN": "mulan"}
    for archive, host in pages.items():
        for name in ARCHIVES[archive].values():
            assert host in CATALOGUE[name].page, name


def test_a_short_name_fetches_the_data_set_of_the_archive(tmp_path):
    np.savez(tmp_path / "uci_heart.npz", view_x=[[1.0], [2.0]], y=[1, -1])
    found = datasets.fetch_uci("heart", folder=tmp_path)
    assert found.views.shape == (2, 1)
    assert found.target.tolist() == [1, -1]


@pytest.mark.parametrize("fetch", ["uci", "openml", "libsvm", "mulan", "ucr", "kernels"])
def test_names_that_an_archive_has_not_are_refused(fetch):
    with pytest.raises(ValueError, match="data set of"):
        getattr(datasets, f"fetch_{fetch}")("nobody's")
