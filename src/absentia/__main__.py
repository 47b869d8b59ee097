"""``python -m absentia`` is the command line."""

from absentia.cli import main

main()
