"""All experiments are there, and all tables and figures of the papers are accounted for."""

import shutil

import pytest

from absentia.experiment.reproduction import _listing as listing
from absentia.experiment.reproduction import experiments, find, papers
from absentia.experiment.reproduction._methods import version
from absentia.experiment.reproduction.protocols import PROTOCOLS
from absentia.files import FileError


def test_every_table_and_figure_is_an_experiment_or_is_explained():
    for paper in papers():
        shown = {one.place for one in experiments().values() if one.paper == paper.key}
        assert shown <= set(paper.places), paper.key
        assert not shown & set(paper.others), paper.key
        assert set(paper.places) == shown | set(paper.others), paper.key


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_can_be_asked_for(name):
    one = find(name)
    assert one.paper in {paper.key for paper in papers()}
    if one.cannot:
        return
    assert one.protocol in PROTOCOLS
    for column in one.columns:
        assert len(version(one.protocol, column.method)) == 16
    small = one.asked(quick=True)
    assert len(list(small.settings())) <= len(list(one.settings()))
    assert small.columns


def test_they_come_in_the_order_of_the_papers():
    order = [one.paper for one in experiments().values()]
    keys = [paper.key for paper in papers()]
    assert order == sorted(order, key=keys.index)


def test_names_that_are_wrong_are_answered_with_those_that_there_are():
    with pytest.raises(ValueError, match="mkmc-table1"):
        find("mkmc-table9")


def test_ones_own_file_can_be_run(tmp_path):
    shutil.copy(listing.folder() / "mkmc-simulated.toml", tmp_path / "mine.toml")
    assert find(str(tmp_path / "mine.toml")).name == "mine"


def test_an_installation_without_them_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "PLACES", (tmp_path,))
    with pytest.raises(FileError, match="not part of this installation"):
        listing.folder()
