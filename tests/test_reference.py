"""The reference: every public name is on its page, everything on the page exists and has an example."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import absentia

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
MODULES = {name for name in absentia.__all__ if inspect.ismodule(getattr(absentia, name))}


def names_on_page():
    """Module and name of each line below an ``autosummary``."""
    found = []
    for module, block in re.findall(r"currentmodule:: ([\w.]+)\n(.*?)```", PAGE, re.DOTALL):
        found += [(module, name) for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    return found


ON_PAGE = names_on_page()


def test_what_is_on_the_page_is_there_once():
    assert len(set(ON_PAGE)) == len(ON_PAGE)
    missing = [f"{m}.{n}" for m, n in ON_PAGE if not hasattr(importlib.import_module(m), n)]
    assert missing == []


def test_every_public_name_is_on_the_page():
    top = {name for name in absentia.__all__ if name not in MODULES and not name.startswith("_")}
    assert top - {name for module, name in ON_PAGE if module == "absentia"} == set()
    assert MODULES - {module.removeprefix("absentia.") for module, _ in ON_PAGE} == set()


def test_every_picture_is_on_the_page():
    listed = {name for module, name in ON_PAGE if module == "absentia.plots"}
    assert {name for name in vars(absentia.plots) if name.endswith("Display")} - {"Display"} == listed


@pytest.mark.parametrize(("module", "name"), ON_PAGE, ids=lambda x: x)
def test_every_name_has_an_example(module, name):
    assert ">>> " in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")


def test_messages_are_those_of_the_source():
    text = (ROOT / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src" / "absentia").rglob("*.py"))
    quoted = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(quoted) > 15
    assert [part for part in quoted if part not in source] == []
