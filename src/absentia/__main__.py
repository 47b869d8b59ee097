"""``python -m absentia`` is the command line."""

import sys


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads is no error either."""
    try:
        from absentia.app._exit_codes import run_process
        from absentia.app.cli._main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("absentia: interrupted; nothing was written\n")
        sys.exit(130)
    run_process(run)


if __name__ == "__main__":
    main()
