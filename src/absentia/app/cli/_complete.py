"""``absentia complete``: fill the missing rows and columns of kernels, or the entries of a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from absentia.app._checks import check_threads
from absentia.app._terminal import out
from absentia.app.cli._flags import Force, List, MethodFlags, flag_table, method_table, read_flags
from absentia.app.cli._source import DATA, Features, Kernels, Logs, Threads

# isort: split
from cyclopts import Parameter

_FAMILIES: tuple[Literal["completer"], Literal["matrix"]] = ("completer", "matrix")
FILE = Parameter(
    name="FILE",
    help=f"{DATA} Kernels are computed from features. For pma a CSV file (first line: column names; first "
    "field: row id; empty, NA or NaN: missing) or an .npz file with X and optionally row_ids, "
    "column_names, row_kernel, column_kernel.",
)
OUTPUT = Parameter(
    name=["--output", "-o"],
    help="The .npz file to write: K, mask, ids, names, and mask_before, who had been observed. For .h5mu "
    "and .h5ad also a file of that kind, the one that came with kernels and presence added. For pma a .csv "
    "file, or an .npz file with X, std and observed.",
)
_REPAIR = Parameter(
    help="Make kernels that are not positive semidefinite so, by clipping or shifting eigenvalues."
)
_QUALITY = Parameter(
    name="--no-quality",
    negative="",
    help="Leave out of the report how well methods fill observed cells that are hidden, which takes a "
    "minute or so.",
)
_STD = Parameter(
    help="The .csv file for standard deviations (pma); by default OUT with the ending .std.csv."
)


def complete(
    file: Annotated[Path | None, FILE] = None,
    /,
    *,
    output: Annotated[Path | None, OUTPUT] = None,
    method: Annotated[str | None, Parameter(help="How to complete, by default cvkt; see --list.")] = None,
    source: Features = Features(),  # noqa: B008 - it is frozen
    kernel: Kernels = (),
    log: Logs = (),
    repair: Annotated[Literal["clip", "shift"] | None, _REPAIR] = None,
    std: Annotated[Path | None, _STD] = None,
    report: Annotated[Path | None, Parameter(help="Also write an HTML report here.")] = None,
    no_quality: Annotated[bool, _QUALITY] = False,
    threads: Threads = None,
    force: Force = False,
    list_methods: List = False,
    **flags: MethodFlags,
) -> None:
    """Fill the missing rows and columns of kernels, or the missing entries of a matrix (--method pma).

    Example: absentia complete breast/ -o completed.npz --method cvkt --report report.html

    Example: absentia complete table.csv -o completed.csv --method pma --report report.html

    Ctrl-C once stops after the current iteration, if that ends within seconds, and writes what is there
    (exit code 3); twice, or once with pma, writes nothing.
    """
    from absentia.methods.catalogue import find, offered

    methods = offered(*_FAMILIES)
    if list_methods:
        table = method_table(methods) if method is None else flag_table(find(method, *_FAMILIES))
        out.print(table)
        return None
    if file is None or output is None:
        raise ValueError(
            "an input FILE and an output (-o OUT.npz) are wanted; see absentia complete --help"
        )
    check_threads(threads)
    entry = find(method or "cvkt", *_FAMILIES)
    parameters = read_flags(entry, flags, methods)
    if entry.family == "matrix":
        from absentia.app.cli import _complete_matrix

        _refuse(entry.name, {"--kernel": kernel or None, "--log": log or None, "--repair": repair})
        places = _complete_matrix.Places(file, output, std, report, force)
        return _complete_matrix.run(places, entry, parameters, threads)
    from absentia.app.cli import _complete_kernels

    _refuse(entry.name, {"--std": std})
    return _complete_kernels.run(
        _complete_kernels.CompleteOptions(
            *(file, output, entry, parameters, source, kernel, log, repair, report),
            quality=not no_quality,
            threads=threads,
            force=force,
        )
    )


def _refuse(method: str, given: dict[str, Any]) -> None:
    """Refuse what means nothing for a method."""
    for flag, value in given.items():
        if value is not None:
            raise ValueError(f"{flag} does not apply to method {method!r}")
