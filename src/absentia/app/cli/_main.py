"""The command line: verbs (:data:`_VERBS`), whose modules are loaded when they are called.

None of these modules does mathematics, nor loads what does before it has to.  How a command ends, and
with which exit code, is in ``app._exit_codes``.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from absentia.app._terminal import (  # first: it says which extra is wanted
    err,
    escape_unencodable,
    help_console,
    out,
    show_warning,
)

# isort: split
from cyclopts import App

import absentia
from absentia.app._exit_codes import explain_kept, handle_signals, report_error

#: The verbs, and what each does.
_VERBS = {
    "example": "Write a small made-up cohort to try everything on: tables, labels, new patients.",
    "demo": "Hide views of handwritten digits, compare what can be done about it, and write a page.",
    "inspect": "Show what is in a folder, file or model: views, columns, who has what, labels, warnings.",
    "compare": "Try methods on data, rank them with honest statistics, and write a page about it.",
    "work": "Run trials of a comparison, as one of any number of processes on a shared folder.",
    "report": "Draw the page of a comparison again from its records.",
    "complete": "Fill the missing rows and columns of kernels, or the missing entries of a matrix.",
    "fit": "Learn to classify samples from the views they have, and write the model.",
    "predict": "Classify new samples from the views they have and write a table.",
    "plan": "Say which absent views to measure for which samples, the most gain for the cost first.",
    "plot": "Draw data, a model, a comparison or a table, as PDF, SVG or PNG.",
    "cite": "Print BibTeX of the papers that methods are from, and of absentia.",
    "reproduce": "Run a table or figure of the papers again, our numbers beside the published ones.",
}

#: Modules of verbs that are not in ``_verbs``.
_HOMES = {verb: f"_{verb}" for verb in ("inspect", "predict", "plan", "plot", "reproduce")} | {
    "cite": "_inspect"
}
_QUIET = "--quiet"
_EXAMPLES = """Examples:

    absentia example breast/
    absentia inspect breast/ --labels labels.csv:subtype
    absentia compare breast/ --labels labels.csv:subtype -o compared/
    absentia fit breast/ --labels labels.csv:subtype -o model.absentia
    absentia predict model.absentia newpatients/ -o predicted.csv
    absentia complete breast/ -o completed.npz --method cvkt --report report.html
    absentia demo

Everywhere: --quiet says nothing but warnings and errors. NO_COLOR=1 is plain text. Completion for your
shell: absentia --install-completion
"""


def _command_line(verb: str | None) -> App:
    """All verbs, of which only this one is loaded."""
    app = App(
        name="absentia",
        help="Data in several views, whole views absent: look at it, complete it, classify it, "
        "see how well that works.",
        help_epilogue=None if verb else _EXAMPLES,
        version=absentia.__version__,
        suppress_keyboard_interrupt=False,  # main() says what it means
        console=help_console,
        error_console=err,
    )
    for name, words in _VERBS.items():
        where = f"absentia.app.cli.{_HOMES.get(name, '_verbs')}"
        if name == verb:
            app.command(getattr(import_module(where), name), name=name)
        else:
            app.command(f"{where}:{name}", name=name, help=words)
    app.register_install_completion_command(add_to_startup=False)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    warnings.showwarning = show_warning
    warnings.simplefilter("always", UserWarning)
    explain_kept(None)
    with handle_signals():
        try:
            escape_unencodable()
            words = list(sys.argv[1:] if arguments is None else arguments)
            out.quiet = _QUIET in words
            words = [word for word in words if word != _QUIET]
            verb = next((word for word in words if word in _VERBS), None)
            _command_line(verb)(words, print_error=False, exit_on_error=False, result_action="return_value")
            out.file.flush()
        except SystemExit:
            raise
        except BaseException as error:
            sys.exit(report_error(error))
