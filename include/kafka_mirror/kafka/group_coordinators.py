"""Asking the coordinators of groups, each for the groups that are its own: one policy for every question, and for every change of offsets.

Groups whose coordinator moves or loads are asked for again, the others are not. What is refused of one group is that group's own error.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

import kafka.errors as errors

from kafka_mirror.errors import DeadlineExceeded, KafkaFailure, MirrorError
from kafka_mirror.errors.display import show
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import OF_GROUPS, BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import LOST_TRACK_NEXT, TOPIC_DENIED, is_retriable, raise_for

AT_ONCE = 500
"""Groups in one request."""
_UNASKED = 0
_BROKER_FAULT = errors.UnknownError.errno

Result = TypeVar("Result")
Take = Callable[[Mapping[str, tuple[int, Any]]], None]
"""Takes what a coordinator says of groups: an error code, and the answer where that is 0."""
Send = Callable[[BrokerConnection, Sequence[str], Take], None]
"""Sends a coordinator what there is to ask about some groups; what it says is for `Take`."""
Errors = MutableMapping[str, MirrorError]


def ask_coordinators(
    cluster: Cluster, verb: str, names: Iterable[str], send: Send, refused: Errors, operation: str = "DESCRIBE"
) -> dict[str, Any]:
    """What the coordinators answer, by group. What fails for one group alone goes into `refused` by its name; raises what concerns the
    cluster as a whole. `verb` says in errors what is done with groups, `operation` what they may refuse us."""
    wanted = sorted(set(names))
    answers: dict[str, Any] = {}
    for first in range(0, len(wanted), AT_ONCE):
        question = _Question(verb, wanted[first : first + AT_ONCE], send, refused, operation)
        try:
            cluster.ask(f"{verb} groups", question.ask)
        except DeadlineExceeded as late:
            refused.update(dict.fromkeys(question.waiting, late))
            if not question.answers:  # nobody answers at all: the next ones need not wait as long
                refused.update(dict.fromkeys(wanted[first + AT_ONCE :], late))
                break
        finally:
            answers |= question.answers
    return answers


class _Question:
    """Some groups, as far as they are answered."""

    def __init__(self, verb: str, names: Iterable[str], send: Send, refused: Errors, operation: str) -> None:
        self.answers: dict[str, Any] = {}
        self.waiting = dict.fromkeys(names, _UNASKED)
        """The error code, which passes, of those that are not answered yet."""
        self._verb = verb
        self._send = send
        self._refused = refused
        self._operation = operation

    def ask(self, pool: BrokerPool) -> None:
        """Asks for those that still wait. Raises kafka-python's error for a code that passes."""
        self.waiting = dict.fromkeys(self.waiting, _UNASKED)
        by_node: dict[int, list[str]] = {}
        for name, coordinator in pool.coordinators(self.waiting, OF_GROUPS).items():
            if coordinator.error_code:
                self._take(pool, {name: (coordinator.error_code, None)})
            else:
                by_node.setdefault(coordinator.node, []).append(name)
        connections = {pool.to(node): there for node, there in by_node.items()}
        for connection, there in connections.items():
            self._send(connection, there, lambda said: self._take(pool, said))
        for connection in connections:
            while connection.in_flight:
                connection.receive()
        if self.waiting:
            raise_for(max(self.waiting.values()))
            raise errors.KafkaProtocolError("an answer leaves out groups that were asked for")

    def _take(self, pool: BrokerPool, said: Mapping[str, tuple[int, Any]]) -> None:
        if not said.keys() <= self.waiting.keys():
            raise errors.KafkaProtocolError("an answer is about other groups")
        for name, (code, answer) in said.items():
            if code and is_retriable(code):
                self.waiting[name] = code
                continue
            del self.waiting[name]
            if code:
                self._refused[name] = self._refusal(pool, name, code)
            else:
                self.answers[name] = answer

    def _refusal(self, pool: BrokerPool, name: str, code: int) -> MirrorError:
        group = f"the group {show(name)}"
        what = f"topics that {group} committed" if code == TOPIC_DENIED else group
        refusal = pool.refused(code, f"{self._verb} {group}", operation=self._operation, what=what)
        return KafkaFailure(refusal.message, reason="UNKNOWN", next=LOST_TRACK_NEXT) if code == _BROKER_FAULT else refusal
