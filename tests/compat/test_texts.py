"""Properties files and regular expressions: read and matched as Java itself does."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.properties import entries
from kafka_mirror.policy.java_regex import compile_java
from tests.compat.differences import refused_here_alone
from tests.compat.peer import Peer, Refused, compared
from tests.compat.strategies import patterns, property_files, texts


@compared(1000)
@given(property_files())
def test_any_bytes_are_the_properties_that_java_reads_or_are_refused_by_both(peer: Peer, data: bytes) -> None:
    peer.cases["properties files"] += 1
    try:
        expected = peer.ask("properties", bytes=data.hex())
    except Refused:
        with pytest.raises(ValueError, match="malformed"):
            entries(data)
        return
    assert {key: entry.value for key, entry in entries(data).items()} == expected


@compared(2000)
@given(patterns(), st.lists(texts(), min_size=6, max_size=20))
def test_a_pattern_matches_what_it_matches_in_java_or_is_refused(peer: Peer, pattern: str, names: Sequence[str]) -> None:
    try:
        compiled = compile_java(pattern)
    except ValueError as refusal:
        peer.cases["patterns refused here"] += 1
        if not refused_here_alone(str(refusal)):
            with pytest.raises(Refused, match="PatternSyntaxException"):
                peer.ask("pattern", pattern=pattern, texts=names)
        return
    peer.cases["texts against patterns"] += len(names)
    assert [compiled.matches(name) for name in names] == peer.ask("pattern", pattern=pattern, texts=names)
