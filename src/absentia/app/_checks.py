"""What the commands check before they begin: numbers, names, places.

A command that is to fail fails at once and in one sentence, not after the work.
"""

import os
from collections.abc import Sequence
from pathlib import Path

MAX_PROCESSES = 4096  # and threads
STANDARD_OUTPUT = Path("-")


def check_number(
    flag: str, value: float | None, least: float = 1, most: float | None = None, kind: str = "whole number"
) -> None:
    """Refuse a number out of range, or that is none; None was not given."""
    if value is None or (value >= least and (most is None or value <= most)):
        return
    wanted = f"of {least} or more" if most is None else f"from {least} to {most}"
    raise ValueError(f"{flag} is a {kind} {wanted}, not {value}")


def check_coverage(coverage: float | None) -> None:
    """Refuse what is no share of samples; None was not given."""
    if coverage is not None and not 0 < coverage < 1:
        raise ValueError(f"--coverage is a number above 0 and below 1, not {coverage}")


# ---------------------------------------------------------------------------------------------- places


def check_outputs(
    inputs: Sequence[Path], outputs: Sequence[Path | None], force: bool, own: Sequence[Path | None] = ()
) -> None:
    """Refuse outputs that are one of the other files, a folder, or where nothing can be written.

    Files that are there are replaced if absentia wrote them (`own` are known to be such), or by `force`.
    """
    others = list(inputs)
    for output in outputs:
        if output is not None:
            _check_output(output, others)
            others.append(output)
    check_replaced([output for output in outputs if output not in own], force)


def check_table(
    output: Path | None, inputs: Sequence[Path | None], endings: Sequence[str], json: bool, force: bool
) -> None:
    """Refuse, before any work, a table that could not be written or printed (``-``)."""
    if output == STANDARD_OUTPUT:
        if json:
            raise ValueError("-o - prints the table, and --json something else; choose one")
    elif output is not None:
        check_ending(output, "the output", *endings)
        check_outputs([path for path in inputs if path is not None], [output], force)


def check_replaced(outputs: Sequence[Path | None], force: bool) -> None:
    """Refuse to replace files that absentia did not write, unless by `force`."""
    from absentia.files import is_written_by_absentia

    for output in outputs:
        if output is not None and not force and output.is_file() and not is_written_by_absentia(output):
            raise ValueError(
                f"{output}: is there already, and absentia did not write it; choose another name, or "
                "replace it with --force"
            )


def _check_output(output: Path, others: Sequence[Path]) -> None:
    """Refuse one output; `others` are the files it must not be."""
    if any(_is_same_file(output, other) for other in others):
        raise ValueError(f"{output}: inputs and outputs are to be different files; choose another name")
    if output.is_dir():
        raise ValueError(f"{output}: is a folder; a file name is wanted")
    folder = output.parent
    if not folder.is_dir():
        raise ValueError(f"{output}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{output}: the folder {folder} cannot be written to; choose another place")


def check_folder(folder: Path) -> None:
    """Refuse a folder that is none, or that could not be made."""
    places = (folder, *folder.absolute().parents)
    there = next(place for place in places if os.path.lexists(place))
    if not there.is_dir():
        raise ValueError(f"{there}: is a file, and a folder is wanted; choose another name")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{folder}: the folder {there} cannot be written to; choose another place")


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two names are of one file, which need not be there."""
    if _resolve(path) == _resolve(other):
        return True
    try:
        return path.samefile(other)  # another spelling of the name, or a second name
    except OSError:
        return False


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # Python before 3.13 raises the latter for a loop
        raise ValueError(f"{path}: leads nowhere, as links in it go round in a circle") from None


def check_ending(path: Path, what: str, *endings: str) -> None:
    """Refuse a file name without one of these endings."""
    if path.suffix.lower() not in endings:
        kinds = " or ".join(f"{'an' if e == '.npz' else 'a'} {e}" for e in endings)
        raise ValueError(f"{path}: {what} is {kinds} file; give it that ending")
