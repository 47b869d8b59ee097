"""What people run: the command line and the report."""

from absentia.app._comparing import Comparison, compare, open_comparison
