"""What people run: the command line, comparisons and the report."""
