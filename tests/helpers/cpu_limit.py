"""A limit of CPU time, for what would take hours if it took the square of its input."""

import signal
from contextlib import contextmanager


@contextmanager
def cpu_limit(seconds=10):
    """Inside, more CPU time than this is an AssertionError; how busy the machine is does not matter."""

    def stop(*_):
        raise AssertionError(f"more than {seconds} seconds of CPU time")

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
