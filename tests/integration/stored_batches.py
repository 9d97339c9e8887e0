"""What stands on a broker's disk, as Kafka's own tool reads it."""

import re
import subprocess

from services.java import java_command

BATCH = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*isTransactional: (\w+) isControl: (\w+) .*isvalid: (\w+)", re.MULTILINE
)


def stored(directory, topic, partition=0):
    """The batches of a partition as Kafka's own tool reads them from the disk: offsets, whether transactional, a marker, valid."""
    files = ",".join(map(str, sorted(directory.glob(f"data-*/{topic}-{partition}/*.log"))))
    command = java_command("org.apache.kafka.tools.DumpLogSegments", "--files", files)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(int(base), int(last), *words) for base, last, _, *words in BATCH.findall(done.stdout)]
