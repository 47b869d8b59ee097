"""However a command ends, it ends with one sentence and an exit code, and no file is half written."""

import errno
import os
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from absentia import io
from absentia.app import _exit_codes as exit_codes
from absentia.app import report
from absentia.app.cli import _main as cli
from conftest import random_problem
from helpers.command_line import Result, refused, run

FEW = """
from absentia.experiment import _validation
found = _validation.list_entries("completer")
_validation.list_entries = lambda kind: {name: found[name] for name in ("mean", "zero", "knn")}
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def folder(tmp_path):
    """A folder with kernels in it, entered."""
    io.write(tmp_path / "k.npz", random_problem(20, 3, 0.3))
    return tmp_path


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


def one_sentence(result, code, *words):
    assert result.returncode == code, result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("absentia: ")
    for word in words:
        assert word in lines[0], lines[0]


# --------------------------------------------------------------------------------------------- errors


def too_large(*_, **__):
    return np.empty((10**6, 10**9))


ERRORS = [
    (too_large, 2, ["out of memory: Unable to allocate", "fewer samples"]),
    (raising(MemoryError()), 2, ["out of memory; take fewer samples"]),
    (
        raising(OSError(errno.ENOSPC, "No space left on device", "o.npz")),
        1,
        ["o.npz: No space", "make room"],
    ),
    (raising(OSError(errno.ENOMEM, "Cannot allocate memory")), 2, ["out of memory: Cannot allocate"]),
    (raising(OSError(errno.EIO, "Input/output error")), 1, ["Input/output error"]),
    (raising(PermissionError(errno.EACCES, "Permission denied", "k.npz")), 2, ["k.npz: Permission denied"]),
    (raising(SystemError("0x110000")), 1, ["SystemError: 0x110000", "a defect", "ABSENTIA_TRACEBACK=1"]),
    (raising(zipfile.BadZipFile("no zip")), 1, ["BadZipFile: no zip", "a defect"]),
    (raising(RuntimeError("Symlink loop")), 1, ["RuntimeError: Symlink loop", "a defect"]),
    (raising(RecursionError("maximum recursion depth exceeded")), 1, ["RecursionError", "a defect"]),
    (raising(KeyError("view_a")), 1, ["KeyError: 'view_a'", "a defect"]),
    (raising(TypeError("'NoneType' object")), 1, ["TypeError: 'NoneType' object", "a defect"]),
    (raising(AssertionError()), 1, ["AssertionError: without a word", "a defect"]),
    (raising(np.linalg.LinAlgError("SVD did not converge")), 1, ["SVD did not converge", "a defect"]),
    (raising(ValueError("line one\nline two")), 2, ["line one line two"]),
    (raising(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")), 2, ["invalid start byte"]),
]


@pytest.mark.parametrize(("read", "code", "words"), ERRORS, ids=[w[0][:40] for _, _, w in ERRORS])
@pytest.mark.parametrize(
    "command", [["inspect", "k.npz"], ["complete", "k.npz", "-o", "o.npz"]], ids=lambda c: c[0]
)
def test_whatever_goes_wrong_there_is_one_sentence_and_a_code(
    folder, monkeypatch, command, read, code, words
):
    monkeypatch.setattr(io, "open_data", read)
    one_sentence(run(*command, cwd=folder), code, *words)
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz"]


@pytest.mark.parametrize(("wanted", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_traceback_is_there_for_who_asks(folder, monkeypatch, wanted, shown):
    monkeypatch.setenv("ABSENTIA_TRACEBACK", wanted)
    monkeypatch.setattr(io, "open_data", raising(KeyError("view_a")))
    result = run("inspect", "k.npz", cwd=folder)
    assert result.returncode == 1
    assert ("Traceback" in result.stderr) == shown
    assert result.stderr.splitlines()[-1].startswith("absentia: KeyError")


def test_links_that_go_round_in_a_circle_are_refused(folder):
    for name in ("loop.npz", "loop.html"):
        (folder / name).symlink_to(name)
    for arguments in (
        ["-o", "loop.npz"],
        ["-o", "o.npz", "--report", "loop.html"],
        ["-o", "loop.npz/o.npz"],
    ):
        refused(run("complete", "k.npz", *arguments, cwd=folder), "loop")
    refused(run("complete", "loop.npz", "-o", "o.npz", cwd=folder), "loop.npz")


@pytest.mark.slow
def test_memory_that_a_limit_withholds_is_said_to_be_missing(folder):
    """An honest shortage: the kernels of some thousand samples in little address space."""
    code = (
        "import resource, sys; from absentia import io; from absentia.app.cli import _main as cli\n"
        "import numpy as np\n"
        "def read(path, **options):\n"
        "    held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (held + 2**28, resource.RLIM_INFINITY))\n"
        "    return io.LoadedData(io.from_arrays({'view_a': np.random.default_rng(0).normal(size=(12000, 2))}))\n"
        "io.open_data = read; cli.main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "complete", "k.npz", "-o", "o.npz", "--method", "mean"]
    command += ["--approx", "none"]
    go = partial(subprocess.run, capture_output=True, text=True, cwd=folder, timeout=120)
    done = go(command)
    words = "take about 3.46 GB with what is made of them", "fewer samples", "ABSENTIA_MEMORY"
    one_sentence(Result(done.returncode, done.stdout, done.stderr), 2, *words)
    done = go(command, env=os.environ | {"ABSENTIA_MEMORY": "64G"})  # who is told otherwise tries
    one_sentence(Result(done.returncode, done.stdout, done.stderr), 2, "out of memory: ", "fewer samples")
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz"]


# -------------------------------------------------------------------------------------------- outputs


def run_into(stream, *arguments):
    """The command with its standard output to `stream`."""
    code, said = 0, StringIO()
    with warnings.catch_warnings(), redirect_stdout(stream), redirect_stderr(said):
        try:
            cli.main([str(x) for x in arguments])
        except SystemExit as leaving:
            code = leaving.code
    return Result(code or 0, "", said.getvalue())


@pytest.mark.parametrize("arguments", [["complete", "--list"], ["--help"]], ids=lambda a: a[-1])
def test_a_closed_pipe_ends_quietly(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        result = run_into(stream, *arguments)
    assert result == Result(128 + signal.SIGPIPE, "", "")


def test_a_closed_pipe_does_not_keep_the_files_from_being_written(folder):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        arguments = ["complete", folder / "k.npz", "-o", folder / "o.npz", "--report", folder / "r.html"]
        assert run_into(stream, *arguments).returncode == 128 + signal.SIGPIPE
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz", "o.npz", "r.html"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_under_standard_output_is_said():
    with open("/dev/full", "w") as stream:
        result = run_into(stream, "complete", "--list")
    one_sentence(result, 1, "No space left on device", "make room")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_under_standard_error_leaves_the_code():
    command = [sys.executable, "-m", "absentia", "inspect", "gone.npz"]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stdout=full, stderr=full, timeout=120).returncode == 2


def test_characters_that_the_terminal_lacks_do_not_matter(folder):
    np.savez(folder / "v.npz", **{"view_größe": np.ones((2, 1))})
    with open(folder / "out.txt", "w", encoding="ascii") as stream:
        result = run_into(stream, "inspect", folder / "v.npz")
    assert result.returncode == 0, result.stderr
    assert "gr\\xf6\\xdfe" in (folder / "out.txt").read_text()


# -------------------------------------------------------------------------------------------- signals

COMPLETE = ["complete", "k.npz", "-o", "o.npz", "--method", "mean", "--report", "r.html"]
SIGNALS = [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]


@pytest.fixture
def heard(monkeypatch):
    """Signals are not ignored from birth, as they are where the tests run in the background."""
    monkeypatch.setattr(exit_codes, "_END_SIGNALS", (signal.SIGTERM, signal.SIGHUP))
    before = {number: signal.getsignal(number) for number, _ in SIGNALS}
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "word"), SIGNALS, ids=[w for _, w in SIGNALS])
def test_what_was_written_before_a_signal_is_there(folder, monkeypatch, heard, number, word):
    monkeypatch.setattr(report, "save", lambda *_: signal.raise_signal(number))
    before = signal.getsignal(number)
    result = run(*COMPLETE, cwd=folder)
    one_sentence(result, 128 + number, word, "; every file is whole, or as it was")
    assert io.read(folder / "o.npz").observed.all()
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz", "o.npz"]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(("number", "word"), SIGNALS, ids=[w for _, w in SIGNALS])
def test_a_signal_while_a_file_is_written_leaves_none(folder, monkeypatch, heard, number, word):
    (folder / "o.npz").write_bytes(b"what was there")

    def half(file, *_, **__):
        file.write(b"half")
        signal.raise_signal(number)

    monkeypatch.setattr(np.lib.format, "write_array", half)
    one_sentence(run(*COMPLETE, "--force", cwd=folder), 128 + number, word)
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz", "o.npz"]
    assert (folder / "o.npz").read_bytes() == b"what was there"


def test_further_signals_do_not_disturb_the_end(folder, monkeypatch, heard):
    def insist(*_, **__):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)

    monkeypatch.setattr(io, "open_data", insist)
    one_sentence(run(*COMPLETE, cwd=folder), 143, "ended by SIGTERM; every file is whole, or as it was")


def test_signals_that_are_ignored_stay_ignored(folder, monkeypatch, heard):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    save = report.save
    monkeypatch.setattr(report, "save", lambda *a: signal.raise_signal(signal.SIGHUP) or save(*a))
    assert run(*COMPLETE, cwd=folder).returncode == 0
    assert (folder / "r.html").exists()


KILLER = """
import os, random, signal, sys
from absentia import io
from absentia.app.cli import _main as cli
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

def start(number=0, most=None):  # the command in a process that sends itself a signal after so many calls
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        calls, build = 0, cli._command_line

        def count(*_):
            nonlocal calls
            calls += 1
            if calls == most:
                os.kill(os.getpid(), number)

        def begin(verb):
            sys.setprofile(count)
            return build(verb)

        cli._command_line, code = begin, 0
        try:
            cli.main(sys.argv[2:])
        except SystemExit as leaving:
            code = leaving.code or 0
        sys.setprofile(None)
        os.write(writing, calls.to_bytes(8))
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    calls = int.from_bytes(os.read(reading, 8))
    os.close(reading), os.close(writing)
    return code, calls

code, whole = start()
print(0, code, [])
chance = random.Random(0)
for _ in range(int(sys.argv[1])):
    for name in ("o.npz", "r.html"):
        if os.path.exists(name):
            os.unlink(name)
    number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    code, _ = start(number, 1 + int(chance.random() * 1.1 * whole))
    for name in ("o.npz", "r.html"):
        if os.path.exists(name):
            whole_file = io.read(name).observed.all() if name == "o.npz" else "</html>" in open(name).read()
            assert whole_file, name
    print(int(number), code, sorted(os.listdir(".")))
"""


def kill_at_random(folder, times):
    """Exit codes and files of as many commands, each killed somewhere on its way."""
    command = [sys.executable, "-c", FEW + KILLER, str(times), *COMPLETE]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines() if line[0].isdigit()]
    return done.stderr, [(int(n), int(code), eval(files)) for n, code, files in lines[1:]]


def check_kills(said, kills):
    for number, code, files in kills:
        assert set(files) <= {"k.npz", "o.npz", "r.html"}, files
        assert code == 128 + number or (code == 0 and "r.html" in files), (number, code, files)
    assert "every file is whole" in said


def test_killed_at_any_time_nothing_half_is_left(folder):
    said, kills = kill_at_random(folder, 2)
    assert len(kills) == 2
    check_kills(said, kills)


@pytest.mark.slow
def test_an_interrupt_while_the_command_line_loads_is_one_sentence_too():
    code = (
        "import runpy, sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'absentia.app.cli._main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "runpy.run_module('absentia', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    one_sentence(Result(done.returncode, done.stdout, done.stderr), 130, "interrupted; nothing was written")


# A loop in compiled code that never ends; handlers of Python only run after it.  The signal comes from inside.
LOOP = """
import ctypes, itertools, os, signal, sys
import numpy as np
from absentia import io
from absentia.__main__ import main
from absentia.app import _exit_codes as exit_codes
from absentia.app.cli import _main as cli

number, nogil = signal.Signals(int(sys.argv[1])), sys.argv[2] == "lets others run"
signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
send = (ctypes.CDLL if nogil else ctypes.PyDLL)(None)["raise"]
send.argtypes, send.restype = [ctypes.c_int], ctypes.c_int

if nogil:
    import numba

    @numba.njit(nogil=True)
    def run(number, state):
        if number:
            send(number)
        while state[0]:
            state[1] += 1

    run(0, np.zeros(2))
else:
    def run(number, state):  # never back in the interpreter, and the lock never let go
        sum(itertools.chain(map(send, [number]), itertools.repeat(0)))
io.open_data = lambda *_, **__: run(int(number), np.ones(2))
exit_codes._watchdog.seconds = 0.2
sys.argv = ["absentia", "complete", "k.npz", "-o", "o.npz"]
cli.main() if nogil else main()
"""


@pytest.mark.slow_params("SIGTERM")
@pytest.mark.parametrize(
    ("number", "word"),
    [SIGNALS[1], pytest.param(*SIGNALS[0], marks=pytest.mark.slow)],
    ids=["SIGTERM", "SIGINT"],
)
def test_a_compiled_loop_does_not_keep_a_signal_waiting(folder, number, word):
    pytest.importorskip("numba")
    command = [sys.executable, "-c", LOOP, str(int(number)), "lets others run"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    result = Result(done.returncode, done.stdout, done.stderr)
    one_sentence(
        result, 128 + number, word, "in the middle of a long step; every file is whole, or as it was"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no second process here")
def test_neither_does_one_that_lets_no_other_thread_run(folder):
    command = [sys.executable, "-c", LOOP, str(int(signal.SIGTERM)), "lets nobody run"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    result = Result(done.returncode, done.stdout, done.stderr)
    one_sentence(
        result, -signal.SIGKILL, "SIGTERM in the middle of a long step, killed; every file is whole"
    )
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz"]


READ = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from absentia import io
from absentia.__main__ import main
from absentia.app import _exit_codes as exit_codes

def read():
    print("reads", flush=True)
    return open("pipe").read()

def wait(path, **options):
    if WAITS:
        with ThreadPoolExecutor() as pool:  # which waits once more at its end
            pool.submit(read).result()
    else:
        ThreadPoolExecutor().submit(read).result()

signal.signal(signal.SIGTERM, signal.SIG_DFL)
io.open_data, exit_codes._watchdog.seconds = wait, 0.2
main()
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize(
    "waits", [pytest.param(False, marks=pytest.mark.slow), pytest.param(True, marks=pytest.mark.slow)]
)
def test_a_read_that_blocks_does_not_keep_a_signal_waiting(folder, waits):
    """A named pipe that nobody writes to, read in a thread: Python waits for its threads at the end."""
    os.mkfifo(folder / "pipe")
    code = f"WAITS = {waits}\n{READ}"
    command = [sys.executable, "-c", code, "complete", "k.npz", "-o", "o.npz"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, **streams) as process:
        assert process.stdout.readline() == "reads\n"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=300)
    words = "SIGTERM in the middle of a long step; " if waits else "SIGTERM; "
    one_sentence(
        Result(process.returncode, out, err), 143, f"ended by {words}every file is whole, or as it was"
    )
    assert sorted(p.name for p in folder.iterdir()) == ["k.npz", "pipe"]


@pytest.mark.slow
def test_files_that_are_half_written_go_where_a_process_ends_in_the_middle(tmp_path):
    code = (
        "import sys; from absentia.files import remove_unfinished, write_atomically; import os\n"
        "write_atomically('o.npz', lambda file: file.write(b'half') and remove_unfinished() or os._exit(5))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=300).returncode == 5
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------- these tests' own

ENDLESS = """
import os
from helpers import trial_functions as trying
from absentia import io
from helpers.command_line import run

def test_a_command_in_compiled_code(monkeypatch):
    def read(*_, **__):
        os.write(os.open("said", os.O_WRONLY), b"%d" % os.getpid())
        trying.deaf({})

    monkeypatch.setattr(io, "open_data", read)
    run("inspect", "k.npz")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(
    "processes", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)]
)
def test_a_run_of_pytest_ends_at_once_too(tmp_path, processes):
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    os.mkfifo(tmp_path / "said")
    handle = os.open(tmp_path / "said", os.O_RDWR)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    env.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-n", str(processes), "test_endless.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)
    try:
        busy = int(os.read(handle, 20))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == -signal.SIGTERM
        while os.path.exists(f"/proc/{busy}/exe"):  # until the run's own limit
            time.sleep(0.05)
    finally:
        process.kill()
        os.close(handle)
