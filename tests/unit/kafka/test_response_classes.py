"""Classes of answers that many threads ask kafka-python for at once, and a collection of garbage after that."""

import subprocess
import sys

RACE = """
import gc, sys, threading
from types import SimpleNamespace
import kafka.protocol.admin, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer
from kafka.protocol.api_header import ResponseClassRegistry
{prepare}
sys.setswitchinterval(1e-6)
known = list(ResponseClassRegistry._response_class_registry.items())
wanted = [(key, version) for key, kind in known for version in range(kind.max_version + 1)]
headers = [SimpleNamespace(request_api_key=key, request_api_version=version) for key, version in wanted]
together = threading.Barrier(16)

def ask():
    for header in headers:
        together.wait()
        ResponseClassRegistry.get_response_class(header)

threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
gc.collect()
print(len({{ResponseClassRegistry.get_response_class(header).API_KEY for header in headers}}), len(known))
"""
PREPARED = "from mirror.kafka.response_classes import keep_response_classes; keep_response_classes()"


def race(prepare: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", RACE.format(prepare=prepare)], capture_output=True, text=True, timeout=120, check=False)


def test_classes_that_threads_ask_for_at_once_stay() -> None:
    for _ in range(3):
        done = race(PREPARED)
        kinds, known = done.stdout.split() if done.returncode == 0 else ("", done.stderr)
        assert kinds == known


def test_both_users_of_the_library_keep_them() -> None:
    for module in ("mirror.kafka.broker_connection", "mirror.kafka.kafka_python"):
        done = race(f"import {module}; assert ResponseClassRegistry.get_response_class.__module__ == 'mirror.kafka.response_classes'")
        assert done.returncode == 0, done.stderr
