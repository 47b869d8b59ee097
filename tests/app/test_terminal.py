"""The terminal: interrupts and markup."""

import signal
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from absentia import io
from absentia.app import _terminal as terminal
from absentia.app._exit_codes import stop_on_interrupt
from absentia.app.cli import _completing
from absentia.core import warn
from conftest import random_problem
from helpers.command_line import run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_one_interrupt_stops_after_the_iteration_and_writes(kernels, tmp_path, monkeypatch):
    """A real signal, in the middle of an endless completion."""
    seen = []

    @contextmanager
    def bar(name):
        def show(progress):
            seen.append(progress.iteration)
            if progress.iteration == 5:
                signal.raise_signal(signal.SIGINT)

        yield show

    monkeypatch.setattr(_completing, "iteration_bar", bar)
    flags = ["--method", "mkmc-full", "--tol", "0", "--max-iter", "1000000"]
    result = run("complete", kernels, "-o", "out.npz", *flags, cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert "stopping after this iteration" in result.stderr
    assert "stopped early" in result.stdout
    assert max(seen) <= 6
    assert io.read(tmp_path / "out.npz").observed.all()


def test_a_second_interrupt_gives_up_and_writes_nothing(tmp_path, monkeypatch):
    with stop_on_interrupt() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGINT)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_completing, "_run_completer", interrupted)
    io.write(tmp_path / "k.npz", random_problem(10, 2))
    result = run("complete", "k.npz", "-o", "o.npz", cwd=tmp_path)
    assert result.returncode == 130
    assert "every file is whole, or as it was" in result.stderr
    assert not (tmp_path / "o.npz").exists()


def test_where_files_are_is_said_of_those_that_were_written(capsys):
    terminal.say_paths(completed_kernels=Path("[o].npz"), report=None)
    assert capsys.readouterr().out == "completed kernels: [o].npz\n"


def test_markup_in_names_is_shown_not_obeyed(tmp_path):
    np.savez(tmp_path / "v.npz", **{"view_[bold]x[/bold]": np.ones((2, 1))})
    result = run("inspect", "v.npz", cwd=tmp_path)
    assert "[bold]x[/bold]" in result.stdout
    np.savez(tmp_path / "w.npz", **{"view_a\x1b[31m\nb": np.ones((2, 1))})
    assert "\x1b" not in run("inspect", "w.npz", cwd=tmp_path).stdout


def test_warnings_of_other_libraries_are_shown_but_not_kept_for_the_report(monkeypatch):
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(
            warnings, "showwarning", lambda message, *args, **more: shown.append(str(message))
        )
        with terminal.collect_warnings() as texts:
            warn("ours")
            warnings.warn("theirs", stacklevel=1)
    assert shown == ["ours", "theirs"]
    assert texts == ["ours"]


def test_lines_are_as_long_as_they_are_where_nobody_looks(monkeypatch):
    long = "word " * 100
    for console in (terminal._make_console(), terminal._make_console(stderr=True)):
        with console.capture() as caught:
            console.print(long)
        assert len(caught.get().splitlines()) == 1
    assert terminal.help_console.width == 100


@pytest.mark.parametrize(("wanted", "marked"), [("1", False), ("", True)])
def test_no_color_is_plain_text(monkeypatch, wanted, marked):
    monkeypatch.setenv("NO_COLOR", wanted)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console = terminal._make_console()
    with console.capture() as caught:
        console.print("[bold yellow]warning[/]")
    assert ("\x1b[" in caught.get()) is marked
