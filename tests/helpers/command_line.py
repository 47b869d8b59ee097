"""The command line as a person uses it: in this process, or in a new one; its output, its exit code."""

import os
import subprocess
import sys
import warnings
from contextlib import chdir, nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple
from unittest import mock

from absentia.app import _terminal as terminal
from absentia.app.cli import _main as cli
from absentia.experiment.engine import Pool


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd=None, apart=False):
    """The command in this process, and trials too unless they are to be `apart`: each process costs two seconds."""
    out, err = StringIO(), StringIO()
    terminal._shown_warnings.clear()
    code = 0
    with (
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(cwd or "."),
        nullcontext() if apart else mock.patch.object(Pool, "here", property(lambda pool: pool.jobs == 1)),
    ):
        try:
            cli.main([str(x) for x in arguments])
        except SystemExit as leaving:
            code = leaving.code
    return Result(code or 0, out.getvalue(), err.getvalue())


def run_process(*arguments, cwd=None):
    """The command as a person runs it."""
    command = [sys.executable, "-m", "absentia", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=300)
    return Result(done.returncode, done.stdout, done.stderr)


def refused(result, *words):
    """Exit code 2, nothing on standard output, one sentence on standard error."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("absentia: ")
    for word in words:
        assert word in lines[0], lines[0]
