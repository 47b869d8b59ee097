"""The floor plan: imports go downwards only, and importing absentia is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import absentia

SOURCE = Path(absentia.__file__).parent

FLOORS = [
    {"linalg", "operators", "distributed", "solve", "randomness", "choices", "threads"},
    {
        "files",
        "presence",
        "views",
        "kernelviews",
        "viewkernel",
        "kernels",
        "missingness",
        "metrics",
        "multilabel",
        "io",
        "rows",
        "labels",
        "tables",
        "datasets",
    },
    {"base", "completion", "classification", "matrix"},
    {
        "models",
        "validation",
        "report",
        "methods",
        "calls",
        "terminal",
        "endings",
        "demo",
        "cli",
        "cli_fit",
        "cli_matrix",
    },
]
SEPARATE = {"completion", "classification", "matrix"}  # these do not import one another


def floor_of(part):
    return next(level for level, parts in enumerate(FLOORS) if part in parts)


def part_of(path, source=SOURCE):
    relative = path.relative_to(source)
    return relative.parts[0].removesuffix(".py")


def imports(tree):
    """Parts of absentia that a module imports, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "absentia":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("absentia."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("absentia."))


def upward_imports(source):
    """Every import that goes up, or sideways between methods."""
    found = []
    for path in sorted(source.rglob("*.py")):
        part = part_of(path, source)
        if part in ("__init__", "__main__"):
            continue
        for target in imports(ast.parse(path.read_text())):
            sideways = part in SEPARATE and target in SEPARATE and part != target
            if floor_of(target) > floor_of(part) or sideways:
                found.append(f"{path.relative_to(source)} imports {target}")
    return found


def test_imports_go_downwards_only():
    assert upward_imports(SOURCE) == []


def test_that_test_can_fail(tmp_path):
    (tmp_path / "completion").mkdir()
    (tmp_path / "linalg.py").write_text("def f():\n    from absentia.views import Views\n")
    (tmp_path / "completion" / "mkmc.py").write_text(
        "from absentia.matrix.model import x\nimport absentia.cli\n"
    )
    (tmp_path / "io.py").write_text("from absentia import linalg, base\n")
    assert upward_imports(tmp_path) == [
        "completion/mkmc.py imports matrix",
        "completion/mkmc.py imports cli",
        "io.py imports base",
        "linalg.py imports views",
    ]


HEAVY = [
    "pandas",
    "matplotlib",
    "plotly",
    "dask",
    "distributed",
    "mudata",
    "zarr",
    "jinja2",
    "PIL",
    "rich",
    "cyclopts",
]


def heavy_modules_after(statement):
    code = f"import sys; {statement}; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(result.stdout)


def test_importing_absentia_is_light():
    assert heavy_modules_after("import absentia; assert 'numpy' not in sys.modules") == []


def test_using_it_brings_nothing_that_scikit_learn_does_not_bring_itself():
    everything = "import absentia; [getattr(absentia, name) for name in absentia.__all__]"
    brought = heavy_modules_after("import sklearn.svm, sklearn.datasets, sklearn.metrics.pairwise")
    assert set(heavy_modules_after(everything)) <= set(brought)


def test_the_core_needs_nothing_optional():
    """Import and fit with every optional package made impossible to import."""
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from absentia import MKMC, ViewKernels, datasets, missingness
views = datasets.load_digit_views(n_samples=30).views
kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.2, random_state=0)))
print(MKMC(n_components=3).fit_transform(kernels).observed.all())
try:
    import absentia.cli
except SystemExit as error:
    print(error)
from absentia import report
import numpy as np
one = np.ones((1, 1, 1))
try:
    report.render(report.CompletionStory("t", "s", ["a"], np.ones((1, 1), bool), one, {{"m": one}}))
except ImportError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    fitted, cli, report = result.stdout.splitlines()
    assert fitted == "True"
    assert "absentia[cli]" in cli
    assert "absentia[report]" in report


def test_the_public_names_are_listed_once_for_people_and_once_for_type_checkers():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {
        alias.asname: (node.module or "").removeprefix("absentia").removeprefix(".")
        for node in guarded.body
        for alias in node.names
    }
    assert typed == absentia._HOME
    for name in absentia.__all__:
        assert getattr(absentia, name) is not None
    with pytest.raises(AttributeError, match=r"absentia has no 'MKMD'; it has .*MKMC"):
        absentia.MKMD  # noqa: B018


def test_every_module_says_what_it_is_for():
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_nothing_prints_outside_the_command_line():
    for path in SOURCE.rglob("*.py"):
        if part_of(path) == "cli":
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path
