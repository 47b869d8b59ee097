"""The floor plan: imports go downwards only, and importing absentia is light."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
import types
from functools import cache
from pathlib import Path

import pytest

import absentia

SOURCE = Path(absentia.__file__).parent

#: From the cellar up; a package imports from its own floor and from those below.
FLOORS = [
    "core",
    "data",
    "kernels",
    "files",
    "datasets",
    "methods",
    "testing",
    "tasks",
    "experiment",
    "papers",
    "app",
]
#: Packages of methods do not import one another.
SEPARATE = ["completion", "learning", "matrix"]


def imports(tree):
    """Modules of absentia that a module imports, wherever in the file, as tuples of their path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "absentia":
            path = tuple(node.module.split("."))[1:]
            yield from ((*path, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(a.name.split("."))[1:] for a in node.names if a.name.startswith("absentia."))


def room(path):
    """The package of methods that a module belongs to, if any."""
    return path[1] if len(path) > 1 and path[0] == "methods" and path[1] in SEPARATE else None


def fault(here, there):
    """What is wrong with module `here` importing `there`, if anything."""
    if there[0] not in FLOORS:
        return None  # absentia itself
    if FLOORS.index(there[0]) > FLOORS.index(here[0]):
        return "goes up"
    if room(here) and room(there) and room(here) != room(there):
        return "goes sideways"
    private = next((i for i, part in enumerate(there) if part.startswith("_")), None)
    if private is not None and here[:private] != there[:private]:
        return "opens a private module of another package"
    return None


@cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def wrong_imports(source):
    found = []
    for path in sorted(source.rglob("*.py")):
        here = path.relative_to(source).with_suffix("").parts
        if here[0] in ("__init__", "__main__"):
            continue
        for there in imports(parse(path)):
            problem = fault(here, there)
            if problem:
                found.append(f"{'.'.join(here)} imports {'.'.join(there)}: {problem}")
    return found


def test_imports_go_downwards_only_and_through_the_front_doors():
    assert wrong_imports(SOURCE) == []


def test_that_test_can_fail(tmp_path):
    for folder in ("core", "files", "methods/completion/mkmc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "core" / "_linalg.py").write_text("def f():\n    from absentia.data import Views\n")
    (tmp_path / "methods" / "completion" / "mkmc" / "_fast.py").write_text(
        "from absentia.methods.matrix import x\nimport absentia.app.cli\n"
        "from absentia.methods.completion import _fill\n"
    )
    (tmp_path / "files" / "_npz.py").write_text("from absentia.core import cholesky, _linalg\n")
    assert wrong_imports(tmp_path) == [
        "core._linalg imports data.Views: goes up",
        "files._npz imports core._linalg: opens a private module of another package",
        "methods.completion.mkmc._fast imports methods.matrix.x: goes sideways",
        "methods.completion.mkmc._fast imports app.cli: goes up",
    ]


def foreign_imports(source):
    """What the papers' package imports of the rest of absentia that is not public.

    Public are the names of the stub and what modules among them hand on, `testing`, the chart kit, the base of methods (see
    CONTRIBUTING) and the engine of trials.
    """
    modules = {
        f"{package}.{name}".removeprefix("absentia.")
        for public, (package, name) in absentia._HOME.items()
        if public and isinstance(getattr(absentia, public), types.ModuleType)
    }
    beside = ("testing", "core.svg", "methods.base", "experiment.engine")
    found = []
    for path in sorted(source.rglob("*.py")):
        for there in imports(parse(path)):
            module, name = ".".join(there[:-1]), there[-1]
            own = there[0] == "papers"
            public = name in absentia.__all__ if not module else module in (*modules, *beside)
            if not own and (not public or name.startswith("_")):
                found.append(f"{path.relative_to(source).as_posix()} imports {'.'.join(there)}")
    return found


def test_papers_are_written_with_public_names_alone():
    assert foreign_imports(SOURCE / "papers") == []


def test_that_test_can_fail_too(tmp_path):
    (tmp_path / "_x.py").write_text(
        "from absentia import Views, metrics, nothing\nfrom absentia.files import FileError, _npz\n"
        "from absentia.core import check_name\nfrom absentia.data import metrics\n"
        "from absentia.experiment.engine import Pool\nfrom absentia.papers._cells import Cell\n"
    )
    assert foreign_imports(tmp_path) == [
        "_x.py imports nothing",
        "_x.py imports files._npz",
        "_x.py imports core.check_name",
        "_x.py imports data.metrics",
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


def heavy_modules_after(statement, before="pass"):
    code = f"import sys; {before}; known = set(sys.modules); {statement}; "
    code += f"print([m for m in {HEAVY} if m in sys.modules.keys() - known])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(result.stdout)


def test_importing_absentia_is_light():
    assert heavy_modules_after("import absentia; assert 'numpy' not in sys.modules") == []


def test_using_it_brings_nothing_that_scikit_learn_does_not_bring_itself():
    sklearn = "import sklearn.svm, sklearn.datasets, sklearn.metrics.pairwise"
    everything = "import absentia; [getattr(absentia, name) for name in absentia.__all__]"
    assert heavy_modules_after(everything, before=sklearn) == []


def test_the_core_needs_nothing_optional():
    """Import and fit with every optional package made impossible to import."""
    code = f"""
import sys
import tomllib
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
    import absentia.app.cli._main
except SystemExit as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    fitted, cli = result.stdout.splitlines()
    assert fitted == "True"
    assert "pip install cyclopts rich" in cli


def test_the_public_names_are_those_of_the_stub():
    for name in absentia.__all__:
        assert getattr(absentia, name) is not None
    assert set(absentia.__all__) <= set(dir(absentia))
    with pytest.raises(AttributeError, match=r"absentia has no 'MKMD'; it has .*MKMC"):
        absentia.MKMD  # noqa: B018


@pytest.mark.slow
def test_public_modules_are_imported_by_their_public_names():
    code = (
        "from absentia.statistics import holm; import absentia.io, absentia.metrics as metrics, absentia; "
        "assert absentia.statistics.holm is holm; assert metrics is absentia.metrics; "
        "assert absentia.metrics.__spec__.name == 'absentia.data.metrics'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    for name in ("absentia.MKMC", "absentia.nothing"):
        with pytest.raises(ModuleNotFoundError, match=name):
            importlib.import_module(name)


def test_every_module_says_what_it_is_for():
    for path, tree in modules().items():
        assert ast.get_docstring(tree), path


def test_nothing_prints_outside_the_command_line():
    for path, tree in modules().items():
        if path.relative_to(SOURCE).parts[0] == "app":
            continue
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


# --------------------------------------------------------------------------------------- the size of rooms

LONGEST_FUNCTION = 50


@cache
def modules():
    return {path: parse(path) for path in sorted(SOURCE.rglob("*.py"))}


def test_no_function_is_too_long_to_read():
    for path, tree in modules().items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert [f.name for f in functions if code_lines(f) > LONGEST_FUNCTION] == [], path


def code_lines(function):
    """Lines of a function from its name to its end; words about many parameters do not count."""
    first = function.body[0]
    words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if words else 0)


@pytest.mark.parametrize("folder", ["benchmarks", "fuzz"])
def test_what_stands_beside_the_package_finds_what_it_imports(folder):
    scripts = sorted((Path(__file__).parent.parent / folder).glob("*.py"))
    assert scripts
    for script in scripts:
        for path in imports(ast.parse(script.read_text(encoding="utf-8"))):
            found = absentia
            for name in path:
                found = getattr(found, name, None) or importlib.import_module(f"{found.__name__}.{name}")


def test_what_is_declared_is_what_is_run():
    """The oldest versions that are allowed are those that `make test-oldest` installs."""
    root = Path(__file__).parent
    if not (root.parent / "pyproject.toml").exists():
        pytest.skip("the tests are not beside the source")
    project = tomllib.loads((root.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    said = [
        *project["dependencies"],
        *(line for name in ("io", "dask", "fetch", "fast") for line in extras[name]),
    ]
    allowed = dict(re.sub(r"\[.*?\]", "", line).split(">=") for line in said)
    lines = (root / "oldest.txt").read_text().split()
    run = dict(line.split("==") for line in lines if not line.startswith("distributed"))  # comes with dask
    assert allowed.keys() == run.keys()
    for name, version in allowed.items():
        assert f"{run[name]}.".startswith(f"{version}."), name


def test_what_the_makefile_runs_exists():
    """A path that is gone makes pytest run nothing at all."""
    makefile = Path(__file__).parent.parent / "Makefile"
    if not makefile.exists():
        pytest.skip("the tests are not beside the source")
    paths = re.findall(r"(?:tests|benchmarks|examples)/[\w/]+(?:\.\w+)?", makefile.read_text())
    assert paths
    assert [path for path in paths if not (makefile.parent / path).exists()] == []
