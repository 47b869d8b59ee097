"""A fingerprint changes with the source that a method is made of, and with no other."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

from absentia.experiment.engine import _fingerprint as module
from absentia.experiment.engine._fingerprint import ROOMS, closure, fingerprint

FILL, SVT, MMAF = "methods.completion._fill", "methods.completion._svt", "methods.learning._mmaf"


def forget():
    for cached in (fingerprint, module._imported, module._names, module._modules):
        cached.cache_clear()


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A copy of the package, to be changed."""
    shutil.copytree(
        module.SOURCE, tmp_path / "absentia", ignore=shutil.ignore_patterns("__pycache__", "app")
    )
    monkeypatch.setattr(module, "SOURCE", tmp_path / "absentia")
    forget()
    yield tmp_path / "absentia"
    forget()


def changed_by(source, place, names):
    """Which of these fingerprints a change of a file changes."""
    before = {name: fingerprint(name) for name in names}
    path = source / place
    path.write_text(path.read_text() + "\n# another line\n")
    forget()
    return {name for name in names if fingerprint(name) != before[name]}


def test_two_methods_differ_and_one_is_the_same_every_time():
    assert fingerprint(FILL) != fingerprint(SVT)
    first = fingerprint(FILL)
    forget()
    assert fingerprint(FILL) == first
    assert fingerprint(FILL, SVT) == fingerprint(SVT, FILL)
    assert fingerprint(FILL, SVT) not in (fingerprint(FILL), fingerprint(SVT))


def test_a_copy_elsewhere_has_the_same_fingerprint(source, monkeypatch):
    there = fingerprint(FILL)
    monkeypatch.undo()
    forget()
    assert fingerprint(FILL) == there


@pytest.mark.slow
def test_other_processes_have_the_same_fingerprint():
    code = f"from absentia.experiment.engine import fingerprint; print(fingerprint({FILL!r}, {MMAF!r}))"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == fingerprint(FILL, MMAF)


def test_a_changed_method_changes_itself_alone(source):
    assert changed_by(source, "methods/completion/_svt.py", [FILL, SVT, MMAF]) == {SVT}
    assert changed_by(source, "methods/learning/_mmaf.py", [FILL, SVT, MMAF]) == {MMAF}


def test_what_all_are_made_of_changes_all(source):
    assert changed_by(source, "core/linalg.py", [FILL, SVT, MMAF]) == {FILL, SVT, MMAF}
    assert changed_by(source, "methods/completion/_subspace.py", [FILL, SVT, MMAF]) == {FILL, SVT}


def test_lists_files_and_the_front_change_nothing(source):
    for place in ("methods/catalogue/__init__.py", "methods/models.py", "files/_npz.py", "__init__.py"):
        assert changed_by(source, place, [FILL, SVT, MMAF]) == set()


def test_no_method_hangs_on_the_list_of_methods():
    rooms = ("completion", "learning", "matrix", "prediction", "representation")
    places = [path for room in rooms for path in (module.SOURCE / "methods" / room).rglob("_[a-z]*.py")]
    assert len(places) > 50
    for path in places:
        name = ".".join(path.relative_to(module.SOURCE).with_suffix("").parts)
        found = closure([name])
        assert name in found
        assert not found & set(module.NOT_FOLLOWED), name


HOUSE = {
    "core/__init__": "from absentia.core.inner import deep\n",
    "core/inner/__init__": "from absentia.core.inner._deep import deep\n",
    "core/inner/_deep": "deep = 1\n",
    "data/__init__": "from absentia.data._a import A\nfrom absentia.data._b import B\nown = 1\n",
    "data/_a": "from absentia.core import deep\nimport numpy\nA = 1\n",
    "data/_b": "B = 1\n",
    "methods/__init__": "",
    "methods/catalogue": "from absentia.methods._m import f\n",
    "methods/_m": "def f():\n    from absentia.data import A\nfrom absentia.files import read\n",
    "methods/_n": "from absentia.data import own\n",
    "methods/_o": "from absentia.data import _b\nfrom absentia.methods.catalogue import x\n",
}


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A small package."""
    for name, text in HOUSE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(module, "SOURCE", tmp_path)
    forget()
    yield tmp_path
    forget()


def test_names_that_fronts_hand_on_lead_to_where_they_come_from(house):
    assert closure(["methods._m"]) == {"methods._m", "data._a", "core.inner._deep"}
    assert closure(["methods._o"]) == {"methods._o", "data._b"}


def test_what_a_front_has_of_its_own_leads_to_all_that_it_hands_on(house):
    assert closure(["methods._n"]) == {"methods._n", "data", "data._a", "data._b", "core.inner._deep"}


def test_line_ends_and_case_blind_file_systems_change_nothing(house, monkeypatch):
    (house / "data" / "_b.py").write_bytes(b"from absentia.core import INNER\nB = 1\n")
    before = fingerprint("data._b")
    (house / "data" / "_b.py").write_bytes(b"from absentia.core import INNER\r\nB = 1\r\n")
    (house / "core" / "INNER").symlink_to(house / "core" / "inner")  # as a case-blind one answers
    monkeypatch.setattr(module.Path, "rglob", lambda path, _: (house / f"{name}.py" for name in HOUSE))
    forget()
    assert fingerprint("data._b") == before


def test_there_is_no_import_that_it_would_not_see():
    """It reads ``from absentia... import``: the rooms that it follows use no other form."""
    other = []
    for room in ROOMS:
        for path in (module.SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                plain = isinstance(node, ast.Import) and any(
                    a.name.startswith("absentia") for a in node.names
                )
                relative = isinstance(node, ast.ImportFrom) and node.level > 0
                star = isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
                other += [f"{path}:{node.lineno}"] if plain or relative or star else []
    assert other == []
