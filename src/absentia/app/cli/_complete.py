"""``absentia complete``: fill the missing rows and columns of kernels, absent values, or a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import absentia
from absentia.app._terminal import out
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import MAX_PROCESSES, check_coverage, check_number

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.methods.catalogue import Entry

_FAMILIES: tuple[Literal["completer"], Literal["matrix"]] = ("completer", "matrix")
_FILE = Parameter(
    help=f"{flag.DATA_HELP} Kernels are computed from features. For pma a CSV file (first line: column "
    "names; first field: row id; empty, NA or NaN: missing) or an .npz file with X and optionally row_ids, "
    "column_names, row_kernel, column_kernel."
)


@Parameter(name="*")
@dataclass(frozen=True)
class CompleteOptions:
    """How to read and complete, and what else to write.

    Parameters
    ----------
    values
        Fill in the features of absent views, not their kernels, and measure by hiding how far these are to
        be trusted. OUT is a folder with a CSV file for each view; in std/ their standard deviations, in
        proba/ the probabilities of categories, in about/ trust.csv and filled.csv. For .h5mu also a file of
        that kind, with layers absentia_completed and absentia_std.
    all_values
        With --values: fill features too that cannot be trusted, which are left empty otherwise.
    fill_gaps
        With --values: fill gaps inside observed rows too.
    coverage
        Also write low and high, the ends of intervals that hold for this share of completed values (0.9,
        say), calibrated by hiding observed ones in five more fits: into the .npz file, or for a matrix in
        .csv beside OUT, with the endings .low.csv and .high.csv.
    repair
        Make kernels that are not positive semidefinite so, by clipping or shifting eigenvalues.
    report
        Also write an HTML report here.
    no_quality
        Leave out of the report how well the method fills observed cells that are hidden, beside mean fill;
        absentia compare judges all methods.
    """

    source: flag.ReadOptions = flag.ReadOptions()  # noqa: RUF009 - it is frozen
    kernels: flag.ViewKernelOptions = flag.ViewKernelOptions()  # noqa: RUF009
    values: flag.Switch = False
    all_values: flag.Switch = False
    fill_gaps: flag.Switch = False
    coverage: float | None = None
    repair: Literal["clip", "shift"] | None = None
    report: Path | None = None
    no_quality: flag.Switch = False
    threads: flag.Threads = None
    dask: flag.Dask = None
    force: flag.Force = False


def complete(
    file: Annotated[Path | None, _FILE] = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    method: str | None = None,
    options: CompleteOptions = CompleteOptions(),  # noqa: B008 - it is frozen
    list_methods: flag.List = False,
    cite: flag.Cite = False,
    **flags: flag.MethodFlags,
) -> None:
    """Fill the missing rows and columns of kernels, absent values (--values), or a matrix (--method pma).

    Example: absentia complete breast/ -o completed.npz --method cvkt --report report.html

    Example: absentia complete breast/ -o filled/ --values

    Example: absentia complete table.csv -o completed.csv --method pma --report report.html

    Ctrl-C once stops after the current iteration, if that ends within seconds, and writes what is there
    (exit code 3); twice, or once with pma, writes nothing.

    Parameters
    ----------
    output
        The .npz file to write: K, mask, ids, names, and mask_before, who had been observed; or MATLAB's
        .mat file, with KH (n x n x views) and observed. For .h5mu and .h5ad also a file of that kind, the
        one that came with kernels and presence added. For pma a .csv file, with standard deviations
        beside it in OUT.std.csv, or an .npz file with X, std and observed.
    method
        How to complete, by default cvkt; see --list.
    """
    from absentia.methods.catalogue import find, offered

    methods = offered(*_FAMILIES)
    if list_methods:
        return out.print(
            flag.method_table(methods) if method is None else flag.flag_table(find(method, *_FAMILIES))
        )
    if file is None or output is None:
        raise ValueError(
            "an input FILE and an output (-o OUT.npz) are wanted; see absentia complete --help"
        )
    check_number("--threads", options.threads, 1, MAX_PROCESSES)
    check_coverage(options.coverage)
    flag.check_dask(options.dask)
    entry = find(method or "cvkt", *_FAMILIES)
    parameters = flag.read_flags(entry, flags, methods, options)
    used = _run(file, output, entry, parameters, options, default=method is None)
    if cite:
        out.file.write(absentia.cite(used))
    return None


def _run(
    file: Path,
    output: Path,
    entry: Entry,
    parameters: Mapping[str, Any],
    options: CompleteOptions,
    default: bool,
) -> Any:
    """Complete what the file holds; the method that did it comes back."""
    from absentia.methods.catalogue import find

    kernels = options.kernels
    if options.values:
        from absentia.app.cli._completing import run_complete_values

        others = {"--report": options.report, "--coverage": options.coverage}
        _refuse("to --values", {"--repair": options.repair, "--dask": options.dask} | others)
        if entry.family == "matrix":
            raise ValueError(f"--values is for views, and {entry.name} completes one matrix; leave one out")
        completer = entry.make(**parameters) if parameters or not default else "auto"
        run_complete_values(file, output, completer, options)
        return find("auto", "completer").make() if completer == "auto" else completer
    _refuse("without --values", {"--all-values": options.all_values, "--fill-gaps": options.fill_gaps})
    if entry.family == "matrix":
        from absentia.app.cli._completing import run_complete_matrix

        given = {"--kernel": kernels.kernel, "--log": kernels.log, "--dask": options.dask}
        given |= {"--repair": options.repair}
        _refuse(f"to method {entry.name!r}", given)
        run_complete_matrix(file, output, entry, parameters, options)
        return entry.make(**parameters)
    from absentia.app.cli._completing import run_complete_kernels

    run_complete_kernels(file, output, entry, parameters, options)
    return entry.make(**parameters)


def _refuse(where: str, given: dict[str, Any]) -> None:
    """Refuse what means nothing there."""
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} does not apply {where}")
