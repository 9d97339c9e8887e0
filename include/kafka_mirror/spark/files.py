"""The files between the submitter of a Spark job and the job (work in, answer out), and this library as a zip for its workers.

Work and answer are readable by their owner alone (mode 0600 in a directory of 0700). They hold no secret: the job loads the configuration
itself and resolves secrets where they are needed; its work only carries the hash that says which configuration it was made with.

A submitter that is killed cannot delete its directory; the next one does. A directory is in use while anybody holds the lock on the file in
it: its maker, and the job that the maker started, which inherits the lock and may live on for a while. The kernel lets go of it however
they end, so no process id is compared and none can be mistaken.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kafka_mirror.errors import ErrorReport, JobFailed, MirrorError, ReportedError
from kafka_mirror.formats.documents import from_document, to_document

_LIBRARY = Path(__file__).resolve().parents[1]
INCLUDE = _LIBRARY.parent
"""The folder, or on a worker the zip, in which the library stands."""
_LOCK = "lock"
_PREFIX = "mirror-copy-"

log = logging.getLogger(__name__)


@contextmanager
def mark_in_use(directory: Path) -> Iterator[int]:
    """Marks the directory as in use; gives the file descriptor that a job has to inherit (`pass_fds`) to keep it so."""
    unfinished = directory / f".{_LOCK}.unfinished"
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # It gets its name when it is locked: a lock that can be found and taken is one without a holder.
        unfinished.rename(directory / _LOCK)
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_abandoned() -> None:
    """Deletes our own directories whose users are gone. What cannot be deleted stays, with a warning."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if _is_ours(directory) and _is_abandoned(directory):
                shutil.rmtree(directory)
        except FileNotFoundError:
            continue  # its user, or another one who cleans up, was faster
        except OSError as failure:
            log.warning("A copy that was killed left %s, and it cannot be deleted: %s", directory, failure)


def _is_ours(directory: Path) -> bool:
    """Whether it is a directory of this user that no other user can write to."""
    status = directory.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


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


@dataclass(frozen=True)
class JobFiles:
    """Where the work and the result of one job are; `directory` is theirs alone. `lock` is a file descriptor that the job has to inherit:
    while anybody has it, no other job deletes the directory."""

    directory: Path
    lock: int = -1

    @property
    def work(self) -> Path:
        """What the job is to do, written before it starts."""
        return self.directory / "work.json"

    @property
    def result(self) -> Path:
        """The answer or the error, written by the job at its end."""
        return self.directory / "result.json"


@contextmanager
def job_directory(work: Any) -> Iterator[JobFiles]:
    """A private temporary directory with what the job is to do, as JSON; deleted with all that is in it at the end. Those of jobs that were
    killed go before."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as directory, mark_in_use(Path(directory)) as lock:
        files = JobFiles(Path(directory), lock)
        write_private(files.work, work)
        yield files


def write_answer(path: Path, document: Any) -> None:
    """Hands the job's answer back."""
    write_private(path, {"answer": document})


def write_failure(path: Path, error: MirrorError) -> None:
    """Hands back the error that kept the job from doing anything."""
    write_private(path, {"error": to_document(error.report())})


def read_answer(path: Path, detail: str = "") -> Any:
    """What the job answered.

    Raises ReportedError with the error that the job reported, and JobFailed (with `detail`, such as the end of its output) when it
    ended without a word.
    """
    if not path.exists():
        raise JobFailed(
            f"The Spark job ended without a result{': ' + detail if detail else '.'}",
            next="Look at the job's output above; what was committed is in the ledger, and the next run goes on after it.",
        )
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "error" in document:
        raise ReportedError(from_document(ErrorReport, document["error"]))
    return document["answer"]


def write_private(path: Path, document: Any) -> None:
    """Writes JSON that only its owner can read, and that is complete whenever it is there."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
    unfinished.rename(path)


@cache
def code_digest() -> str:
    """Names the library's code: the same where it is installed and where it came as a zip, another one for other code."""
    digest = hashlib.sha256()
    for name, source in _sources():
        digest.update(f"{name}:{len(source)}:".encode() + source)
    return digest.hexdigest()[:32]


def package(directory: Path, name: str = "mirror.zip") -> Path:
    """A zip of this library in the directory, for the workers of a cluster."""
    archive = directory / name
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for source in sorted(_files()):
            target.write(source, source.relative_to(INCLUDE))
    return archive


def _sources() -> Iterator[tuple[str, bytes]]:
    if INCLUDE.is_file():
        with zipfile.ZipFile(INCLUDE) as archive:
            yield from ((name, archive.read(name)) for name in sorted(archive.namelist()))
        return
    names = {source.relative_to(INCLUDE).as_posix(): source for source in _files()}
    yield from ((name, names[name].read_bytes()) for name in sorted(names))


def _files() -> Iterator[Path]:
    """Modules, and the schemas that stand beside them."""
    return (source for source in _LIBRARY.rglob("*") if source.suffix in (".py", ".json"))
