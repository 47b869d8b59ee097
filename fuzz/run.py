"""Damaged files for every reader: each may only return or raise FileError.

    python fuzz/run.py --inputs 100000 --seconds 3600

Files are valid ones (``fuzz/corpus.py``) damaged by ``tests/helpers/corrupted_files.py`` and, where
atheris is installed, by libFuzzer, which keeps whatever reaches new lines of the readers.  Without atheris
the damage is random.  Readers run in a child process under a limit of memory (RLIMIT_AS), a ceiling for
arrays (ABSENTIA_MAX_BYTES) and a limit of CPU time for each input.  What fails is kept in ``--failures``.
An input that ends the child itself is kept too, and another child goes on with the next seed.  The last
lines say what each reader was given, and the sum::

    100000 inputs (random), 0 crashes, 0 hangs, largest allocation 71 MB (ceiling of arrays 64 MB)

The largest allocation is the most that Python and NumPy held while one input was read, used or not, over
what they held before: arrays up to the ceiling, and the copies that become views or kernels of them.  It
is measured (tracemalloc, which makes everything slower) on the first twentieth of the inputs; the limit
of memory holds for all.  Exit code 1 if anything crashed or hung.
"""

import argparse
import contextlib
import faulthandler
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
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
sys.path.insert(0, str(HERE))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: threads take address space

CEILING, MEMORY = 64 << 20, 1 << 30
START_SECONDS = 180  # that a child may take for its imports and the valid files
MAX_KEPT = 100  # failures
# what a child leaves in its folder: its counts, the input that it reads, and what it said when it ended
COUNTS, INPUT, SAID = "counts.json", "input", "said"


class HangError(BaseException):
    """An input took longer than it may."""


def address_space():
    """Bytes of address space that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def keep_failure(folder, kind, reader, data, trace, where):
    """Keep an input and what happened, once for each reader and place `where` it happened."""
    where = reader + re.sub(r"0x[0-9a-f]+|\d+", "#", where)
    name = f"{kind}-{hashlib.sha256(where.encode()).hexdigest()[:12]}"
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / name).exists() and len(list(folder.iterdir())) < 2 * MAX_KEPT:
        (folder / name).write_bytes(data)
        (folder / f"{name}.txt").write_text(f"{reader}\n{trace}")
    return folder / name


class Target:
    """Reads one input after another and counts what happens."""

    def __init__(self, options):
        import corpus

        from helpers import corrupted_files

        self.mutations, self.options = corrupted_files, options
        self.readers = list(corrupted_files.READERS)
        self.seeds = corpus.load(options.corpus)
        self.folder = Path(options.child)
        self.counts, self.largest = Counter(), 0
        if options.trace:
            # never stopped: a thread of a library that allocates meanwhile would end the interpreter
            tracemalloc.start()
        # every reader once: what they import is no allocation of theirs
        for reader, files in self.seeds.items():
            for data in files:
                self._read(reader, data)
        self.began, self.start = time.monotonic(), address_space()
        self.inputs = self.largest = 0
        self.done = False

    def limit(self):
        """From now on little memory, and a way out of a hang in compiled code."""
        resource.setrlimit(resource.RLIMIT_AS, (self.start + MEMORY, resource.RLIM_INFINITY))
        signal.signal(signal.SIGPROF, self._hang)

    @staticmethod
    def _hang(*_):
        raise HangError

    def _read(self, reader, data):
        path = self.mutations.place(self.folder, reader)
        path.write_bytes(data)
        if not self.options.trace:
            return self.mutations.attempt(reader, path)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            return self.mutations.attempt(reader, path)
        finally:
            self.largest = max(self.largest, tracemalloc.get_traced_memory()[1] - before)

    def __call__(self, data):
        """One input: the first byte chooses the reader, the rest is the file."""
        if self.done or not data:
            return
        reader = self.readers[data[0] % len(self.readers)]
        (self.folder / INPUT).write_bytes(data)  # if it ends this process, the parent finds it there
        signal.setitimer(signal.ITIMER_PROF, self.options.time_limit)
        try:
            self.counts[f"{reader}: taken"] += self._read(reader, data[1:])
        except HangError:
            self._failed("hangs", reader, data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self._failed("crashes", reader, data)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.counts[f"{reader}: inputs"] += 1
        self.inputs += 1
        self.report()
        over = time.monotonic() - self.began > self.options.seconds
        self.done = self.inputs >= self.options.inputs or over

    def _failed(self, kind, reader, data):
        self.counts[f"{reader}: {kind}"] += 1
        trace = traceback.format_exc()
        keep_failure(self.options.failures, kind, reader, data[1:], trace, trace[-300:])

    def report(self):
        """Counts so far, for the parent: libFuzzer, or a fault, ends the process at any time."""
        beside = self.folder / f"{COUNTS}.new"
        beside.write_text(json.dumps({"largest": self.largest, "counts": self.counts}))
        beside.replace(self.folder / COUNTS)

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
    faulthandler.enable()  # says where a library ends the process
    target = Target(options)
    target.report()
    if options.engine == "atheris":
        guided_run(target, options)
    else:
        random_run(target, options.seed)


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=1800, help="stop after so long")
    parser.add_argument("--time-limit", type=float, default=5.0, help="CPU seconds that one input may take")
    parser.add_argument("--seed", type=int, default=0, help="of the first child; the next counts on")
    parser.add_argument("--engine", choices=["auto", "atheris", "random"], default="auto")
    parser.add_argument(
        "--corpus", default=str(HERE / "corpus"), help="folder of valid files, made if not there"
    )
    parser.add_argument("--failures", default=str(HERE / "failures"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.engine == "auto":
        from importlib.util import find_spec

        options.engine = "atheris" if find_spec("atheris") else "random"
    return options


def run_child(folder, arguments, patience):
    """Exit code of the child, None if it had to be ended: a hang in compiled code hears no signal."""
    # one arena: else every thread reserves 64 MB of address space
    environment = os.environ | {"ABSENTIA_MAX_BYTES": str(CEILING), "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, __file__, *sys.argv[1:], *map(str, arguments), "--child", str(folder)]
    with (folder / SAID).open("w") as said:
        process = subprocess.Popen(command, env=environment, stderr=said)
    counts = folder / COUNTS
    last, seen = time.monotonic() + START_SECONDS, None
    while process.poll() is None:
        time.sleep(0.2)
        now = counts.stat().st_mtime_ns if counts.exists() else None
        if now != seen:
            last, seen = time.monotonic(), now
        if time.monotonic() - last > patience:
            process.send_signal(signal.SIGABRT)  # faulthandler says where it is
            process.wait()
            return None
    return process.returncode


def read_death(folder, code, options):
    """Which reader's input ended a child, and how; the input is kept."""
    from helpers import corrupted_files

    kind = "hangs" if code is None else "crashes"
    data = (folder / INPUT).read_bytes()
    reader = list(corrupted_files.READERS)[data[0] % len(corrupted_files.READERS)]
    how = "ended after it heard no signal" if code is None else f"exit code {code}"
    said = (folder / SAID).read_text(errors="replace")
    trace = said[max(said.find("Fatal Python error"), 0) :].partition("\nExtension modules")[0]
    place = keep_failure(options.failures, kind, reader, data[1:], f"{how}\n{trace}", trace[:500])
    print(f"{reader}: an input ended the process ({how}); kept as {place}", flush=True)
    return {f"{reader}: {kind}": 1, f"{reader}: inputs": 1}


def count_inputs(counts, what="inputs"):
    return sum(count for key, count in counts.items() if key.endswith(f": {what}"))


def run_children(options):
    """One child after another until all inputs are read: counts by reader, and the largest allocation."""
    counts, largest, began = Counter(), 0, time.monotonic()
    traced, seed = options.inputs // 20, options.seed
    while (done := count_inputs(counts)) < options.inputs:
        left = options.seconds - (time.monotonic() - began)
        if left <= 0:
            break
        trace = done < traced
        arguments = ["--engine", options.engine, "--seed", seed, "--seconds", left]
        arguments += ["--inputs", (traced if trace else options.inputs) - done, *["--trace"] * trace]
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
            folder = Path(name)
            code = run_child(folder, arguments, 10 * options.time_limit)
            if not (folder / COUNTS).exists():
                sys.exit("the readers could not be started:\n" + (folder / SAID).read_text())
            report = json.loads((folder / COUNTS).read_text())
            counts.update(report["counts"])
            if code != 0:
                counts.update(read_death(folder, code, options))
        largest, seed = max(largest, report["largest"]), seed + 1
    return counts, largest


def main():
    options = parse_options()
    if options.child:
        child(options)
        return 0
    counts, largest = run_children(options)
    for reader in sorted({key.rpartition(": ")[0] for key in counts}):
        inputs, taken, crashes, hangs = (
            counts[f"{reader}: {what}"] for what in ("inputs", "taken", "crashes", "hangs")
        )
        print(f"{reader:28} {inputs:7} inputs, {taken:6} taken, {crashes} crashes, {hangs} hangs")
    crashes, hangs = count_inputs(counts, "crashes"), count_inputs(counts, "hangs")
    print(
        f"{count_inputs(counts)} inputs ({options.engine}), {crashes} crashes, {hangs} hangs, "
        f"largest allocation {largest / 1e6:.0f} MB (ceiling of arrays {CEILING / 1e6:.0f} MB); "
        f"{count_inputs(counts, 'taken')} were taken"
    )
    return int(bool(crashes or hangs))


if __name__ == "__main__":
    sys.exit(main())
