"""Pages beside the documentation are made from the records beside them, and from nothing else; their charts."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from absentia.experiment.engine import Record
from absentia.files import FileError
from absentia.papers import (
    _pages,
    chart_svg,
    describe_versions,
    list_experiments,
    list_papers,
    read_records,
    render_markdown,
    render_pages,
    summarise,
    write_records,
)
from helpers.small_experiment import TEXT, experiment, records

DOCS = Path(__file__).parents[2] / "docs" / "reproduction"


def kept(folder, small):
    made = [
        Record(one["trial"], one["status"], one["result"], one["error"], one["cost"], {"numpy": "2"})
        for one in records(small)
    ]
    return write_records(folder, small, made, quick=False)


def test_records_come_back_as_they_were_kept(tmp_path):
    small = experiment(tmp_path)
    path = kept(tmp_path, small)
    found = read_records(path)
    assert found.records == records(small)
    assert not found.quick
    assert json.loads(path.read_text().splitlines()[0]) == {
        "experiment": "small",
        "quick": False,
        "made": {"numpy": "2"},
    }


def test_what_is_no_file_of_records_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    for text in ("", "{", "[]\n", '{"quick": false}\n{"trial": {}}\n'):
        path.write_text(text)
        with pytest.raises(FileError, match=r"x\.jsonl: is no file of records"):
            read_records(path)


@pytest.fixture
def only_small(tmp_path, monkeypatch):
    small = experiment(tmp_path, TEXT + '\n[chart]\nx = "level"\nmeasure = "error"\n')
    monkeypatch.setattr(_pages, "list_experiments", lambda: {"small": small})
    return small


def test_pages_and_index_are_made_from_what_is_kept(tmp_path, only_small):
    kept(tmp_path, only_small)
    pages = render_pages(tmp_path)
    assert list(pages) == ["small.svg", "small.md", "index.md"]
    assert "**Of 2 numbers of the proposed methods 1 agree, 1 not run.**" in pages["index.md"]
    assert "| baselines | 1 |  | 1 |  |  | 1 | 3 |" in pages["index.md"]
    assert (
        "| Table 1 | [a small one](small.md) | 1 agrees, 1 not run | 1 agrees, 1 worse here, 1 not run | 1 of 2 |"
        in pages["index.md"]
    )


def test_one_changed_record_changes_the_page(tmp_path, only_small):
    path = kept(tmp_path, only_small)
    before = render_pages(tmp_path)["small.md"]
    path.write_text(path.read_text().replace("of ZeroFill", "newer"))
    assert "ZeroFill `newer`" in render_pages(tmp_path)["small.md"]
    assert render_pages(tmp_path)["small.md"] != before


def test_records_may_be_kept_by_another_experiment(tmp_path, only_small, monkeypatch):
    text = TEXT.replace("{level} missing", "{level} gone").replace(" missing |", " gone |")
    text = text.replace('paper = "mkmc"', 'paper = "mkmc"\nrecords = ["small"]')
    text = text[: text.index('[[columns]]\nname = "entries"')] + text[text.index("[[measures]]") :]
    other = experiment(tmp_path, text[: text.index('[[claims]]\nwords = "entries')], "other")
    monkeypatch.setattr(_pages, "list_experiments", lambda: {"small": only_small, "other": other})
    assert "other.md" not in render_pages(tmp_path)
    kept(tmp_path, only_small)
    assert not write_records(tmp_path, other, [], quick=False).exists()
    page = render_pages(tmp_path)["other.md"]
    assert "| 0.25 gone | 0.50 (0.50) ≡ | **0.32** (0.40±0.10) = |" in page
    assert "CVKT" not in page  # no column of this one
    assert "20 trials" in page


def test_records_of_other_versions_are_said_to_be(tmp_path, only_small, monkeypatch):
    assert describe_versions(tmp_path, only_small) == ""
    kept(tmp_path, only_small)
    monkeypatch.setattr(_pages, "version_of", lambda protocol, method: f"of {method}")
    assert describe_versions(tmp_path, only_small) == "current"
    monkeypatch.setattr(_pages, "version_of", lambda protocol, method: "of CVKT")
    assert describe_versions(tmp_path, only_small) == "other versions of MeanFill, ZeroFill"


@pytest.mark.slow
def test_the_committed_pages_are_those_of_the_committed_records():
    pages = render_pages(DOCS)
    there = {path.name for path in DOCS.iterdir() if path.is_file()}
    pictures = set(re.findall(r"\]\(([\w-]+\.png)\)", pages["index.md"]))  # by benchmarks/cvkt_figures.py
    assert there == set(pages) | pictures
    for name, content in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == content, (
            f"docs/reproduction/{name} is not what its records say: absentia reproduce --pages docs/reproduction"
        )


def test_committed_records_are_of_one_version_each_and_of_full_runs():
    for path in sorted((DOCS / "records").glob("*.jsonl")):
        assert path.stem in list_experiments()
        found = read_records(path)
        assert not found.quick, path.name
        versions = {}
        for one in found.records:
            versions.setdefault(one["trial"]["method"], set()).add(one["trial"]["version"])
        assert all(len(several) == 1 for several in versions.values()), (path.name, versions)


def test_our_comment_is_shown_below_the_numbers_of_its_records_alone(tmp_path):
    small = experiment(tmp_path)
    of = summarise(small, records(small)).trials_hash
    comment = f'\n[comment]\ndate = 2026-11-18\nof = "{of}"\nwords = ["Because."]\n'
    text = page(tmp_path, TEXT + comment)
    assert text.index("## Claims") < text.index("## Our comment, 2026-11-18\n\nBecause.")
    assert "Because" not in page(tmp_path, TEXT + comment, quick=True)


@pytest.mark.slow
def test_committed_comments_are_of_the_committed_records():
    for name, one in list_experiments().items():
        stored = _pages._stored_records(DOCS, one)
        if one.comment and stored:
            of = summarise(one, stored.records).trials_hash
            assert one.comment.of == of, (
                f"experiments/{name}.toml: the comment was written of other records; read it against "
                f'the numbers, then set its date, and of = "{of}"'
            )


def test_the_readme_has_the_sentence_of_the_index():
    sentence = (DOCS / "index.md").read_text(encoding="utf-8").split("**")[1]
    assert sentence.startswith("Of ")
    assert sentence in " ".join((DOCS.parents[1] / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.slow
def test_the_index_lists_every_place_of_every_paper():
    text = render_pages(DOCS)["index.md"]
    for paper in list_papers():
        part = text[text.index(f"## {paper.short}") :]
        part = part[: part.find("\n## ")] if "\n## " in part else part
        for place in paper.places:
            assert f"| {place} | " in part, (paper.key, place)


# -------------------------------------------------------------------------------- Markdown


def page(tmp_path, text=TEXT, quick=False, picture=""):
    small = experiment(tmp_path, text)
    return render_markdown(summarise(small, records(small), quick), picture)


def test_tables_have_both_numbers_marks_and_signs(tmp_path):
    text = page(tmp_path)
    assert "|  | zero | mean | entries | oracle† |" in text
    assert "| 0.25 missing | 0.50 (0.50) ≡ | **0.32** (0.40±0.10) = | " in text
    assert "| half missing | 0.71 (0.60) − | **0.41** | <u>0.41</u> | - |" in text
    assert "| half missing | zero | 0.60 | 0.71 | 0.00 | +0.11 | worse here |" in text
    assert "| more missing | mean | 0.60 | - | - | - | not run |" in text


def test_the_page_says_what_came_of_it_how_and_from_what(tmp_path):
    text = page(tmp_path)
    assert "**Of 2 numbers of the proposed methods 1 agree, 1 not run. Of 3 numbers of baselines" in text
    assert "* It is small." in text
    assert "$ absentia reproduce small --repeats 10" in text
    assert "MeanFill `of MeanFill`, ZeroFill `of ZeroFill`" in text
    assert "† is told what is hidden" in text
    assert "35 trials, 5 repeats, 70 CPU seconds" in text
    assert "| mean beats zero | +0.1 | +0.24" in text
    assert "| 0.02 | 10 | holds |" in text


def test_a_small_run_says_so_and_a_picture_is_shown(tmp_path):
    small = page(tmp_path, quick=True)
    assert "**A run in small: it shows that everything runs, and nothing is judged.**" in small
    assert "half missing | zero | 0.60 | 0.71 | 0.00 | +0.11 | not comparable: a run in small |" in small
    assert "Of 2" not in small
    assert "A run in small" not in page(tmp_path)
    assert "![a small one](small.svg)" in page(tmp_path, picture="small.svg")


# -------------------------------------------------------------------------------- charts

CHART = '\n[chart]\nx = "level"\nmeasure = "error"\n'


def lines(svg):
    """Points of every line by its title."""
    return {
        title: [tuple(map(float, point.split())) for point in path[1:].split("L")]
        for path, title in re.findall(r'<path d="([^"]+)"[^>]*><title>([^<]+)</title>', svg)
    }


def test_lines_are_where_the_means_are(tmp_path):
    small = experiment(tmp_path, TEXT + CHART)
    svg = chart_svg(summarise(small, records(small)))
    ET.fromstring(svg)
    found = lines(svg)
    assert set(found) == {"zero", "mean", "entries", "oracle"}
    (x0, y0), (x1, y1) = found["zero"]
    assert x0 < x1
    assert y1 < y0  # .71 is above .50, and up is small
    assert found["mean"][0][1] > found["zero"][0][1]
    assert len(found["oracle"]) == 1


def test_panels_are_values_of_a_factor_or_parts(tmp_path):
    text = TEXT.replace('"{level} missing"', '"{level}, {part}"') + CHART + 'panel = "part"\n'
    small = experiment(tmp_path, text)
    all_of_them = records(small)
    for one in all_of_them:
        value = one["result"]["scores"]["error"].pop("")
        one["result"]["scores"]["error"] = {"<a>": value, "b": value + 1}
    svg = chart_svg(summarise(small, all_of_them))
    ET.fromstring(svg)
    assert re.findall(r'class="t"[^>]*>([^<]+)<', svg) == ["&lt;a&gt;", "b"]


def test_several_measures_have_panels_of_their_own(tmp_path):
    text = (
        TEXT
        + '\n[[measures]]\nname = "loss"\nbetter = "lower"\n'
        + CHART.replace('"error"', '["error", "loss"]')
    )
    small = experiment(tmp_path, text)
    all_of_them = records(small)
    for one in all_of_them:
        one["result"]["scores"]["loss"] = {"": 1.0}
    svg = chart_svg(summarise(small, all_of_them))
    ET.fromstring(svg)
    assert re.findall(r'class="t"[^>]*>([^<]+)<', svg) == ["error", "loss"]


def test_errors_over_repeats_are_drawn_and_axes_have_names_and_round_ticks(tmp_path):
    small = experiment(tmp_path, TEXT + CHART + 'label = "share hidden"\n')
    svg = chart_svg(summarise(small, records(small)))
    bars = re.findall(r'<line class="error c\d" x1="([\d.]+)" y1="([\d.]+)" x2="\1" y2="([\d.]+)"', svg)
    assert len(bars) == 6  # three methods at two levels; the oracle's five numbers are the same
    assert all(float(low) > float(high) for _, low, high in bars)
    assert ">share hidden<" in svg
    assert ">error<" in svg
    assert [tick for tick in ("0.2", "0.4", "0.6") if f">{tick}<" in svg] == ["0.2", "0.4", "0.6"]
    once = [one for one in records(small) if one["trial"]["repeat"] == 0]
    assert "error c" not in chart_svg(summarise(small, once))


def test_long_names_of_methods_stay_inside_the_picture(tmp_path):
    there, name = records(experiment(tmp_path, TEXT + CHART)), "mean of all other samples"
    small = experiment(tmp_path, (TEXT + CHART).replace('"mean"', f'"{name}"'))
    svg = ET.fromstring(chart_svg(summarise(small, there)))
    [label] = [one for one in svg if one.text == name]
    assert float(label.get("x")) + 6 * len(name) < float(svg.get("width"))


def test_a_method_has_one_colour_and_its_variants_have_dashes():
    looks = _pages._line_classes(
        ["CVKT", "MKC", "CVKT, ridge", "C-AMKL", "C-AMKL as printed", "average kernel"]
    )
    assert looks == {
        **{"CVKT": "c0 d0", "CVKT, ridge": "c0 d1", "MKC": "c1 d0"},
        **{"C-AMKL": "c2 d0", "C-AMKL as printed": "c2 d1", "average kernel": "c3 d0"},
    }
    for one in list_experiments().values():
        looks = _pages._line_classes([column.name for column in one.columns])
        if one.chart:
            assert len(set(looks.values())) == len(looks), one.name
