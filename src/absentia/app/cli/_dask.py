"""``--dask``: a cluster on which chunks of features are read and made factors or scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from absentia.app._checks import MAX_PROCESSES, check_number


def check_dask(given: str | None) -> None:
    """Refuse, before any work, what names no cluster."""
    local = None if given is None else re.fullmatch(r"local:(\d{1,6})", given)
    if local:
        check_number("--dask local:N: N", int(local[1]), 1, MAX_PROCESSES)
    elif given is not None and not re.fullmatch(r"(tcp|tls|ucx|ws|wss)://\S+", given):
        raise ValueError(f"--dask is local:N, of N processes, or tcp://HOST:PORT, not {given!r}")


@contextmanager
def start_dask(given: str | None) -> Iterator[None]:
    """Inside, passes over chunks run on that cluster, if one is named; one that was started is ended."""
    if given is None:
        yield
        return
    try:
        import distributed
    except ImportError as error:
        raise ValueError(f'--dask needs dask: pip install "absentia[dask]" ({error})') from None
    cluster: Any = nullcontext(given)
    dask: Any = distributed  # which has no types
    if given.startswith("local:"):
        cluster = dask.LocalCluster(
            n_workers=int(given.removeprefix("local:")),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
        )
    with cluster as where:
        try:
            client = dask.Client(where, timeout=30)
        except OSError as error:
            raise ValueError(f"--dask {given}: no cluster answers there ({error})") from None
        with client:
            yield
