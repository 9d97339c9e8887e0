"""Answers of every kind that many threads read at once for the first time, and a collection of garbage after that."""

import subprocess
import sys

RACE = """
import gc, sys, threading
import kafka.protocol.admin, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer
from kafka.errors import KafkaProtocolError
from kafka.protocol.api_header import ResponseClassRegistry
from kafka_mirror.kafka.schemas import answer_to, read_by_schema
sys.setswitchinterval(1e-6)
modules = (kafka.protocol.admin, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer)
kinds = [kind for module in modules for name, kind in vars(module).items() if name.endswith("Request")]
wanted = [(kind, version) for kind in kinds for version in range(kind.max_version + 1)]
together, failures = threading.Barrier(16), []

def read(kind, version):
    answer = answer_to(kind(version=version))
    assert answer.API_KEY == kind.API_KEY
    try:
        read_by_schema(answer, version, memoryview(bytes(400)))
    except KafkaProtocolError as failure:
        failures.append(f"{kind.__name__} {version}: {failure.__cause__!r}")

def ask():
    for kind, version in wanted:
        together.wait()
        read(kind, version)

threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
gc.collect()
for kind, version in wanted:
    read(kind, version)
print(len(wanted), sorted(set(failures)))
"""


def test_answers_that_threads_read_at_once_are_read() -> None:
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    count, failures = done.stdout.split(maxsplit=1)
    assert (int(count) > 100, failures.strip()) == (True, "[]")
