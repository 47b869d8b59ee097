"""Many fits, each remembered in a small file of its own: trials, records, and what runs them.

The engine knows nothing of what a trial does.  Killed at any moment it loses the trials under way and
nothing else; any number of processes may share a folder without knowing of one another.
"""

from absentia.experiment.engine._records import (
    Record,
    Records,
    Trial,
    content_hash,
    declared_versions,
    parse_shard,
    shard_of,
)
from absentia.experiment.engine._running import FolderError, Limits, Pool, Run, run
