"""How a command ends: with one sentence and an exit code, whatever happened.

0 fine; 2 the call or a file is not right, or memory too small for it; 1 the machine (disk) or a defect of
ours; 3 stopped early by Ctrl-C, with what was there written; 128 + n ended by signal n, which takes seconds
at most (then n is 9 if nothing less helps).
"""

import errno
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

from absentia.app._terminal import err, escape_text

# isort: split
from cyclopts import CycloptsError, ValidationError

_DEFECT, _BAD_CALL, STOPPED_EARLY = 1, 2, 3
_TRACEBACK = "ABSENTIA_TRACEBACK"

#: Signals that ask to end: SIGTERM, and where there is one SIGHUP (the terminal has gone).
_END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

#: What is wrong with a name that was given, rather than with the machine.
_NAMES = {
    getattr(errno, f"E{name}")
    for name in ("NOENT", "ACCES", "PERM", "ISDIR", "NOTDIR", "EXIST", "LOOP", "NAMETOOLONG", "INVAL")
}


class _Terminated(BaseException):
    """A signal that asks to end, by number; raised where the program is: what is half done is undone."""


_describe_kept: Callable[[], str] | None = None


def explain_kept(sentence: Callable[[], str] | None) -> None:
    """Say to whoever interrupts a command what is kept of work that goes on later; None: nothing is."""
    global _describe_kept
    _describe_kept = sentence


def _describe_files() -> str:
    """What is there of files that were to be written."""
    return "every file is whole, or as it was" if _describe_kept is None else _describe_kept()


# ------------------------------------------------------------------------------------------- signals


_ANSWERED = b"\0"  # no signal has this number


class _SignalWatchdog:
    """Ends a process that a signal has not reached after some seconds, as in the middle of a long product.

    Python's own handlers wait until such a step is over.  Signals are also written to a socket, though, and
    there a thread hears of them at once.  Some steps let no thread of Python run, as SciPy's decompositions
    do: in a process that is all a command's own (`guarded`), another process hears of signals first, and
    kills this one if the thread has not ended it.
    """

    def __init__(self) -> None:
        self.seconds = 5.0
        self.guarded = False
        self._ours: socket.socket | None = None
        self._previous = -1

    def begin(self) -> None:
        """Listen from now on; only in the main thread."""
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        if self.guarded:
            theirs = self._begin_guard(theirs)
        self._previous = signal.set_wakeup_fd(self._ours.fileno(), warn_on_full_buffer=False)
        listen = partial(_listen, theirs, self.seconds, _give_up)
        threading.Thread(target=listen, daemon=True).start()

    def acknowledge(self) -> None:
        """A signal has come where it can be answered."""
        if self._ours is not None:
            with suppress(OSError):
                self._ours.send(_ANSWERED)

    def end(self) -> None:
        """Listen no longer."""
        if self._ours is not None:
            signal.set_wakeup_fd(self._previous)
            self._ours.close()
            self._ours = None

    def _begin_guard(self, theirs: socket.socket) -> socket.socket:
        """A process that passes on what is written to `theirs`; where that comes out."""
        assert self._ours is not None
        process = os.getpid()
        end, passed_on = socket.socketpair()
        if os.fork():
            theirs.close()
            passed_on.close()
            return end
        for one in (self._ours, end):
            one.close()
        for number in (signal.SIGINT, *_END_SIGNALS):
            signal.signal(number, signal.SIG_IGN)
        try:
            kill = partial(_kill, process)
            _listen(theirs, 2 * self.seconds, kill, passed_on.send)
        finally:
            os._exit(0)


def _listen(
    source: socket.socket,
    seconds: float,
    give_up: Callable[[int], None],
    pass_on: Callable[[bytes], object] = lambda _: None,
) -> None:
    """Read numbers of signals; give up on one that is not said to be heard in time."""
    number, deadline = 0, 0.0
    with suppress(OSError, ValueError), source:
        while True:
            source.settimeout(max(deadline - time.monotonic(), 0.001) if number else None)
            try:
                came = source.recv(1)
            except TimeoutError:
                give_up(number)
                return
            if not came:
                return
            pass_on(came)
            if came == _ANSWERED:
                number = 0
            elif not number and came[0] in (signal.SIGINT, *_END_SIGNALS):
                number, deadline = came[0], time.monotonic() + seconds


def _end_words(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"


def _give_up(number: int) -> None:
    """End this process where it is; files that are half written go."""
    if "absentia.files" in sys.modules:
        from absentia.files import remove_unfinished

        remove_unfinished()
    words = f"{_end_words(number)} in the middle of a long step; {_describe_files()}"
    os.write(2, f"absentia: {words}\n".encode())
    os._exit(128 + number)


def _kill(process: int, number: int) -> None:
    """End a process that nothing else ends; it does not say what it has written, but wrote whole files."""
    words = f"{_end_words(number)} in the middle of a long step, killed; every file is whole or as it was"
    with suppress(OSError):
        os.write(2, f"absentia: {words}\n".encode())
    os.kill(process, signal.SIGKILL)


_watchdog = _SignalWatchdog()


@contextmanager
def handle_signals() -> Iterator[None]:
    """Inside, signals that ask to end raise :class:`_Terminated`; those that are ignored stay ignored.

    After the first the others are ignored, as what is half done is being undone then.
    """
    if threading.current_thread() is not threading.main_thread():  # only there can they be handled
        yield
        return
    asked = [number for number in _END_SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, *asked)}
    _watchdog.begin()

    def end(number: int, frame: FrameType | None) -> None:
        for one in asked:
            signal.signal(one, signal.SIG_IGN)
        raise _Terminated(number)

    for number in asked:
        signal.signal(number, end)
    try:
        yield
    finally:
        _watchdog.end()
        for number, handler in previous.items():
            if handler is not None:  # None: it was not installed from Python
                signal.signal(number, handler)


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C only makes the yielded function return True; the second interrupts."""
    interrupts = 0

    def is_stopped() -> bool:
        if interrupts:
            _watchdog.acknowledge()
        return interrupts > 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            raise KeyboardInterrupt
        err.print("stopping after this iteration (Ctrl-C again to give up)")

    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield is_stopped
    finally:
        signal.signal(signal.SIGINT, previous)


def _ignore_signals() -> None:
    """No signal interrupts the last words; :func:`handle_signals` puts the handlers back."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, *_END_SIGNALS):
            signal.signal(number, signal.SIG_IGN)


# ------------------------------------------------------------------------------------------- endings


def _describe_end(error: BaseException) -> tuple[int, str]:
    """Exit code and sentence for whatever came out of a command; no sentence for a closed pipe."""
    if isinstance(error, KeyboardInterrupt | _Terminated):
        number = int(error.args[0]) if isinstance(error, _Terminated) else int(signal.SIGINT)
        return 128 + number, f"{_end_words(number)}; {_describe_files()}"
    if isinstance(error, BrokenPipeError):
        return 128 + getattr(signal, "SIGPIPE", 13), ""
    said = error.exception_message if isinstance(error, ValidationError) else ""  # our sentence alone
    text = " ".join((said or str(error)).split())
    if isinstance(error, MemoryError):
        return _BAD_CALL, (
            f"out of memory{': ' + text if text else ''}; take fewer samples (memory grows with their "
            "square), or a machine with more memory"
        )
    if isinstance(error, OSError):
        return _system(error)
    arithmetic = type(error).__name__ in ("LinAlgError", "NotPositiveDefiniteError")  # ValueErrors too
    if isinstance(error, CycloptsError | ValueError | ImportError) and text and not arithmetic:
        return _BAD_CALL, text
    return _DEFECT, (
        f"{type(error).__name__}: {text or 'without a word'}; this is a defect of absentia: please report "
        f"it, with what {_TRACEBACK}=1 shows"
    )


def _system(error: OSError) -> tuple[int, str]:
    """What the operating system refused."""
    reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _DEFECT, f"{where}{reason}; make room on the disk, or write elsewhere"
    if error.errno == errno.ENOMEM:
        words = "take fewer samples, or a machine with more memory"
        return _BAD_CALL, f"out of memory: {where}{reason}; {words}"
    return (_BAD_CALL if error.errno in _NAMES or error.errno is None else _DEFECT), f"{where}{reason}"


def report_error(error: BaseException) -> int:
    """Say what happened and give the exit code; never fails itself."""
    _watchdog.acknowledge()
    _ignore_signals()
    with suppress(Exception):
        _silence_broken_streams()
    code, sentence = _describe_end(error)
    with suppress(Exception):
        if os.environ.get(_TRACEBACK, "0") not in ("", "0"):
            err.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)
        if sentence:
            err.print(f"absentia: {escape_text(sentence)}", soft_wrap=True)
    return code


def run_process(command: Callable[[], None]) -> None:
    """Run a command as all that this process does: after a signal it ends, whatever its threads do."""
    _watchdog.guarded = hasattr(os, "fork")
    try:
        command()
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > 128:
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            os._exit(leaving.code)
        raise


def _silence_broken_streams() -> None:
    """What is still to be written to a standard output that cannot take it goes nowhere.

    Otherwise Python tries again when it ends, and complains.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
