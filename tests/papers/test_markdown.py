"""The page of an experiment in Markdown."""

from absentia.papers._markdown import markdown
from absentia.papers._summary import summarise
from helpers.small_experiment import TEXT, experiment, records


def page(tmp_path, text=TEXT, **options):
    small = experiment(tmp_path, text)
    return markdown(summarise(small, records(small)), **options)


def test_tables_have_both_numbers_marks_and_signs(tmp_path):
    text = page(tmp_path)
    assert "|  | zero | mean | entries | oracle† |" in text
    assert "| 0.25 missing | 0.50 (0.50) ≡ | **0.32** (0.40±0.10) = | " in text
    assert "| half missing | 0.71 (0.60) − | **0.41** | <u>0.41</u> | - |" in text
    assert "| half missing | zero | 0.60 | 0.71 | 0.01 | +0.11 | not reproduced |" in text
    assert "| more missing | mean | 0.60 | - | - | - | not run |" in text


def test_the_page_says_what_came_of_it_how_and_from_what(tmp_path):
    text = page(
        tmp_path,
        TEXT.replace('departures = ["It is small."]', 'departures = ["It is small."]\nwhy = ["Because."]'),
    )
    assert (
        "**Of 5 published numbers 2 reproduced, 1 not reproduced, 2 not run. Of 2 claims 1 holds.**\nBecause."
        in text
    )
    assert "* It is small." in text
    assert "$ absentia reproduce small --repeats 10" in text
    assert "MeanFill `of MeanFill`, ZeroFill `of ZeroFill`" in text
    assert "† is told what is hidden" in text
    assert "21 trials, 3 repeats, 42 CPU seconds" in text
    assert "| mean beats zero | +0.1 | +0.24" in text
    assert "| 0.027 | 6 | holds |" in text


def test_a_small_run_says_so_and_a_picture_is_shown(tmp_path):
    assert "**A run in small" in page(tmp_path, quick=True)
    assert "A run in small" not in page(tmp_path)
    assert "![a small one](small.svg)" in page(tmp_path, picture="small.svg")
