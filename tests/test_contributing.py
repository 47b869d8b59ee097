"""The methods that CONTRIBUTING.md shows are whole: they work as printed, and the laws hold them."""

import re
import sys
import types
from pathlib import Path

import pytest

from absentia import testing
from absentia.methods.catalogue import Entry, classification, completion

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def shown(monkeypatch):
    """What the text shows as the module of that name."""

    def load(name):
        code = re.search(rf"/{name}\.py`:\n\n```python\n(.*?)```", TEXT, re.DOTALL)[1]
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(code, "CONTRIBUTING.md", "exec"), module.__dict__)
        return module

    return load


def test_the_completer_obeys_the_laws(shown):
    testing.check_completer(shown("_shrunken").ShrunkenFill())


@pytest.mark.parametrize("probability", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_classifier_obeys_the_laws(shown, probability):
    testing.check_classifier(shown("_nearest").Nearest(probability=probability))


@pytest.mark.parametrize(("maker", "module"), [("_completer", completion), ("_classifier", classification)])
def test_the_entries_are_entries(maker, module):
    line = re.search(rf"The entry: `({maker}\(.*?\))`", TEXT)[1]
    assert isinstance(eval(line, vars(module)), Entry)


def test_the_places_that_the_text_names_exist():
    root = Path(__file__).parent.parent
    for path in re.findall(r"`((?:src|tests)/[\w/.]+)`", TEXT):
        assert path.endswith(("_shrunken.py", "_nearest.py")) or (root / path).exists(), path
