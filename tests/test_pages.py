"""Every block of the README and of the docs runs as printed, in a folder with the files that it names.

What cannot run here (clusters, downloads, hours of benchmarks, files that readers have) is read: its verbs,
flags, methods, experiments, targets of the Makefile and imports exist.
"""

import ast
import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

import absentia
from absentia import ViewKernels, Views, datasets
from absentia.app.cli import _main
from absentia.methods.catalogue import CATALOGUE
from helpers.command_line import run

ROOT = Path(__file__).parent.parent
FOLDERS = ("", "start/", "tutorials/", "howto/", "explanation/", "reference/")
PAGES = [
    "README.md",
    *sorted(f"docs/{f}{p.name}" for f in FOLDERS for p in (ROOT / "docs" / f).glob("*.md")),
]
#: Notebooks, which tests/test_notebooks.py runs.
NOTEBOOKS = {
    page for page in PAGES if (ROOT / page).read_text(encoding="utf-8").startswith("---\nfile_format")
}


def blocks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```(python|sh)\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """What people are said to have: a cohort (the README makes its own), wide tables, containers."""
    monkeypatch.chdir(tmp_path)
    cohort = datasets.make_cohort()
    wide = pd.concat(cohort.tables.values(), axis=1).rename_axis("patient")
    wide.to_csv("wide.csv")
    cohort.labels.to_csv("labels.csv")
    page = (ROOT / "docs/prediction.md").read_text(encoding="utf-8")
    Path("costs.csv").write_text(re.search(r"```\n(,Basal.*?)```", page, re.DOTALL)[1])
    kernels = ViewKernels().fit_transform(Views.from_dict(cohort.tables))
    scipy.io.savemat("kernels.mat", {"KH": np.moveaxis(kernels.to_dense(), 0, 2)})
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    numeric = {"rna": cohort.tables["expression"], "protein": cohort.tables["methylation"]}
    with warnings.catch_warnings(action="ignore"):
        mdata = mudata.MuData({name: anndata.AnnData(table) for name, table in numeric.items()})
        for name in ("cohort.h5mu", "cells.h5mu"):
            mdata.write(name)
    return tmp_path


def given():
    """Names that the short pages take for granted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    M = X @ rng.normal(size=(4, 6))
    M[rng.random(M.shape) < 0.2] = np.nan
    Y = np.where(X[:, :2] > 0, 1.0, 0.0)
    Y[:5, 0] = np.nan
    return {
        **{name: getattr(absentia, name) for name in absentia.__all__},
        "X": X,
        "M": M,
        "Y": Y,
        "K": X @ X.T,
        "X_new": X[:3],
    }


def commands(block):
    """The lines of a shell block that call the command line."""
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["absentia"]]


@pytest.mark.slow_params(
    "docs/howto/clusters.md",
    "docs/howto/groups.md",
    "docs/howto/new-samples.md",
    "docs/howto/r.md",
    "docs/howto/save.md",
    "docs/howto/sets.md",
    "docs/howto/tune.md",
    "docs/howto/values.md",
    "README.md",
    "docs/start/index.md",
    "docs/amkl.md",
    "docs/compare.md",
    "docs/coverage.md",
    "docs/files-containers.md",
    "docs/inspection.md",
    "docs/models.md",  # run by tests/methods/test_models.py
    "docs/pma.md",
    "docs/prediction.md",
    "docs/recipes.md",
    "docs/regression.md",
    "docs/results.md",
    "docs/scale.md",
    "docs/survival.md",
)
@pytest.mark.parametrize("page", [page for page in PAGES if page not in NOTEBOOKS])
def test_every_block_runs(page, files):
    if page not in ("README.md", "docs/start/index.md"):  # which make the cohort
        datasets.write_cohort(files / "breast", files / "newpatients")
    space = given() if page not in ("README.md", "docs/results.md", "docs/start/index.md") else {}
    for kind, block in blocks(page):
        needs = re.match(r"# needs: (.*)\n", block)
        if needs and not all(map(find_spec, needs[1].split(", "))):
            continue  # the other blocks of the page run
        if kind == "sh":
            for words in commands(block):
                said = run(*words)
                assert said.returncode == 0, (words, said.stderr)
        else:
            with warnings.catch_warnings(action="ignore"):  # of what is made-up and small
                exec(compile(block, page, "exec"), space)


#: All that has commands and code in it, beside these pages.
TEXTS = [*PAGES, "CONTRIBUTING.md", "SUPPORT.md", "SECURITY.md", "contrib/README.md", "paper/paper.md",
         *sorted(f"docs/reproduction/{p.name}" for p in (ROOT / "docs/reproduction").glob("*.md"))]  # fmt: skip
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def shell_lines(page):
    """Lines of a page that go into a shell: of its blocks, and whole commands within sentences."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [
        block for kind, block in FENCE.findall(text) if kind.startswith(("sh", "console", "text", "{code"))
    ]
    lines = re.findall(
        r"^(?:\$ |!)?((?:absentia|make|python|\S*/python|[A-Z_]+=\S+) .*)", "\n".join(blocks), re.M
    )
    inline = re.findall(r"(?<!`)`(absentia [a-z]+ [^`]+)`(?!`)", FENCE.sub("", text))
    return [shlex.split(line, comments=True) for line in [*lines, *inline]]


def check_command(words):
    """A command has the verb, the flags, the methods and the experiment that it names."""
    verb = words[0]
    assert verb in _main._VERBS, words
    _main._command_line(verb).parse_args(words, print_error=False, exit_on_error=False)
    for i, word in enumerate(words):
        if word in ("--method", "--methods"):
            named = [w for w in words[i + 1 :] if w != "..."]
            stop = next((k for k, w in enumerate(named) if w.startswith("-")), len(named))
            named = named[: 1 if word == "--method" else stop]
            assert {n.partition("(")[0] for n in named} <= {e.name for e in CATALOGUE} | {"METHOD"}, words
    if verb == "reproduce" and not words[1].startswith("-") and words[1] not in ("NAME", "all"):
        assert (ROOT / "experiments" / f"{words[1]}.toml").exists(), words


@pytest.mark.parametrize("page", TEXTS)
def test_commands_of_a_page_are_understood(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for words in shell_lines(page):
        while re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        if words[0] == "absentia":
            check_command(words[1:])
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M) or f" {words[1]}:" in makefile, words
        elif words[1].endswith(".py"):
            source = (ROOT / words[1]).read_text(encoding="utf-8")
            source += (ROOT / "benchmarks/common.py").read_text(encoding="utf-8")
            assert [w for w in words[2:] if w.startswith("--") and f'"{w}"' not in source] == [], words


@pytest.mark.parametrize("page", TEXTS)
def test_what_code_of_a_page_imports_is_there(page):
    for kind, block in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        if not kind.startswith(("py", "console", "{code-cell}")):
            continue
        prompts = re.findall(r"^(?:>>>|\.\.\.) ?(.*)", block, re.M)
        code = "\n".join(prompts) if kind == "console" else re.sub(r"^[!:].*", "", block, flags=re.M)
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "absentia":
                exec(ast.unparse(node), {})


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_points_at_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"\b((?:benchmarks|tests|docs|src)/[\w/]+\.(?:py|md|svg|png))\b", text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\(([\w./-]+\.(?:md|svg|png))\)", text):
        made = link.startswith(("commands/", "../gallery/"))  # when the site is built
        assert made or (ROOT / page).parent.joinpath(link).exists(), link


def test_what_the_start_says_of_the_cohort_is_so(files):
    datasets.write_cohort(files / "breast", files / "newpatients")
    text = (ROOT / "docs/start/index.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(breast  Views: .*?)```", text, re.DOTALL)[1]
    said = run("inspect", "breast", "--labels", "labels.csv:subtype").stdout
    assert [" ".join(line.split()) for line in shown.splitlines()] == [
        " ".join(line.split()) for line in said.splitlines()[: len(shown.splitlines())]
    ]


def test_the_readme_is_one_screen():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) <= 600
