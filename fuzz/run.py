"""Damaged files for every reader: each may only return or raise FileError.

    python fuzz/run.py --inputs 100000 --seconds 3600

Files are valid ones (``fuzz/corpus.py``) damaged by ``tests/helpers/corrupted_files.py`` and, where
atheris is installed,
by libFuzzer, which keeps whatever reaches new lines of the readers.  Without atheris the damage is random.
Readers run under a limit of memory (RLIMIT_AS), a ceiling for arrays (ABSENTIA_MAX_BYTES) and a limit of
time for each input.  What fails is kept in ``--failures``, and the last line sums up::

    100000 inputs (atheris), 0 crashes, 0 hangs, largest allocation 71 MB (ceiling of arrays 64 MB)

The largest allocation is the most that Python and NumPy held while one input was read, used or not, over
what they held before: arrays up to the ceiling, and the copies that become views or kernels of them.
Exit code 1 if anything crashed or hung.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import tracemalloc
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
sys.path.insert(0, str(HERE))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: threads take address space

CEILING, MEMORY = 64 << 20, 1 << 30


class HangError(BaseException):
    """An input took longer than it may."""


def address_space():
    """Bytes of address space that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


class Target:
    """Reads one input after another and counts what happens."""

    def __init__(self, options):
        import corpus

        from helpers import corrupted_files

        self.mutations, self.options = corrupted_files, options
        self.readers = list(corrupted_files.READERS)
        self.seeds = corpus.load(options.corpus)
        self.folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.counts = {"inputs": 0, "taken": 0, "crashes": 0, "hangs": 0, "largest": 0}
        self.kept = set()
        # every reader once: what they import is no allocation of theirs
        for reader, files in self.seeds.items():
            for data in files:
                self._read(reader, data)
        self.counts["largest"] = 0
        self.began, self.start = time.monotonic(), address_space()
        self.done = False

    def limit(self):
        """From now on little memory, and a way out of a hang in compiled code."""
        resource.setrlimit(resource.RLIMIT_AS, (self.start + MEMORY, resource.RLIM_INFINITY))
        signal.signal(signal.SIGALRM, self._hang)

    @staticmethod
    def _hang(*_):
        raise HangError

    def _read(self, reader, data):
        path = self.mutations.place(self.folder, reader)
        path.write_bytes(data)
        # never stopped: a thread of a library that allocates meanwhile would end the interpreter
        tracemalloc.start()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            return self.mutations.attempt(reader, path)
        finally:
            largest = tracemalloc.get_traced_memory()[1] - before
            self.counts["largest"] = max(self.counts["largest"], largest)

    def __call__(self, data):
        """One input: the first byte chooses the reader, the rest is the file."""
        if self.done or not data:
            return
        reader = self.readers[data[0] % len(self.readers)]
        signal.setitimer(signal.ITIMER_REAL, self.options.time_limit)
        try:
            self.counts["taken"] += self._read(reader, data[1:])
        except HangError:
            self._failed("hangs", reader, data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self._failed("crashes", reader, data)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.counts["inputs"] += 1
        if self.counts["inputs"] % 50 == 0:
            self.report()
        over = time.monotonic() - self.began > self.options.seconds
        if self.counts["inputs"] >= self.options.inputs or over:
            self.report()
            self.done = True

    def _failed(self, kind, reader, data):
        self.counts[kind] += 1
        trace = traceback.format_exc()
        where = re.sub(r"0x[0-9a-f]+|\d+", "#", trace[-300:])
        if where not in self.kept and len(self.kept) < 100:
            self.kept.add(where)
            name = f"{kind}-{hashlib.sha256(data).hexdigest()[:12]}"
            folder = Path(self.options.failures)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data[1:])
            (folder / f"{name}.txt").write_text(f"{reader}\n{trace}")

    def report(self):
        """Counts so far, for the parent: libFuzzer ends the process as it likes."""
        place = Path(self.options.report)
        beside = place.with_suffix(".new")
        beside.write_text(json.dumps(self.counts))
        beside.replace(place)

    def draw(self, rng):
        """A damaged file for a reader chosen at random."""
        k = rng.randrange(len(self.readers))
        if self.readers[k] in self.mutations.SLOW and rng.random() < 0.7:  # fewer of what takes long
            k = rng.randrange(len(self.readers))
        if rng.random() < 0.002 and self.mutations.READERS[self.readers[k]][1] == ".npz":
            return bytes([k]) + self.mutations.bomb(rng)
        data = rng.choice(self.seeds[self.readers[k]])
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            data = self.mutations.damaged(rng, self.readers[k], data)
        return bytes([k]) + data


def random_run(target, seed):
    """Without feedback: damage and read."""
    rng = random.Random(seed)
    target.limit()
    while not target.done:
        target(target.draw(rng))


def guided_run(target, options):
    """libFuzzer chooses what to damage further, by the lines that it reached."""
    import atheris

    def mutate(data, max_size, seed):
        rng = random.Random(seed)
        if len(data) < 2 or rng.random() < 0.15:
            return target.draw(rng)[:max_size]
        if rng.random() < 0.3:
            return atheris.Mutate(data, max_size)
        reader = target.readers[data[0] % len(target.readers)]
        return (data[:1] + target.mutations.damaged(rng, reader, data[1:]))[:max_size]

    folder = Path(tempfile.mkdtemp())
    for k, reader in enumerate(target.readers):
        for i, data in enumerate(target.seeds[reader]):
            (folder / f"{k}-{i}").write_bytes(bytes([k]) + data)
    for name, module in list(sys.modules.items()):
        if name.startswith(
            ("absentia.files.", "absentia.data.", "absentia.methods.models", "absentia.experiment.")
        ):
            _instrument(atheris, module)
    arguments = [sys.argv[0], f"-seed={options.seed + 1}", "-max_len=100000", "-rss_limit_mb=0",
                 "-timeout=0", "-len_control=0", f"-runs={options.inputs * 2}",
                 f"-max_total_time={options.seconds}", "-print_final_stats=0", "-verbosity=0",
                 str(folder)]  # fmt: skip

    def once(data):
        target(data)
        if target.done:
            os._exit(0)  # everything is reported

    atheris.Setup(arguments, once, custom_mutator=mutate, enable_python_coverage=True)
    target.limit()
    atheris.Fuzz()


def _instrument(atheris, module):
    """Watch the lines of a module that is imported already."""
    for thing in list(vars(module).values()):
        owner = getattr(thing, "__module__", None) == module.__name__
        if owner and isinstance(thing, type):
            for name, method in list(vars(thing).items()):
                if callable(method) and hasattr(method, "__code__"):
                    with contextlib.suppress(Exception):
                        setattr(thing, name, atheris.instrument_func(method))
        elif owner and hasattr(thing, "__code__"):
            with contextlib.suppress(Exception):
                thing.__code__ = atheris.instrument_func(thing).__code__


def child(options):
    target = Target(options)
    target.report()
    if options.engine == "atheris":
        guided_run(target, options)
    else:
        random_run(target, options.seed)


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=1800, help="stop after so long")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds that one input may take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["auto", "atheris", "random"], default="auto")
    parser.add_argument(
        "--corpus", default=str(HERE / "corpus"), help="folder of valid files, made if not there"
    )
    parser.add_argument("--failures", default=str(HERE / "failures"))
    parser.add_argument("--report", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.engine == "auto":
        from importlib.util import find_spec

        options.engine = "atheris" if find_spec("atheris") else "random"
    return options


def watched(command, environment, report, patience):
    """Exit code of the child, None if it had to be ended: a hang in compiled code hears no signal."""
    process = subprocess.Popen(command, env=environment)
    last, seen = time.monotonic(), None
    while process.poll() is None:
        time.sleep(0.5)
        now = report.stat().st_mtime_ns if report.exists() else None
        if now != seen:
            last, seen = time.monotonic(), now
        if time.monotonic() - last > patience:
            process.kill()
            process.wait()
            return None
    return process.returncode


def main():
    options = parsed()
    if options.report:
        child(options)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        # one arena: else every thread reserves 64 MB of address space
        environment = os.environ | {"ABSENTIA_MAX_BYTES": str(CEILING), "MALLOC_ARENA_MAX": "1"}
        command = [
            sys.executable,
            __file__,
            *sys.argv[1:],
            "--engine",
            options.engine,
            "--report",
            str(report),
        ]
        code = watched(command, environment, report, 60 + 50 * options.time_limit)
        if not report.exists():
            print("the readers could not be started", file=sys.stderr)
            return 1
        found = json.loads(report.read_text())
    if code != 0 and found["inputs"] < options.inputs:
        found["hangs" if code is None else "crashes"] += 1  # of the interpreter itself
    print(
        f"{found['inputs']} inputs ({options.engine}), {found['crashes']} crashes, {found['hangs']} hangs, "
        f"largest allocation {found['largest'] / 1e6:.0f} MB (ceiling of arrays {CEILING / 1e6:.0f} MB); "
        f"{found['taken']} were taken"
    )
    return int(bool(found["crashes"] or found["hangs"]))


if __name__ == "__main__":
    sys.exit(main())
