"""MirrorMaker 2's own classes in a Java process, asked over JSON lines, and how often they are asked."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from services.java import java_command
from services.oracle import compiled_classes

TIMES = int(os.environ.get("MIRROR_COMPAT_TIMES", "1"))
"""How many times as many cases as in an ordinary run."""

ENVIRONMENT = {"COMPAT_A": "a", "COMPAT_B": "ä b", "COMPAT_EMPTY": "", "COMPAT_NESTED": "${env:COMPAT_A}"}
"""What the process finds in its environment beside what it inherits."""


def compared(examples: int) -> settings:
    """An ordinary run compares the same cases every time, so that it never fails by chance; a longer one always looks for new ones."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


class Refused(Exception):
    """What a Java class threw."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Peer:
    """The process. `cases` counts what was compared with its answers."""

    def __init__(self, log: Path) -> None:
        self.cases: Counter[str] = Counter()
        self._log = log
        command = java_command(
            "org.apache.kafka.connect.mirror.Peer",
            options=("-XX:TieredStopAtLevel=1",),
            class_path=(compiled_classes(Path(__file__).with_name("java")),),
        )
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                env=os.environ | {"LC_ALL": "C.UTF-8"} | ENVIRONMENT,
            )

        self.java: int = self.ask("version")
        """The version of the JDK, for the little in which they differ."""

    def ask(self, command: str, **arguments: Any) -> Any:
        """The answer to one request. Raises Refused with what the class threw."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The Java process ended during {command}: {self._log.read_text()}")
        answer = json.loads(line)
        if "refused" in answer:
            raise Refused(answer["kind"], answer["refused"])
        return answer["answer"]

    def stop(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)
