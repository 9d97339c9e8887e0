"""The batches on a broker's disk, as Kafka's own tool reads them."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from services.java import java_command

_TOOL = "org.apache.kafka.tools.DumpLogSegments"
_SEGMENTS_AT_ONCE = 500

BATCH = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*isTransactional: (\w+) isControl: (\w+) .*isvalid: (\w+)", re.MULTILINE
)


def read_batches(directory: Path, topic: str, partition: int = 0) -> list[tuple[Any, ...]]:
    """Reads the batches of a partition from the disk: first and last offset, whether transactional, a marker, valid."""
    files = ",".join(map(str, sorted(directory.glob(f"data-*/{topic}-{partition}/*.log"))))
    command = java_command(_TOOL, "--files", files)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(int(base), int(last), *words) for base, last, _, *words in BATCH.findall(done.stdout)]


def count_batches(segments: Iterable[Path]) -> Counter[str]:
    """Counts what the tool finds in segments, records opened: `valid` and `invalid` batches, and `records`.

    Raises RuntimeError with the tool's message where it cannot read on: bytes after the last whole batch, or a record that does not open.
    """
    names, counts = sorted(map(str, segments)), Counter[str](valid=0, invalid=0, records=0)
    for at in range(0, len(names), _SEGMENTS_AT_ONCE):
        command = java_command(_TOOL, "--deep-iteration", "--files", ",".join(names[at : at + _SEGMENTS_AT_ONCE]))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:
            last = ""
            for line in tool.stdout or ():
                last = line
                if batch := BATCH.match(line):
                    counts["valid" if batch[6] == "true" else "invalid"] += 1
                elif line.startswith("| offset:"):
                    counts["records"] += 1
                elif "invalid bytes" in line or "Exception" in line:
                    raise RuntimeError(line.strip())
        if tool.returncode:
            raise RuntimeError(f"DumpLogSegments ended with {tool.returncode}: {last.strip()}")
    return counts
