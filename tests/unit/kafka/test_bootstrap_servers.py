"""Asking on: where one broker told an end that another one never reaches."""

from typing import Any

import pytest

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, LedgerDamaged, MirrorError, StaleAnswer
from kafka_mirror.kafka.bootstrap_servers import asking_on

THREE = {"bootstrap.servers": "a:1,b:1,c:1", "client.id": "reader"}
LATE = DeadlineExceeded("the end was not reached")
STALE = StaleAnswer(("ledger", 0), 5, 8)
DOWN = ClusterUnreachable("west", "b:1", 5)


def asked(settings: dict[str, Any], *answers: MirrorError | str) -> tuple[str, list[str]]:
    """What comes of these answers, and who was asked."""
    left, servers = list(answers), []

    def look(settings: Any) -> str:
        servers.append(settings["bootstrap.servers"])
        answer = left.pop(0)
        if isinstance(answer, MirrorError):
            raise answer
        return answer

    try:
        return asking_on(settings, look), servers
    except MirrorError as error:
        return error.code, servers


@pytest.mark.parametrize("failure", [LATE, STALE])
def test_what_one_broker_does_not_have_is_asked_of_the_others_one_by_one(failure: MirrorError) -> None:
    assert asked(THREE, "all") == ("all", ["a:1,b:1,c:1"])
    assert asked(THREE, failure, "all") == ("all", ["a:1,b:1,c:1", "b:1"])
    assert asked(THREE, failure, DOWN, "all") == ("all", ["a:1,b:1,c:1", "b:1", "c:1"])


def test_what_nobody_has_is_the_error_of_who_was_asked_first() -> None:
    assert asked(THREE, LATE, DOWN, STALE, LATE) == ("DeadlineExceeded", ["a:1,b:1,c:1", "b:1", "c:1", "a:1"])
    assert asked({"bootstrap.servers": "a:1"}, LATE) == ("DeadlineExceeded", ["a:1"])


def test_what_asking_again_does_not_mend_is_said_at_once() -> None:
    assert asked(THREE, LedgerDamaged("ledger-0@3", "it is a tombstone"))[1] == ["a:1,b:1,c:1"]
    assert asked(THREE, DOWN)[1] == ["a:1,b:1,c:1"]
    assert asked(THREE, LATE, LedgerDamaged("ledger-0@3", "it is a tombstone")) == ("LedgerDamaged", ["a:1,b:1,c:1", "b:1"])
