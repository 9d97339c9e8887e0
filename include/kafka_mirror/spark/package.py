"""This library as a zip for the workers of a cluster, and a digest of its code."""

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
INCLUDE = _LIBRARY.parent
"""The folder, or on a worker the zip, in which the library stands."""


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
