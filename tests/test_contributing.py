"""What CONTRIBUTING.md shows is whole: added as it says, it passes the checks, and all commands know it."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

import absentia
from absentia import ViewKernels, io, models, testing
from absentia.files import _reading as reading
from absentia.kernels import KERNELS
from absentia.methods import catalogue
from absentia.tasks import TASKS
from helpers import matrix_registry, registry
from helpers.command_line import refused, run
from helpers.comparison_problems import made_views, targets

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
TASK_OF = {"A classifier": "classes", "A regressor": "numbers", "A survival model": "survival"}
CHECK_OF = {
    "A completer": testing.check_completer,
    "A classifier": testing.check_classifier,
    "A regressor": testing.check_regressor,
    "A survival model": testing.check_survival,
}
pytestmark = pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")


def code(section, language="python"):
    return re.search(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)[1]


def shown(section, what):
    """What a section shows as the entry, or the line."""
    return re.search(rf"^\* The {what}.*?: `(.*)`$", SECTIONS[section], re.MULTILINE)[1]


@pytest.fixture
def add(monkeypatch):
    """Adds what a section shows: its module and, of methods, the entry to the catalogue; gives the last of these."""

    def add_method(section):
        path = re.search(r"All of it, in `src/([\w/]+)\.py`", SECTIONS[section])[1].replace("/", ".")
        module = types.ModuleType(path)
        monkeypatch.setitem(sys.modules, path, module)
        exec(compile(code(section), "CONTRIBUTING.md", "exec"), module.__dict__)
        if section not in CHECK_OF:
            return module
        place = re.search(r"^\* The entry, in `(\w+)\.py`", SECTIONS[section], re.MULTILINE)[1]
        entry = eval(shown(section, "entry"), vars(getattr(catalogue, place)))
        assert module.__name__ == f"absentia.methods.{entry.where.partition(':')[0]}"
        monkeypatch.setattr(catalogue, "CATALOGUE", (*catalogue.CATALOGUE, entry))
        return entry

    return add_method


@pytest.fixture
def folder(tmp_path):
    """Sixty patients in three views, twelve of them new, with something of each kind to predict."""
    views, factors = made_views(60)
    for task in TASK_OF.values():
        y = targets(task, factors)
        columns = {"time": y.time, "event": y.event.astype(int)} if task == "survival" else {"y": y}
        pd.DataFrame(columns, index=views.ids).to_csv(tmp_path / f"{task}.csv", index_label="id")
    io.write(tmp_path / "train.npz", views[:48])
    io.write(tmp_path / "new.npz", views[48:])
    return tmp_path


def test_there_is_a_section_for_everything_that_can_be_added():
    others = {"A kernel", "A file reader", "A matrix model", "A table of a paper"}
    assert set(SECTIONS) >= {*CHECK_OF, *others}


@pytest.mark.parametrize("section", CHECK_OF)
def test_every_method_passes_its_checks_and_stands_in_the_registry(section, add):
    entry = add(section)
    CHECK_OF[section](entry.make())
    name = re.search(r"^\* The line, in `(\w+)`", SECTIONS[section], re.MULTILINE)[1]
    line = eval(f"{{{shown(section, 'line')}}}", {entry.load().__name__: entry.load()})
    assert not set(line) & set(getattr(registry, name))
    assert type(next(iter(line.values()))) is entry.load()


@pytest.mark.slow
def test_the_classifier_passes_with_probabilities_too(add):
    testing.check_classifier(add("A classifier").make(probability=True))


@pytest.mark.parametrize("section", TASK_OF)
def test_every_learner_is_fitted_judged_saved_applied_and_compared(section, add, folder):
    entry, task = add(section), TASK_OF[section]
    labels = f"{task}.csv:{'time,event' if task == 'survival' else 'y'}"
    call = ["fit", "train.npz", "--labels", labels, "--method", entry.name, "-o", "m.absentia"]
    done = run(*call, "--ghosts", "0.5", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"{entry.name}: 48 samples, 3 views" in done.stdout
    assert TASKS[task].prior_name in done.stdout
    refused(run(*call, "--ghosts", "-1", "--force", cwd=folder), "--ghosts is a number")
    assert run("predict", "m.absentia", "new.npz", "-o", "p.csv", cwd=folder).returncode == 0
    written = pd.read_csv(folder / "p.csv", index_col=0)
    said = models.load(folder / "m.absentia").predict(io.read(folder / "new.npz"))
    if task == "classes":
        assert written["predicted"].tolist() == said.tolist()
    else:
        column = "risk" if task == "survival" else "predicted"
        np.testing.assert_allclose(written[column], said, rtol=1e-4, atol=1e-6)
    views = io.read(folder / "train.npz")
    table = pd.read_csv(folder / f"{task}.csv", index_col=0).loc[views.ids]
    y = table if task == "survival" else table["y"]
    compared = absentia.compare(views, y, methods=[entry.name], repeats=1, cv=3, n_jobs=1).table()
    assert compared.loc[entry.name, ["fits", "failed", "remark"]].tolist() == [3, 0, ""]


def test_the_completer_completes_and_is_compared(add, folder):
    entry = add("A completer")
    call = ["complete", "train.npz", "--method", entry.name, "--share", "0.25", "-o", "done.npz"]
    done = run(*call, "--no-quality", cwd=folder)
    assert done.returncode == 0, done.stderr
    views = io.read(folder / "train.npz")
    wanted = entry.make(share=0.25).fit_transform(ViewKernels().fit_transform(views)).to_dense()
    np.testing.assert_allclose(io.read(folder / "done.npz").to_dense(), wanted)
    table = absentia.compare(views, methods=[entry.name], repeats=2, n_jobs=1).table()
    assert table.loc[entry.name, ["fits", "failed"]].tolist() == [2, 0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_matrix_model_completes_and_is_saved(add, tmp_path):
    imputer = add("A matrix model").ColumnMean()
    testing.check_imputer(imputer)
    check_estimator(imputer)
    X = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, np.nan]])
    np.testing.assert_allclose(imputer.fit_transform(X), [[1, 2], [2, 4], [3, 3]])
    models.save(imputer, tmp_path / "m.absentia")
    np.testing.assert_allclose(models.load(tmp_path / "m.absentia").transform(X), imputer.transform(X))
    line = eval(f"{{{shown('A matrix model', 'line')}}}", {"ColumnMean": type(imputer)})
    assert not set(line) & set(matrix_registry.IMPUTERS)


def test_the_kernel_is_made_of_features_by_its_name(folder, monkeypatch):
    home = vars(sys.modules[type(KERNELS["rbf"]).__module__]).copy()
    exec(code("A kernel"), home)
    for name, kernel in eval(f"{{{shown('A kernel', 'entry')}}}", home).items():
        monkeypatch.setitem(KERNELS, name, kernel)
    K = ViewKernels("cauchy").fit_transform(io.read(folder / "train.npz")).block("view0")
    np.testing.assert_allclose(K.diagonal(), 1)
    assert 0 < K.min() < 0.5
    assert np.linalg.eigvalsh(K).min() > 0
    done = run("complete", "train.npz", "--kernel", "cauchy", "--no-quality", "-o", "k.npz", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_reader_reads_and_says_what_is_wrong(add, tmp_path, monkeypatch):
    add("A file reader")
    for ending, reader in eval(f"{{{shown('A file reader', 'entry')}}}").items():
        monkeypatch.setitem(reading.READERS, ending, reader)
    (tmp_path / "data.json").write_text(
        '{"a": {"s1": {"x": 1, "y": 2}, "s2": {"x": 3, "y": 5}}, "b": {"s2": {"z": 1}}}'
    )
    views = absentia.read(tmp_path / "data.json")
    assert views.names == ("a", "b")
    np.testing.assert_array_equal(views.observed, [[True, False], [True, True]])
    assert run("inspect", "data.json", cwd=tmp_path).returncode == 0
    (tmp_path / "broken.json").write_text("{")
    refused(run("inspect", "broken.json", cwd=tmp_path), "broken.json")


def test_the_table_of_a_paper_is_reproduced(tmp_path):
    (tmp_path / "fills.toml").write_text(code("A table of a paper", "toml"), encoding="utf-8")
    done = run("reproduce", "fills.toml", "--quick", "--jobs", "1", "-o", "pages", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "fills.md").read_text(encoding="utf-8")
    assert re.search(r"\| 0.2 missing \| zero \| 0.78 \| 0\.\d+ ", page)


def test_the_checks_are_called_as_shown():
    exec(code("Is it right? Estimator checks, in three lines"), {})


def test_the_places_that_the_text_names_exist():
    new = re.findall(r"All of it, in `(src/[\w/.]+)`", TEXT)
    for path in re.findall(r"`((?:src|tests)/[\w/.]+)`", TEXT):
        assert (path in new) != (ROOT / path).exists(), path
