"""Which of the jobs' temporary directories are in use. A submitter that is killed cannot delete its own; the next one does.

A directory is in use while anybody holds the lock on the file in it: whoever made it, and the job that it started, which inherits the
lock and may live on for a while. The kernel lets go of it however they end, so no process id is compared and none can be mistaken.
"""

import fcntl
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "lock"

log = logging.getLogger(__name__)


@contextmanager
def in_use(directory: Path) -> Iterator[int]:
    """Marks the directory as in use; gives the file descriptor that a job has to inherit (`pass_fds`) to keep it so."""
    unfinished = directory / f".{_LOCK}.unfinished"
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # It gets its name when it is locked: a lock that can be found and taken is one that nobody holds any more.
        unfinished.rename(directory / _LOCK)
        yield descriptor
    finally:
        os.close(descriptor)


def remove_abandoned(parent: Path, prefix: str) -> list[Path]:
    """Deletes our own directories in `parent` whose users are gone; gives their paths. What cannot be deleted stays, with a warning."""
    removed = []
    for directory in parent.glob(f"{prefix}*"):
        try:
            if _is_ours(directory) and _is_abandoned(directory):
                shutil.rmtree(directory)
                removed.append(directory)
        except FileNotFoundError:
            continue  # its user, or another one who cleans up, was faster
        except OSError as failure:
            log.warning("A copy that was killed left %s behind, and it cannot be deleted: %s", directory, failure)
    return removed


def _is_ours(directory: Path) -> bool:
    """Whether it is a directory of this user that nobody else can write to."""
    found = directory.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_abandoned(directory: Path) -> bool:
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
