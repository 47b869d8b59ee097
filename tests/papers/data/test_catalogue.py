"""The catalogue is sound, and the page of the docs says what it says."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from absentia import datasets, papers
from absentia.papers import CATALOGUE

PAGE = Path(__file__).parents[3] / "docs" / "data.md"


def table_lines():
    """The catalogue as the table of ``docs/data.md``, line by line."""
    yield "| name | what | size | licence | citation | from | used in |"
    yield "|---|---|---|---|---|---|---|"
    for name, entry in CATALOGUE.items():
        first = [file.addresses[0] for file in entry.files if file.addresses]
        by_hand = [file.name for file in entry.files if not file.addresses]
        more = f" and {len(first) - 1} more" if len(first) > 1 else ""
        where = [f"`{first[0]}`{more}"] if first else []
        where += [f"by hand: {', '.join(f'`{file}`' for file in by_hand)}"] if by_hand else []
        home = f"[page]({entry.page}); {'; '.join(where)}"
        cells = f"`{name}`", entry.what, entry.size, entry.licence, entry.citation, home, entry.used
        yield f"| {' | '.join(cells)} |"


def test_the_page_has_the_table_of_the_catalogue():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert lines == list(table_lines())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_is_complete(name):
    entry = CATALOGUE[name]
    assert re.fullmatch(r"\w+", name)
    assert all((entry.what, entry.size, entry.licence, entry.citation, entry.used, entry.files))
    assert "|" not in "".join((entry.what, entry.size, entry.licence, entry.citation, entry.used))
    for address in (entry.page, *(address for file in entry.files for address in file.addresses)):
        parts = urlsplit(address)
        assert parts.scheme in ("http", "https")
        assert parts.netloc
        assert " " not in address
    names = [name for file in entry.files for name in (file.name, *file.instead)]
    assert len(set(names)) == len(names)
    for one in names:  # which becomes a file in a folder of ours
        assert re.fullmatch(r"[\w+-][\w.+-]*", one)
    if entry.shape is not None:
        assert entry.size.startswith(str(entry.shape[0]))


def test_what_was_at_hand_before_is_in_it():
    shared = {
        "mfeat",
        "uwave_train",
        "ml_emotions",
        "ml_scene",
        *(f"uci_{x}" for x in ("heart", "pima", "wdbc")),
    }
    assert shared <= set(CATALOGUE) & set(datasets.BENCHMARKS)


def test_it_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        papers.CATALOGUE["x"] = None
