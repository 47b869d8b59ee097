"""Experiments are read from files, files that are wrong are refused, and all tables of the papers are there."""

import shutil

import pytest

from absentia.files import FileError
from absentia.papers import _experiment as module
from absentia.papers import find_experiment, list_experiments, list_papers, read_experiment
from absentia.papers.protocols import version_of
from helpers.small_experiment import TEXT, experiment


def test_a_file_becomes_an_experiment(tmp_path):
    small = experiment(tmp_path)
    assert (small.name, small.paper, small.repeats) == ("small", "mkmc", 5)
    assert [column.name for column in small.columns] == ["zero", "mean", "entries", "oracle"]
    assert small.columns[2].parameters == {"of": "entries"}
    found = small.measure("error").published
    assert found["half missing", "Z"].value == 0.6
    assert ("half missing", "M") not in found
    assert found["0.25 missing", "M"].spread == 0.1
    assert list(small.settings()) == [{"level": 0.25}, {"level": 0.5}]
    assert [small.kind_of(column) for column in small.columns] == ["baseline", "proposed", "", ""]


def test_columns_are_of_the_kinds_of_their_paper_unless_the_file_says_others(tmp_path):
    text = TEXT.replace('[kinds]\nproposed = ["M"]\nbaseline = ["Z"]\n', "")
    for ours, of_paper in {"Z": "zero-SVM", "M": "PCA-K"}.items():
        text = text.replace(f'beside = "{ours}"', f'beside = "{of_paper}"').replace(
            f"| {ours}", f"| {of_paper}"
        )
    small = experiment(tmp_path, text)
    assert [small.kind_of(column) for column in small.columns[:2]] == ["baseline", "proposed"]


def test_a_star_says_that_a_number_follows_from_others():
    found = module._parse_published("1.000±0.000*")
    assert (found.text, found.value, found.follows) == ("1.000±0.000", 1.0, True)


def test_rows_are_named_by_factors_and_parts(tmp_path):
    small = experiment(tmp_path, TEXT.replace('"{level} missing"', '"{level} of {part}"'))
    assert small.row_of({"level": 0.5}, "kar") == "half of kar"
    assert small.row_of({"level": 0.25}, "{level}") == "0.25 of {level}"


def test_in_small_it_has_fewer_values_columns_and_claims(tmp_path):
    small = experiment(tmp_path).reduce(quick=True)
    assert small.design == {"level": (0.5,)} or small.design == {"level": [0.5]}
    assert [column.name for column in small.columns] == ["zero", "mean"]
    assert [claim.words for claim in small.claims] == ["mean beats zero"]
    assert small.repeats == 1
    assert experiment(tmp_path).reduce(repeats=7).repeats == 7
    assert experiment(tmp_path).reduce(quick=True, repeats=2).repeats == 2


@pytest.mark.parametrize(
    ("text", "value", "spread", "decimals"),
    [
        ("0.010±0.003", 0.01, 0.003, 3),
        ("79.99 +- 2.18", 79.99, 2.18, 2),
        (".7", 0.7, None, 1),
        ("3", 3, None, 0),
    ],
)
def test_printed_numbers_keep_their_digits(text, value, spread, decimals):
    found = module._parse_published(text)
    assert (found.value, found.spread, found.decimals) == (value, spread, decimals)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('what = "a small one"', "", "'what' is wanted"),
        ('protocol = "mkmc"', 'protocols = "mkmc"', "'protocols' is not known"),
        ('protocol = "mkmc"', "", "'protocol' is wanted"),
        ("level = [0.25, 0.5]", "level = 0.5", "design 'level' is to be a list"),
        ("[design]", "[design]\ncolumns = [1]", "'columns' has a meaning of its own"),
        ('"{level} missing"', '"{share} missing"', "'share' is no factor of the design"),
        ('beside = "M"', "", "no column stands beside the published 'M'"),
        ("| 0.40±0.10", "| 0.4x", "'0.4x' is no number"),
        ("| 0.40±0.10", "| 0.4**", "is no number"),
        ('proposed = ["M"]', "", "it is not said what the published 'M' is"),
        ('proposed = ["M"]', 'proposes = ["M"]', "did you mean proposed"),
        ("[quick]", '[comment]\nwords = ["x"]\n\n[quick]', "missing 2 required"),
        ("half missing | 0.60 | -", "half missing | 0.60", "has 2 cells, the first 3"),
        ('better = "lower"', 'better = "less"', "better is 'higher', 'lower' or 'neither'"),
        ('second = "zero"', 'second = "nobody"', "a claim is about 'nobody'"),
        ('better = "lower"', 'better = "neither"', "of which nothing is better or worse"),
        ('name = "oracle"', 'name = "zero"', "two columns have one name"),
        ('columns = ["zero", "mean"]', 'columns = ["zero", "x"]', "quick has 'x', which is no column"),
        ("[quick]", "[quick]\nlevels = [1]", "quick 'levels' is no factor"),
        ("[design]", "[design", "Expected"),
        ('method = "CVKT"', 'method = "CVKT"\ncolour = 3', "column 'colour' is not known"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(tmp_path, before, after, words):
    assert before in TEXT
    with pytest.raises(FileError, match=rf"small\.toml: .*{words}"):
        experiment(tmp_path, TEXT.replace(before, after, 1))


def test_names_are_plain_and_files_are_there(tmp_path):
    with pytest.raises(FileError, match="small letters"):
        experiment(tmp_path, name="Not plain")
    with pytest.raises(FileError, match=r"gone\.toml"):
        read_experiment(tmp_path / "gone.toml")


# -------------------------------------------------------------------------------- listing


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
    for column in one.columns:
        assert version_of(one.protocol, column.method).endswith("protocol 1")
    small = one.reduce(quick=True)
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
    shutil.copy(module._find_folder() / "mkmc-simulated.toml", tmp_path / "mine.toml")
    assert find_experiment(str(tmp_path / "mine.toml")).name == "mine"


def test_an_installation_without_them_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_FOLDERS", (tmp_path,))
    with pytest.raises(FileError, match="not part of this installation"):
        module._find_folder()
