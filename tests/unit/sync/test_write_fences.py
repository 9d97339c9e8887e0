"""The ACLs of write fences among those of the source."""

import json
from datetime import UTC, datetime

from mirror.formats.control import WAVE, Decision
from mirror.kafka.model import Acl
from mirror.sync.write_fences import fence_acls_of, without_fences

DENY = Acl("orders", "User:*", "*", "WRITE", "DENY")
COLUMNS = {"topic": ["orders"], "principal": ["User:*"], "host": ["*"], "operation": ["WRITE"], "permission": ["DENY"]}


def wave(document):
    return Decision(WAVE, "ada", datetime(2026, 11, 21, tzinfo=UTC), "move", topic="w", document=json.dumps(document))


def test_the_notes_of_every_wave_name_what_its_fence_set():
    assert fence_acls_of([wave({"steps": {"fence": {"facts": {"acls": COLUMNS}}}})]) == {DENY}


def test_a_wave_without_a_fence_or_with_one_by_hand_names_none():
    assert fence_acls_of([wave({}), wave({"steps": {}}), wave({"steps": {"fence": {"facts": {"by": "hand"}}}})]) == frozenset()


def test_where_nobody_is_denied_to_write_the_control_topic_is_not_read():
    acls = [Acl("orders", "User:bob", "*", "READ", "DENY"), Acl("orders", "User:bob", "*", "WRITE", "ALLOW")]
    assert without_fences(None, None, acls) == frozenset(acls)
