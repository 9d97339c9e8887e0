"""Ends a process that hangs in C code, where no signal handler, no timeout and no thread of Python runs any more.

librdkafka can wait for itself while its Python binding holds Python's lock (the GIL); every thread of the process stands then, and so does
Airflow's `execution_timeout`, which is a signal handler in Python. So a process of its own (`process`) waits for a sign of life
from a thread of ours. Without one it writes what happened and what comes next to the process's standard error, has the stacks of all
threads written after it, and kills the process together with what it started, if it leads a process group. The copy is crash-only: the
next attempt fences this one.
"""

import faulthandler
import json
import logging
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

SILENCE_SECONDS = 120.0
"""No code of the mirror or of its libraries holds Python's lock for so long."""
_SIGNS_PER_SILENCE = 8
_PROGRAM = ("kafka_mirror.watchdog", "process.py")
_STDERR = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WatchedWork:
    """What is watched: `work` names it for a sentence, `then` says what follows its end. `ends` is the moment of the monotonic clock at
    which it is ended even if it lives, `seconds` how long that is from its beginning; None: it may take as long as it takes."""

    work: str
    then: str
    silence: float
    seconds: float | None = None
    ends: float | None = None

    def compute_patience(self, now: float) -> float:
        """For how many seconds from now the process may give no sign."""
        return self.silence if self.ends is None else min(self.silence, max(0.0, self.ends - now))


def last_words(watched: Sequence[WatchedWork], now: float) -> tuple[float, str]:
    """For how many seconds from now the process may give no sign, and what is said if it gives none."""
    nearest = min(watched, key=lambda work: work.compute_patience(now))
    seconds, process = nearest.compute_patience(now), os.getpid()
    if seconds < nearest.silence:
        why = f"Process {process} is ended ({nearest.work}): it may take {nearest.seconds:.0f} s, and did not end by itself"
    else:
        works = "; ".join(work.work for work in watched)
        lock = "C code holds Python's lock, most likely the Kafka client"
        why = f"Process {process} hangs ({works}): for {seconds:.0f} s no line of its Python ran, so {lock}"
    return seconds, f"{why}. The watchdog kills it. {watched[-1].then} The stacks of its threads follow."


class Watchdog:
    """The watchdog of this process. Its own process starts with the first work that is watched, and ends with this one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: list[WatchedWork] = []
        self._input: int | None = None
        self._gives_signs = False

    @contextmanager
    def watch(self, watched: WatchedWork) -> Iterator[None]:
        """Lets the watchdog watch while the block runs."""
        with self._changed:
            self._watched.append(watched)
            self._start()
            self._give_sign()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._watched.remove(watched)
                self._give_sign()

    def let_go(self) -> None:
        """For the child of a fork, which is not the process that is watched: it must not keep the watchdog from seeing that one's end. It
        may yet leave work that began before the fork, when the descriptor's number is another file's, and a thread that is not in the
        child has the lock."""
        self._changed = threading.Condition()
        if self._input is not None:
            os.close(self._input)
            self._input = None

    def _start(self) -> None:
        if self._input is None:
            # Instead of any handler of Python's, such as the scheduler's of Airflow, which its tasks inherit: those need Python's lock.
            faulthandler.register(signal.SIGQUIT, file=_STDERR, all_threads=True)
            program = pkgutil.get_data(*_PROGRAM) or b""  # the package may be a zip file, so there may be no path
            command = [sys.executable, "-I", "-S", "-c", program.decode()]
            try:
                # In a session of its own: a signal to this process's group is not for the watchdog, which goes when this process has gone.
                process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
            except OSError as error:
                log.warning("No watchdog watches this process, for it could not be started: %s", error)
                return
            assert process.stdin is not None
            self._input = os.dup(process.stdin.fileno())
            process.stdin.close()
            process.returncode = 0  # it is not waited for: it goes when this process has gone
        if not self._gives_signs:
            self._gives_signs = True
            threading.Thread(target=self._give_signs, name="signs of life", daemon=True).start()

    def _give_signs(self) -> None:
        # What a Java process starts, as Spark does with its Python, inherits that SIGQUIT is blocked. One thread that takes it is enough.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})
        while True:
            with self._changed:
                if self._watched:
                    self._give_sign()
                    pause: float | None = min(watched.silence for watched in self._watched) / _SIGNS_PER_SILENCE
                else:
                    pause = None
                self._changed.wait(pause)

    def _give_sign(self) -> None:
        if self._input is None:
            return
        line = json.dumps([os.getpid(), *last_words(self._watched, time.monotonic())] if self._watched else None)
        try:
            os.write(self._input, f"{line}\n".encode())
        except OSError as error:
            os.close(self._input)
            self._input = None
            log.warning("No watchdog watches this process any more: %s", error)


_of_this_process = Watchdog()


@contextmanager
def kill_if_hung(work: str, then: str, seconds: float | None = None, silence: float | None = None) -> Iterator[None]:
    """Kills this process if no thread of Python runs for `silence` seconds while the block does (None: SILENCE_SECONDS), or if the block
    takes longer than `seconds` (None: it may). `work` names what the block does and `then` says what comes next, for the sentences that it
    writes then."""
    ends = None if seconds is None else time.monotonic() + seconds
    with _of_this_process.watch(WatchedWork(work, then, silence or SILENCE_SECONDS, seconds, ends)):
        yield


def _begin_anew() -> None:
    global _of_this_process
    _of_this_process.let_go()
    _of_this_process = Watchdog()


os.register_at_fork(after_in_child=_begin_anew)
