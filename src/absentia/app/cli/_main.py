"""The command line: ``absentia demo | inspect | complete | fit | predict``.

The last two are in ``_fit``.

Exit codes: 0 fine, 2 bad usage or bad input, 1 out of memory, disk full or a defect, 128 + n ended by
signal n (130: Ctrl-C); what is not 0 comes with one sentence on standard error (``_endings``).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from absentia.app._terminal import (  # first: it says which extra is wanted
    MaybeWhole,
    Whole,
    err,
    iteration_bar,
    lenient,
    out,
    printable,
    show_warning,
    stop_on_interrupt,
    warnings_kept,
)

# isort: split
from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

import absentia
from absentia import core as linalg
from absentia import files as io
from absentia.app import _endings as endings
from absentia.app._calls import (
    check_ending,
    check_folder,
    check_number,
    check_outputs,
    check_report,
    check_threads,
    check_whole,
)
from absentia.app.cli import _fit as cli_fit
from absentia.app.cli import _matrix as cli_matrix
from absentia.core import Iterative, Progress, at_most, check_name
from absentia.data import KernelViews, Presence, Views
from absentia.kernels import KERNELS, ViewKernels
from absentia.methods.catalogue import find, offered
from absentia.methods.completion import Completer

if TYPE_CHECKING:
    from absentia.app.report import CompletionStory

app = App(
    name="absentia",
    help="Data in several views, whole views absent: look at it, complete it, classify it, "
    "see how well that works.",
    version=absentia.__version__,
    suppress_keyboard_interrupt=False,  # main() says what it means
    console=out,
    error_console=err,
    help_epilogue="Examples:\n\n"
    "  absentia demo\n\n"
    "  absentia inspect patients.npz\n\n"
    "  absentia complete patients.npz -o completed.npz --method mkmc-pca --report report.html\n\n"
    "  absentia fit patients.npz --labels diagnosis.csv -o model.npz\n\n"
    "  absentia predict model.npz new.npz -o predicted.csv",
)


# ----------------------------------------------------------------------------------------- commands


@app.command
def demo(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("absentia-demo"),
    n_samples: Whole = 300,
    absent: float = 0.3,
    seed: Whole = 0,
) -> None:
    """Hide views of handwritten digits, complete them with every method, write a report.

    Example: absentia demo --absent 0.5

    Parameters
    ----------
    output
        Folder for the report, made if it is not there.
    n_samples
        Number of digits, up to 1797.
    absent
        Share of sample-view pairs to hide, 0 to 0.8.
    seed
        Seed of the random choice of what is hidden.
    """
    from absentia.app import report
    from absentia.app._demo import FEWEST, MOST, run

    page = output / "report.html"
    check_whole("--n-samples", n_samples, FEWEST, MOST)
    check_number("--absent", absent, most=0.8)
    check_whole("--seed", seed, 0)
    check_folder(output)
    check_report(page)
    endings.ledger.expect(page)
    with at_most(1, n_samples), iteration_bar() as start:
        result = run(n_samples, absent, seed, announce=start)
    output.mkdir(parents=True, exist_ok=True)
    path = report.write(result.story, page)
    out.print(score_table(result.records))
    out.print(f"[bold]report[/]: {escape(str(path.resolve()))}", soft_wrap=True)


@app.command
def inspect(file: Path, /) -> None:
    """Show the views of a file: sizes, share present, missing patterns, groups, warnings.

    Example: absentia inspect patients.npz

    Parameters
    ----------
    file
        An .npz file with keys view_<name> or K, and optionally mask, ids, names.
    """
    data = io.read(file)
    out.print(f"[bold]{escape(str(file))}[/]  {escape(data._headline())}", soft_wrap=True)
    out.print(view_table(data))
    out.print(pattern_table(data))
    out.print(group_sentence(data))
    with at_most(None, len(data)):
        sentences = concerns(data)
    for sentence in sentences:
        show_warning(sentence)


@app.command
def complete(
    file: Annotated[Path | None, Parameter(name="FILE")] = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    method: str = "mkmc-pca",
    components: str | None = None,
    algorithm: str | None = None,
    prior: float | None = None,
    tol: float | None = None,
    max_iter: MaybeWhole = None,
    kernel: str | None = None,
    repair: Literal["clip", "shift"] | None = None,
    std: Path | None = None,
    report: Path | None = None,
    threads: MaybeWhole = None,
    list_methods: Annotated[bool, Parameter(name="--list", negative="")] = False,
) -> None:
    """Fill the missing rows and columns of kernels, or the missing entries of a matrix (--method pma).

    Example: absentia complete patients.npz -o completed.npz --method mkmc-pca --report report.html

    Example: absentia complete table.csv -o completed.csv --method pma --report report.html

    Ctrl-C once stops after the current iteration and writes what is there; twice, or once with pma, writes
    nothing.

    Parameters
    ----------
    file
        An .npz file with kernels (K) or features (view_<name>), from which kernels are computed.  For pma a
        CSV file (first line: column names; first field: row id; empty, NA or NaN: missing) or an .npz file
        with X and optionally row_ids, column_names, row_kernel, column_kernel.
    output
        The .npz file to write: K, mask, ids, names, and mask_before, who had been observed.  For pma a .csv
        file, or an .npz file with X, std and observed.
    method
        How to complete; see --list.
    components
        Rank of the model: a number, gk, kaiser or heldout (mkmc-pca, mkmc-fa).
    algorithm
        fast, or paper for the papers' own iteration (mkmc).
    prior
        Weight of the identity as one more view (mkmc).
    tol
        Stop when the objective's relative change falls below.
    max_iter
        Stop after so many iterations at the latest.
    kernel
        For feature views: rbf (the default), linear, polynomial, laplacian, chi2, cosine, jaccard or
        tanimoto.
    repair
        Make kernels that are not positive semidefinite so, by clipping or shifting eigenvalues.
    std
        The .csv file for standard deviations (pma); by default OUT with the ending .std.csv.
    report
        Also write an HTML report here.
    threads
        BLAS threads; by default one up to 1000 samples, and every core beyond.
    list_methods
        List the methods, one line each, and do nothing else.
    """
    if list_methods:
        out.print(cli_fit.method_table("completer", "matrix"))
        return
    if file is None or output is None:
        raise ValueError(
            "an input FILE and an output (-o OUT.npz) are wanted; see absentia complete --help"
        )
    check_number("--tol", tol)
    check_number("--prior", prior)
    check_whole("--max-iter", max_iter)
    check_threads(threads)
    if method == cli_matrix.METHOD:
        others = {"n_components": components, "algorithm": algorithm, "prior": prior, "kernel": kernel}
        cli_matrix.complete_matrix(
            file,
            output,
            std=std,
            report=report,
            threads=threads,
            options={"tol": tol, "max_iter": max_iter},
            others=others | {"repair": repair},
        )
        return
    if std is not None:
        raise ValueError(f"--std does not apply to method {method!r}")
    flags = {
        "--components": components,
        "--algorithm": algorithm,
        "--prior": prior,
        "--tol": tol,
        "--max-iter": max_iter,
    }
    entry = find(method, "completer")
    completer = entry.make(
        **entry.read({flag: str(value) for flag, value in flags.items() if value is not None})
    )
    check_name("kernel", kernel or "rbf", KERNELS)
    cli_matrix.refuse_matrix(file, method)
    check_ending(output, "the output", ".npz")
    check_outputs([file], [output, report])
    check_report(report)
    endings.ledger.expect(output, report)
    data = io.read(file)
    with at_most(threads, len(data)), warnings_kept() as remarks:
        kernels = as_kernels(data, kernel or "rbf", repair)
        completed = run_completer(completer, kernels, method)
        check_finite(file, method, completed)
        _write_completion(output, method, completer, kernels, completed)
        if report is not None:
            from absentia.app import report as reporting

            story = completion_story(file, method, completer, kernels, completed, remarks)
            reporting.write(story, report)
    if isinstance(completer, Iterative):
        out.print(f"{method}: {completer.status_} ({completer.n_iter_} iterations)")
    out.print(f"[bold]completed kernels[/]: {escape(str(output))}", soft_wrap=True)
    if report is not None:
        out.print(f"[bold]report[/]: {escape(str(report))}", soft_wrap=True)


app.command(cli_fit.fit)
app.command(cli_fit.predict)


# ------------------------------------------------------------------------------- pieces of commands


def as_kernels(
    data: Views | KernelViews, kernel: str, repair: Literal["clip", "shift"] | None
) -> KernelViews:
    """Kernels, computed from features if these came."""
    kernels = ViewKernels(kernel).fit_transform(data) if isinstance(data, Views) else data
    return kernels.repair(repair) if repair else kernels


def check_finite(file: Path, method: str, completed: KernelViews) -> None:
    """Refuse to write kernels with values that are none."""
    for name in completed.names:
        if not np.isfinite(completed.block(name)).all():
            raise ValueError(
                f"{file}: view {name!r}, completed with {method}, has values that are not finite; scale "
                "the kernels (to a mean diagonal of 1, for example), or choose another --method"
            )


def _write_completion(
    output: Path, method: str, completer: Completer, kernels: KernelViews, completed: KernelViews
) -> None:
    extra: dict[str, Any] = {"mask_before": kernels.observed, "method": method}
    if isinstance(completer, Iterative):
        extra["objective"] = completer.objective_
    io.write(output, completed, **extra)


def run_completer(completer: Completer, kernels: KernelViews, method: str) -> KernelViews:
    """Complete, showing iterations; the first Ctrl-C stops at the current iteration."""
    if not isinstance(completer, Iterative):
        return completer.fit_transform(kernels)
    with iteration_bar() as start, stop_on_interrupt() as stopped:
        show = start(method)

        def callback(progress: Progress) -> bool:
            show(progress)
            return stopped()

        return completer.set_params(callback=callback).fit_transform(kernels)


def completion_story(
    file: Path,
    method: str,
    completer: Completer,
    kernels: KernelViews,
    completed: KernelViews,
    remarks: Sequence[str],
) -> CompletionStory:
    """What the report of one completion shows."""
    from absentia.app.report import CompletionStory

    traces = {method: completer.objective_} if isinstance(completer, Iterative) else {}
    parameters = {name: value for name, value in completer.get_params().items() if name != "callback"}
    return CompletionStory(
        title=f"{file.name}, completed",
        summary=f"The missing rows and columns of {kernels.n_views} kernels over {len(kernels)} samples, "
        f"filled with {method}. What was observed is unchanged.",
        names=kernels.names,
        observed=kernels.observed,
        before=kernels.to_dense(),
        after={method: completed.to_dense()},
        traces=traces,
        warnings=list(dict.fromkeys([*concerns(kernels), *remarks])),
        facts={
            "file": str(file),
            "method": f"{method}: {offered('completer')[method].when}",
            "parameters": ", ".join(f"{name}={value!r}" for name, value in parameters.items()),
            "made with": f"absentia {absentia.__version__}, NumPy {np.__version__}",
        },
    )


# -------------------------------------------------------------------------------- tables and sentences


def view_table(data: Presence) -> Table:
    table = Table("view", "size", "present", "samples", box=None, pad_edge=False)
    for name, present in zip(data.names, data.observed.T, strict=True):
        share = f"{present.mean():.0%}" if len(present) else "-"
        table.add_row(printable(name), data._size_of(name), share, f"{present.sum()} of {len(present)}")
    return table


def pattern_table(data: Presence, most: int = 10) -> Table:
    found, counts = data.patterns()
    table = Table(
        "samples", "share", "have", title="patterns", title_justify="left", box=None, pad_edge=False
    )
    for pattern, count in list(zip(found, counts, strict=True))[:most]:
        present = [name for name, has in zip(data.names, pattern, strict=True) if has]
        have = "every view" if len(present) == data.n_views else ", ".join(present) or "no view"
        table.add_row(str(count), f"{count / len(data):.0%}", printable(have))
    if len(counts) > most:
        table.add_row(str(counts[most:].sum()), "", f"one of {len(counts) - most} further patterns")
    return table


def group_sentence(data: Presence) -> str:
    """What the connected components of co-observation mean for the user."""
    groups = data.components()
    sizes = np.bincount(groups[groups >= 0]).tolist()
    if len(sizes) <= 1:
        return "Some view or chain of views links every two samples that have any: one group."
    return (
        f"The samples fall into {len(sizes)} groups that no view ever sees together (sizes "
        f"{', '.join(str(s) for s in sizes[:8])}{', ...' if len(sizes) > 8 else ''}): "
        "kernel values between groups cannot be learned."
    )


def concerns(data: Views | KernelViews) -> list[str]:
    """What is worth a warning: absence as the constructors see it, and kernels that are not kernels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data.warn_of_absence()
    sentences = [str(warning.message) for warning in caught]
    if isinstance(data, KernelViews):
        for name in data.names:
            found = linalg.indefinite(data.block(name))
            if found:
                sentences.append(
                    f"view {name!r}: the kernel is not positive semidefinite (eigenvalues from "
                    f"{found[0]:.4g} to {found[1]:.4g}); complete it with --repair clip or --repair shift"
                )
    elif any(data.missing_values.values()):
        counts = ", ".join(f"{name} {count}" for name, count in data.missing_values.items() if count)
        sentences.append(
            f"values missing inside observed samples ({counts}); kernels take the feature's mean"
        )
    return sentences


def score_table(records: Sequence[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for record in records for key in record))
    table = Table(box=None, pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "left" if column == "method" else "right"
        table.add_column(_SHORT.get(column, column), justify=justify, no_wrap=True)
    for record in records:
        table.add_row(*(_shown(column, record.get(column)) for column in columns))
    return table


_SHORT = {"structural similarity": "s.sim", "Frobenius": "Frob.", "iterations": "iter."}


def _shown(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return escape(str(value))
    return f"{value:.1f}" if column == "seconds" else f"{value:.3f}"


# --------------------------------------------------------------------------------------------- main


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    warnings.showwarning = show_warning
    warnings.simplefilter("always", UserWarning)
    endings.ledger.clear()
    with endings.orderly():
        try:
            lenient()
            app(arguments, print_error=False, exit_on_error=False, result_action="return_value")
            out.file.flush()
        except SystemExit:
            raise
        except BaseException as error:
            sys.exit(endings.leave(error))


if __name__ == "__main__":
    main()
