"""All experiments are there, and all tables and figures of the papers are accounted for."""

import shutil

import pytest

from absentia.files import FileError
from absentia.papers import _listing as listing
from absentia.papers import find_experiment, list_experiments, list_papers
from absentia.papers._methods import version
from absentia.papers.protocols import PROTOCOLS


def test_every_table_and_figure_is_an_experiment_or_is_explained():
    for paper in list_papers():
        shown = {one.place for one in list_experiments().values() if one.paper == paper.key}
        assert shown <= set(paper.places), paper.key
        assert not shown & set(paper.others), paper.key
        assert set(paper.places) == shown | set(paper.others), paper.key


@pytest.mark.parametrize("name", list_experiments())
def test_every_experiment_can_be_asked_for(name):
    one = find_experiment(name)
    assert one.paper in {paper.key for paper in list_papers()}
    if one.cannot:
        return
    assert one.protocol in PROTOCOLS
    for column in one.columns:
        assert len(version(one.protocol, column.method)) == 16
    small = one.asked(quick=True)
    assert len(list(small.settings())) <= len(list(one.settings()))
    assert small.columns


def test_they_come_in_the_order_of_the_papers():
    order = [one.paper for one in list_experiments().values()]
    keys = [paper.key for paper in list_papers()]
    assert order == sorted(order, key=keys.index)


def test_names_that_are_wrong_are_answered_with_those_that_there_are():
    with pytest.raises(ValueError, match="mkmc-table1"):
        find_experiment("mkmc-table9")


def test_ones_own_file_can_be_run(tmp_path):
    shutil.copy(listing.folder() / "mkmc-simulated.toml", tmp_path / "mine.toml")
    assert find_experiment(str(tmp_path / "mine.toml")).name == "mine"


def test_an_installation_without_them_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "PLACES", (tmp_path,))
    with pytest.raises(FileError, match="not part of this installation"):
        listing.folder()
