"""``absentia predict``: from a model and new samples to a table.

What is done of predictions, kept beside the output until all are, so that a killed run can go on.

In ``.OUTPUT.unfinished/``: ``inputs``, the hash of all that predictions come from; ``lines``, whole blocks
of the table, one JSON text a line; and, for each view whose features are in chunks, an array of scores and
a file with a byte for each chunk whose scores are in it.  Nothing is read from there unless the hash is
that of the present inputs.  The output itself is written at the end, from ``lines``, whole or not at all.
"""

from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from cyclopts import Parameter

import absentia
from absentia.app._terminal import err, escape_text, out, say_json, say_paths, step_bar
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import STANDARD_OUTPUT, check_table

if TYPE_CHECKING:
    from absentia.core import Array
    from absentia.data import ChunkedTable
    from absentia.methods.inspection import Shift
    from absentia.methods.models import Model
    from absentia.tasks import Task

_NEW = Parameter(
    help=f"{flag.DATA_HELP} Views that all new samples lack may be left out. For a model of kernels an "
    ".npz file with K (views x new x training samples), ids and column_ids."
)
_BLOCK_BYTES = 32 * 2**20  # of kernels at a time when samples are predicted
_MAX_ROWS = 4096
_MAX_REMARKS = 5  # on how new samples differ from training, in the terminal


def predict(
    model: Path,
    new: Annotated[Path, _NEW],
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", allow_leading_hyphen=True)],
    source: flag.ReadOptions = flag.ReadOptions(),  # noqa: B008 - it is frozen
    coverage: flag.Coverage = None,
    dask: flag.Dask = None,
    json: flag.JSON = False,
    threads: flag.Threads = None,
    force: flag.Force = False,
) -> None:
    """Classify new samples from the views they have and write a table.

    Example: absentia predict model.absentia newpatients/ -o predicted.csv

    Columns: id, predicted, `probability=<class>` (or score, without probabilities), `view=<name>` (1 =
    had it), flag (empty if there is nothing to say); of numbers, predicted alone; of survival, risk
    (higher is worse) and `survival=<time>` instead of classes.  Predicted is the class with the largest
    probability, or with the largest probability times weight or the least expected cost, where the flag
    says the weights or costs.  With --coverage also set (classes that may be, a | b, or any), of numbers
    low and high, of survival low (the event is not expected before).  An id or a class that a spreadsheet
    would take for a formula (= + - @ first) stands behind an apostrophe.

    Parameters
    ----------
    model
        A model written by absentia fit.
    output
        The .csv or .parquet file to write; - prints the table. For .h5mu and .h5ad also a file of that
        kind, the one that came with predictions in obs.
    coverage
        The share of new samples, among those with the same views, whose class, number or time is to be
        among what is said: 0.9, say.
    """
    printed = output == STANDARD_OUTPUT
    check_table(output, [model, new], (".csv", ".parquet", *flag.container_endings(new)), json, force)
    from absentia.core import limit_threads

    fitted = load_model(model)
    if coverage is not None:
        check_calibration(model, fitted.classifier)
    source = replace(source, chunks=dask is not None or "auto")
    with flag.start_dask(dask), limit_threads(threads, len(fitted.classifier.ids_)):
        data = read_samples(fitted, new, source, model)
        rows = _count_block_rows(fitted)
        several = getattr(data, "chunked", False) or len(data) > rows
        hash_now = partial(hash_inputs, model, data, coverage, rows)
        keep = keep_unfinished(output, force, several and not printed, hash_now)
        with keep as kept, _model_errors(model, new):
            matched, shift = _matched_sentences(fitted, data), _compare_with_training(fitted, data)
            flagged, vacuous = _predict_blocks(output, fitted, data, new, coverage, rows, kept)
    if json:
        covered = {} if coverage is None else {"coverage": coverage, "nothing said": vacuous}
        document = {"samples": len(data), "flagged": flagged, "matched": matched, **covered}
        document["decision"] = next(iter(_decision_sentences(fitted)), None)
        document["shift"] = None if shift is None else shift.to_dict()
        return say_json(document | {"predictions": str(output)})
    done = f"{len(data)} samples {_find_task(fitted).predicted_words}, {flagged} flagged"
    sets = _coverage_sentences(fitted, coverage, vacuous, len(data))
    decided = _decision_sentences(fitted)
    before = ["gone on from where an earlier run had stopped"] if kept and kept.n_found else []
    for sentence in [*matched, *_shift_sentences(shift), *decided, *before, done, *sets]:
        (err if printed else out).print(escape_text(sentence), soft_wrap=True)
    return say_paths(predictions=None if printed else output)


@contextmanager
def _model_errors(model: Path, new: Path) -> Iterator[None]:
    """What goes wrong with new samples is said of these; what Python says of the model, of its file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{new}: {error}") from error
    except (TypeError, AttributeError, LookupError, ArithmeticError) as error:
        why = f"{type(error).__name__}: {absentia.io.one_line(error, 200)}"
        raise absentia.io.FileError(
            f"{model}: the model gives no answer ({why}); it was changed, or another version wrote it: fit "
            "it again, and if that does not help, report it"
        ) from error


def _find_task(model: Model) -> Task:
    from absentia.tasks import CLASSIFICATION, find_task

    return find_task(model.classifier) or CLASSIFICATION


def _decision_sentences(model: Model) -> list[str]:
    """By what the class is decided, if not by its probability alone."""
    from absentia.tasks import CLASSIFICATION, decision_words

    words = decision_words(model.classifier) if _find_task(model) is CLASSIFICATION else ""
    return [f"the class is that with the {words}"] if words else []


def check_calibration(path: Path, method: Any) -> None:
    """Refuse to make sets with a model that has no scores of samples held out."""
    if not hasattr(method, "calibration_"):
        raise ValueError(
            f"{path}: the model has no calibration, which prediction sets want; fit it again, without "
            "--time, --no-rows, --no-report and --no-probability"
        )


def _coverage_sentences(model: Model, coverage: float | None, vacuous: int, n: int) -> list[str]:
    """What is promised of the columns that a coverage adds, and of how many samples they say nothing."""
    if coverage is None:
        return []
    columns = _find_task(model).region_columns
    words = [f"{', '.join(columns)}: to hold for {100 * coverage:g} % of samples with the same views"]
    if vacuous:
        how = {"set": "any class may be", "low": "low is 0", "high": "low and high are empty"}[columns[-1]]
        words.append(f"of {vacuous} of {n} samples nothing can be said so surely: {how}")
    return words


def load_model(path: Path) -> Model:
    """A fitted model with the kernels that are made before it."""
    from absentia.tasks import find_task

    fitted = absentia.load(path)
    with suppress(ValueError):
        model = absentia.models.as_model(fitted)
        if model is fitted or find_task(model.classifier) is not None:
            return model
    raise ValueError(
        f"{path}: holds a {type(fitted).__name__}, which is no model of classes, numbers or "
        "survival; make one with absentia fit, or use it in Python: absentia.load(path)"
    )


def read_samples(
    fitted: Model, new: Path, source: flag.ReadOptions, model: Path
) -> absentia.Views | absentia.KernelViews:
    """New samples as the call says, and as the file of the model has it that those of training were read.

    With covariates beside them if the model adjusts for such.
    """
    from absentia.app.cli._data import drop_columns, read_covariate_table
    from absentia.experiment.comparison import make_covariates

    remembered = absentia.io.read_state(model)[1]["about"].get("reading")
    options = source.options_as_trained(new, remembered)
    data = absentia.io.read_new(new, **options | {"chunks": source.chunks})
    if fitted.adjust is None:
        return _as_trained(fitted, data, None, new)
    columns = remembered.get("covariates", ()) if isinstance(remembered, dict) else ()
    opened = absentia.io.LoadedData(data, table=options["labels"])
    try:
        table, label_columns = read_covariate_table([str(name) for name in columns], opened, new, source.id)
        features, covariates = drop_columns(data, label_columns), make_covariates(data, table)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{new}: {error}; {model} adjusts features for {', '.join(map(str, columns))}"
        ) from None
    return _as_trained(fitted, features, covariates, new)


def _as_trained(
    model: Model, data: absentia.Views | absentia.KernelViews, covariates: absentia.Views | None, path: Path
) -> absentia.Views | absentia.KernelViews:
    """New samples as the model can take them: its only view under its name, kernels with ids."""
    import numpy as np

    from absentia.data import add_views

    if isinstance(data, absentia.KernelViews):
        if data.square and np.array_equal(data.ids, np.arange(len(data))):
            raise ValueError(
                f"{path}: kernels among samples without ids, of which nobody knows whether they are those "
                "of training; give an .npz file with K (views x new x training samples), ids and column_ids"
            )
        return data
    _check_orientation(model, data, path)
    if len(model.names) == 1 and data.n_views == 1:
        data = data.rename(dict(zip(data.names, model.names, strict=True)))
    if not set(data.names) & set(model.names):
        raise ValueError(
            f"{path}: none of the views {list(data.names)} is one of the model's, {list(model.names)}; "
            "call files as they were called in training, or give --views as then"
        )
    return data if covariates is None else add_views(data, covariates)


def _check_orientation(model: Model, data: absentia.Views, path: Path) -> None:
    """Refuse views whose samples are called as the features of training are: they are transposed."""
    if not model.takes_features:
        return
    views = get_coding(model).views
    for name, present in zip(data.names, data.observed.T, strict=True):
        own = next(iter(views.values())) if len(views) == data.n_views == 1 else views.get(name)
        if own is None or own.columns is None:
            continue
        ids = {str(x) for x in data.ids[present].tolist()}
        if 2 * len(ids.intersection(own.columns.tolist())) > max(len(ids), 2):
            raise ValueError(
                f"{path}: the samples of view {name!r} are named as its columns were in training: it seems "
                f"to be transposed; give --transpose {shlex.quote(name)}"
            )


def _condense(model: Model, data: Any, kept: Unfinished | None) -> tuple[Model, Any]:
    """Model and samples with scores instead of features in chunks, where the method is one on factors."""
    if not getattr(data, "chunked", False) or not _is_on_factors(model):
        return model, data
    rows: Any = model.rows(data)
    classifier, scores = model.classifier.condense(
        rows, **{} if kept is None else {"compute": kept.compute}
    )
    return replace(model, classifier=classifier), scores


def _is_on_factors(model: Model) -> bool:
    from absentia.methods.prediction import FactorModel

    return isinstance(model.classifier, FactorModel)


def _matched_sentences(model: Model, data: Any) -> list[str]:
    """How the columns of new samples go with those of training, and which views are not looked at."""
    if not isinstance(data, absentia.Views) or not model.takes_features:
        return []
    besides = () if model.adjust is None else (model.adjust.covariates,)
    unknown = [name for name in data.names if name not in (*model.names, *besides)]
    ignored = [f"view {name!r} was not there in training (ignored)" for name in unknown]
    adjusted = [f"features are adjusted for {', '.join(data[name].columns)}" for name in besides]
    return [*get_coding(model).sentences(data), *ignored, *adjusted]


def _compare_with_training(model: Model, data: Any) -> Shift | None:
    """How new samples differ from those of training; None of a model that does not know these."""
    known = (
        hasattr(model.classifier, "training_summary_") and len(data) and not getattr(data, "chunked", False)
    )
    return absentia.inspection.shift(model, data) if known else None


def _shift_sentences(shift: Shift | None) -> list[str]:
    """The most important differences from training; those of columns are said of the columns."""
    said = [remark.sentence for remark in shift.remarks if remark.kind != "column"] if shift else []
    n_more = len(said) - _MAX_REMARKS
    more = [f"{n_more} more differences from training (--json has all)"] if n_more > 0 else []
    return [*said[:_MAX_REMARKS], *more]


def get_coding(model: Model) -> Any:
    """What the columns of views were in training."""
    return model.classifier._coding if model.kernels is None else model.kernels._coding


def _predict_blocks(
    output: Path,
    model: Model,
    data: Any,
    new: Path,
    coverage: float | None,
    rows: int,
    kept: Unfinished | None,
) -> tuple[int, int]:
    """Predict samples and write what came of it.

    Returns how many samples are flagged, and of how many a set or an interval says nothing.
    """
    model, data = _condense(model, data, kept)
    make = partial(_by_block, model, data, coverage, rows)
    blocks = make(0) if kept is None else kept.iterate_blocks(make)
    if output.suffix in flag.container_endings(new):
        return _write_container(output, model, data, coverage, blocks, new)
    return _write_table(output, model, coverage, blocks)


def _write_table(
    output: Path, model: Model, coverage: float | None, blocks: Iterable[Block]
) -> tuple[int, int]:
    """Write blocks of predictions to a table, whole or not at all; counts as above."""
    flagged = vacuous = 0

    def save(file: BinaryIO) -> None:
        nonlocal flagged, vacuous
        header = _prediction_header(model, coverage)
        with absentia.io.open_table(file, output.suffix, header, {"id", *_text_columns(model)}) as add:
            for lines, nothing in blocks:
                add(lines)
                flagged += sum(bool(line[-1]) for line in lines)
                vacuous += nothing

    if output == STANDARD_OUTPUT:
        whole = io.BytesIO()  # all of it, or nothing
        save(whole)
        sys.stdout.buffer.write(whole.getvalue())
    else:
        absentia.io.write_atomically(output, save)
    return flagged, vacuous


def _write_container(
    output: Path, model: Model, data: Any, coverage: float | None, blocks: Iterable[Block], new: Path
) -> tuple[int, int]:
    """The container that the samples came from, with predictions in its obs; counts as of a table."""
    blocks = list(blocks)
    lines = [line for block, _ in blocks for line in block]
    texts = _text_columns(model)
    columns = {
        f"absentia_{name}": [line[k] if name in texts else float(line[k] or "nan") for line in lines]
        for k, name in enumerate(_prediction_header(model, coverage))
        if name != "id" and not name.startswith("view=")
    }
    absentia.io.write_mudata(output, data.to_mudata(absentia.io.read_mudata(new), obs=columns))
    return sum(bool(line[-1]) for line in lines), sum(nothing for _, nothing in blocks)


def _text_columns(model: Model) -> set[str]:
    """Columns of the table of predictions that are no numbers, ids apart."""
    return {"flag", "set", "predicted"} if _find_task(model).name == "classes" else {"flag"}


def _count_block_rows(model: Model) -> int:
    """How many samples fill a block with kernels of every view against the training samples."""
    against = 1 if _is_on_factors(model) else len(model.classifier.ids_)
    sample_bytes = 8 * max(1, against) * max(1, len(model.names))
    return min(max(_BLOCK_BYTES // sample_bytes, 1), _MAX_ROWS)


def _by_block(model: Model, data: Any, coverage: float | None, rows: int, first: int) -> Iterator[Block]:
    """Lines of the table, those of `rows` samples at a time, and of how many a set says nothing.

    Blocks before the `first` are left out.
    """
    with step_bar("predict", max(1, -(-len(data) // rows))) as tick:
        for start in range(first * rows, len(data), rows):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", absentia.AbsenceWarning)  # _matched_sentences says all
                part = data[start : start + rows]
                part = part.to_memory() if getattr(part, "chunked", False) else part
                block = _prediction_lines(model, model.rows(part), coverage)
            yield block
            tick()


def _prediction_header(model: Model, coverage: float | None) -> list[str]:
    """The first line of the table of predictions."""
    task = _find_task(model)
    regions = () if coverage is None else task.region_columns
    views = (f"view={name}" for name in model.names)
    return ["id", *task.output_columns(model.classifier), *regions, *views, "flag"]


def _prediction_lines(model: Model, rows: Any, coverage: float | None) -> tuple[list[list[Any]], int]:
    """The lines of these samples in the table of predictions, and of how many a set says nothing."""
    import numpy as np

    with np.errstate(all="ignore"):  # what is not finite is refused
        cells, remarks = _find_task(model).output_rows(model.classifier, rows)
        vacuous = 0
        if coverage is not None:
            regions, vacuous = _find_task(model).region_rows(model.classifier, rows, coverage)
            cells = [[*values, *ends] for values, ends in zip(cells, regions, strict=True)]
    places = [rows.names.index(name) if name in rows.names else None for name in model.names]
    lines = []
    for sample, values, seen, remark in zip(rows.ids.tolist(), cells, rows.observed, remarks, strict=True):
        has = [0 if place is None else int(seen[place]) for place in places]
        lines.append([str(sample), *values, *has, remark])
    return lines, vacuous


Block = tuple[list[list[Any]], int]


def hash_inputs(model: Path, data: Any, *options: Any) -> str:
    """Of a model's file, of new samples and of what else predictions depend on.

    Features in chunks count by the number, sum and sum of squares of each row's values.
    """
    import hashlib

    from absentia.core import serialize
    from absentia.experiment.engine import content_hash

    if getattr(data, "chunked", False):
        blocks = {name: data.block(name) for name in data.names}
        data = replace(data, _blocks={name: getattr(x, "profile", x) for name, x in blocks.items()})
    with open(model, "rb") as file:
        parts = [hashlib.file_digest(file, "sha256").hexdigest(), content_hash(serialize(data))]
    return json.dumps([absentia.__version__, *parts, *options], default=str)


class Unfinished:
    """Blocks of predictions and scores of chunks that are done.

    Parameters
    ----------
    output : Path
        The table to be.
    inputs : str
        As :func:`hash_inputs` gives it.
    force : bool
        Begin anew where other inputs were begun with.
    """

    def __init__(self, output: Path, inputs: str, force: bool) -> None:
        self.folder = output.with_name(f".{output.name}.unfinished")
        self.n_found = 0  # blocks and chunks that a run before this has done
        mark = self.folder / "inputs"
        if mark.is_file() and mark.read_text(encoding="utf-8") != inputs:
            if not force:
                raise ValueError(
                    f"{output}: predictions were begun and not ended there ({self.folder}), of other "
                    "samples, by another model or with other options; give these again, another output, or "
                    "--force, which begins anew"
                )
            self.remove()
        self.folder.mkdir(exist_ok=True)
        absentia.io.write_atomically(mark, lambda file: file.write(inputs.encode()))

    def remove(self) -> None:
        """Keep nothing any more."""
        shutil.rmtree(self.folder)

    def compute(self, name: str, table: ChunkedTable) -> Array:
        """All rows of a table in chunks, of which those of chunks that are done are not made again."""
        import numpy as np

        place = self.folder / f"scores-{name.encode().hex()[:100]}"
        marks, values = place.with_suffix(".done"), place.with_suffix(".npy")
        done = marks.stat().st_size if marks.exists() else 0
        self.n_found += done
        result = np.lib.format.open_memmap(
            values, "r+" if done else "w+", None if done else table.dtype, None if done else table.shape
        )
        with open(marks, "ab", buffering=0) as file:
            for _ in table.fill(result, done):
                result.flush()
                file.write(b".")
        return np.array(result)

    def iterate_blocks(self, make: Callable[[int], Iterable[Block]]) -> Iterator[Block]:
        """All blocks in order; ``make(k)`` makes those from the k-th on, k of which are there."""
        path = self.folder / "lines"
        done = self._count_blocks(path)
        self.n_found += done
        with open(path, "ab") as file:
            for number, block in enumerate(make(done), done):
                file.write(json.dumps([number, *block], default=_as_plain).encode() + b"\n")
                file.flush()
        with open(path, "rb") as file:
            for expected, line in enumerate(file):
                number, lines, nothing = json.loads(line)
                if number != expected:
                    raise ValueError(f"{path}: another process writes to it; let one do it, and try again")
                yield lines, nothing

    @staticmethod
    def _count_blocks(path: Path) -> int:
        """How many whole blocks there are; what stands behind them is cut off."""
        count = size = 0
        if not path.exists():
            return 0
        with open(path, "r+b") as file:
            for line in file:
                try:
                    whole = line.endswith(b"\n") and json.loads(line)[0] == count
                except ValueError:
                    whole = False
                if not whole:
                    break
                count, size = count + 1, size + len(line)
            file.truncate(size)
        return count


def _as_plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item()


@contextmanager
def keep_unfinished(
    output: Path, force: bool, wanted: bool, hash_now: Callable[[], str]
) -> Iterator[Unfinished | None]:
    """What is done of an output, if that is `wanted`; removed at the end, and where inputs are refused."""
    if not wanted:
        yield None
        return
    kept = Unfinished(output, hash_now(), force)
    try:
        yield kept
    except ValueError:  # of the samples: once they are mended, they are others
        kept.remove()
        raise
    kept.remove()
