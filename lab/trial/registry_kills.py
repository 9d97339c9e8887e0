"""The process that copies schemas to another registry is killed: the target must get all of them, once, with their ids.

Producers go on registering at the source. Each round's process is killed at one of its writes, before or after the target took it; the one
after the last kill copies the rest.
"""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.schema_registry import RegistryState, schema_registry

_RUN = """
import sys
from kafka_mirror.config import load
from kafka_mirror.topics.schemas.run import step
sys.exit(bool(step(load([sys.argv[1]]).flow("east->west")).errors))
"""
_SUBJECTS, _VERSIONS_A_ROUND, _WRITES_A_ROUND = 40, 12, 30
_PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class RegistryRound:
    """One process that copies schemas: at which of its writes it was killed, if it came so far, and what the target had afterwards."""

    number: int
    write: int
    is_hit: bool
    versions: int
    missing: int
    wrong: int
    """Versions of the target that the source has not, or has with another id or text."""
    modes: int
    """Subjects that a kill left in the mode IMPORT."""

    def __str__(self) -> str:
        killed = f"killed at write {self.write}" if self.is_hit else "not killed"
        counts = f"{self.versions} versions, {self.missing} missing, {self.wrong} wrong, {self.modes} in IMPORT"
        return f"round {self.number}: {killed}; {counts}"


def play(directory: Path, kills: int, seed: int) -> Iterator[RegistryRound]:
    """Plays rounds until this many processes were killed, and one more that is not."""
    dice, hits, number = random.Random(seed), 0, 0
    with schema_registry() as (source_url, source), schema_registry() as (target_url, target):
        file = _configuration(directory, source_url, target_url)
        while hits < kills:
            outcome = _round(file, source, target, dice, number)
            hits, number = hits + outcome.is_hit, number + 1
            yield outcome
        target.on_write = target.before_write = lambda: None
        subprocess.run([sys.executable, "-c", _RUN, str(file)], check=True, timeout=_PATIENCE_SECONDS)
        yield _compare(number, 0, False, source, target)


def _round(file: Path, source: RegistryState, target: RegistryState, dice: random.Random, number: int) -> RegistryRound:
    for _ in range(_VERSIONS_A_ROUND):
        source.register(f"subject-{dice.randrange(_SUBJECTS)}", f'{{"type":"fixed","name":"f","size":{dice.randrange(1, 10**9)}}}')
    last, writes = dice.randint(1, _WRITES_A_ROUND), 0
    run = subprocess.Popen([sys.executable, "-c", _RUN, str(file)])

    def strike() -> None:
        nonlocal writes
        writes += 1
        if writes == last:
            run.kill()

    target.on_write = target.before_write = lambda: None
    setattr(target, dice.choice(("on_write", "before_write")), strike)
    return _compare(number, last, run.wait(_PATIENCE_SECONDS) == -signal.SIGKILL, source, target)


def _compare(number: int, write: int, is_hit: bool, source: RegistryState, target: RegistryState) -> RegistryRound:
    there, here = (
        {(name, version): document for name, versions in state.subjects.items() for version, document in versions.items()}
        for state in (source, target)
    )
    wrong = sum(there.get(key) != document for key, document in here.items())
    return RegistryRound(number, write, is_hit, len(here), len(there.keys() - here.keys()), wrong, len(target.modes))


def _configuration(directory: Path, source: str, target: str) -> Path:
    lines = [
        "clusters = east, west",
        "east.bootstrap.servers = a:1",
        "west.bootstrap.servers = b:1",
        "east->west.enabled = true",
        "mirror.one.cluster = true",
    ]
    lines += [f"mirror.schemas.source.url = {source}", f"mirror.schemas.target.url = {target}"]
    file = directory / "mm2.properties"
    file.write_text("\n".join(lines) + "\n")
    return file
