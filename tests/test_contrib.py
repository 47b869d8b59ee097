"""Recipes and wrappers for other systems call what there is, with the version and the dependencies that there are."""

import re
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import absentia
from helpers.command_line import run

ROOT = Path(__file__).parent.parent
CONTRIB = ROOT / "contrib"
WRAPPERS = [*sorted(CONTRIB.glob("galaxy/absentia_*.xml")), *sorted(CONTRIB.glob("nextflow/*/main.nf"))]


def calls(text):
    """Verb and flags of each call of the command line, over several lines up to what ends it."""
    for verb, rest in re.findall(
        r"^ *absentia (\w+) (.*?)(?:&&|\]\]>|\n\n|$(?!\n))", text, re.DOTALL | re.MULTILINE
    ):
        yield verb, set(re.findall(r"(?<![\w-])--[a-z][\w-]*", rest))


@pytest.mark.parametrize("path", WRAPPERS, ids=lambda path: str(path.relative_to(CONTRIB)))
def test_flags_of_a_wrapper_are_flags_of_the_command(path):
    found = list(calls(path.read_text(encoding="utf-8")))
    assert found
    for verb, flags in found:
        known = run(verb, "--help").stdout
        assert flags <= set(re.findall(r"--[a-z][\w-]*", known)), (verb, flags)


def test_versions_are_the_one():
    version = absentia.__version__
    texts = [
        p.read_text(encoding="utf-8") for p in CONTRIB.rglob("*") if p.suffix in (".xml", ".yaml", ".yml")
    ]
    told = re.findall(r'(?:@TOOL_VERSION@">|\n  version: |absentia=)([\d.]+\d)', "\n".join(texts))
    assert told == [version] * 5
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_recipe_has_the_dependencies_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (CONTRIB / "conda/recipe.yaml").read_text(encoding="utf-8")
    oldest = re.search(r'python_min: "(.+)"', recipe)[1]
    recipe = recipe.replace("${{ python_min }}", oldest)
    listed = re.findall(r"^    - (.+)$", recipe.split("  run:\n")[1].split("\ntests:")[0], re.MULTILINE)
    wanted = [f"python {project['requires-python']}", *project["dependencies"]]
    assert [entry.replace(" ", "") for entry in listed] == [entry.replace(" ", "") for entry in wanted]


def test_galaxy_tools_are_tested_on_files_that_are_there():
    for path in CONTRIB.glob("galaxy/absentia_*.xml"):
        tests = ElementTree.parse(path).getroot().findall("tests/test")
        assert tests
        files = [
            name
            for test in tests
            for p in test.iter("param")
            if p.get("ftype")
            for name in p.get("value").split(",")
        ]
        assert files
        assert all((CONTRIB / "galaxy/test-data" / name).exists() for name in files)


def test_the_model_of_the_galaxy_test_predicts_what_is_expected(tmp_path):
    files, data = CONTRIB / "galaxy/test-data", tmp_path / "data"
    data.mkdir()
    for name in ("rna.csv", "protein.csv"):
        (data / name).write_bytes((files / name).read_bytes())
    said = run("predict", str(files / "model.absentia"), str(data), "-o", str(tmp_path / "predicted.csv"))
    assert said.returncode == 0, said.stderr
    lines = re.search(r'has_n_lines n="(\d+)"', (CONTRIB / "galaxy/absentia_predict.xml").read_text())[1]
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == int(lines)
