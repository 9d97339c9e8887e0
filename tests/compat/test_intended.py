"""The differences that are meant are still there, so that none is excused that is none."""

import pytest

from mirror.policy.java_regex import compile_java
from tests.compat.intended import REFUSED_PATTERNS, TAKEN_PATTERNS, RefusedPattern, taken_here_alone
from tests.compat.peer import Peer, Refused


@pytest.mark.parametrize("row", REFUSED_PATTERNS, ids=lambda row: row.pattern)
def test_what_java_takes_and_the_mirror_refuses(peer: Peer, row: RefusedPattern) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_java(row.pattern)
    assert row.complaint in str(refusal.value)
    assert peer.ask("pattern", pattern=row.pattern, texts=[]) == []


@pytest.mark.parametrize("pattern", TAKEN_PATTERNS)
def test_what_java_refuses_and_the_mirror_takes(peer: Peer, pattern: str) -> None:
    assert compile_java(pattern)
    with pytest.raises(Refused) as refusal:
        peer.ask("pattern", pattern=pattern, texts=[])
    assert taken_here_alone(str(refusal.value))


def test_word_boundaries_beside_letters_outside_ascii(peer: Peer) -> None:
    if peer.java < 19:
        assert peer.ask("pattern", pattern=r"a\b.", texts=["aé"]) == [False]
    assert compile_java(r"a\b.").matches("aé")
