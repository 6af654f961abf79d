"""One writer at a time in the folder of a run.

The lock is the operating system's: it goes when its holder does, however that ends, so a folder is
never locked by a process that was killed. Where the system or the file system has no such locks,
nothing is held.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Not on Windows.
    fcntl = None

_NAME = ".lock"
# `is_locked` holds a lock for an instant while it asks; that must not pass for a writer.
_TRIES, _PAUSE = 10, 0.02


@contextmanager
def hold_run_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Be the only one who writes into the folder of a run.

    Two holders exclude each other in two processes, and in two threads of one. The file it locks,
    `.lock`, stays behind and means nothing by itself.

    **Arguments:**

    - `path`: the folder, which must exist.

    **Raises:** `ValueError` if another one is writing there.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(Path(path) / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not _locked(descriptor, fcntl.LOCK_EX, tries=_TRIES):
            raise ValueError(
                f"{path} is being written by another process: wait for it to end, or use another "
                "folder."
            )
        yield
    finally:
        # Closing releases the lock.
        os.close(descriptor)


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether someone is writing into the folder of a run at this moment."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(Path(path) / _NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH, tries=1)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int, *, tries: int) -> bool:
    """Take a lock on an open file; `False` if another one has it."""
    assert fcntl is not None
    for attempt in range(tries):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt + 1 < tries:
                time.sleep(_PAUSE)
            continue
        except OSError:
            # Some network file systems have no locks, and no run is refused for that.
            return True
        return True
    return False
