"""The differences that are meant are still there, so that none is excused that is none."""

import pytest

from kafka_mirror.policy.java_regex import compile_java
from tests.compat.differences import REFUSED_PATTERNS, RefusedPattern
from tests.compat.peer import Peer


@pytest.mark.parametrize("row", REFUSED_PATTERNS, ids=lambda row: row.pattern)
def test_what_java_takes_and_the_mirror_refuses(peer: Peer, row: RefusedPattern) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_java(row.pattern)
    assert row.complaint in str(refusal.value)
    assert peer.ask("pattern", pattern=row.pattern, texts=[]) == []
