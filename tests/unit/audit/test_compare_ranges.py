"""From digests that differ to the first difference; and ranges whose batches cannot be compared closed."""

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_mirror.audit.batch_reader import equal_ranges
from kafka_mirror.audit.compare_ranges import STAMPED, Locator
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.digest import Digest, Digester
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.formats.batches.batch_records import LOG_APPEND_TIME
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record
from tests.unit.audit.memory import MemoryMessage, MemorySide, at_offsets, numbered

STRETCH = AuditRange(TopicPartition("orders", 0), TopicPartition("east.orders", 0), 10, 1_200, 10, 1_200, 1_190, 1_190)
NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


def context(**source_settings: str) -> AuditContext:
    """An audit of a flow whose clusters are nowhere: whoever asks them, fails."""
    return AuditContext("east", "west", 1, ClientSettings(NOWHERE, {**NOWHERE, **source_settings}, NOWHERE, NOWHERE))


@pytest.mark.parametrize(
    "login",
    [
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"},
        {"security.protocol": "ssl", "ssl.ca.pem": "no certificate"},
        {"security.protocol": "ssl", "ssl.certificate.pem": "no certificate", "ssl.key.pem": "no key"},
    ],
    ids=["Kerberos", "unreadable authority", "unreadable certificate"],
)
def test_with_a_login_that_cannot_fetch_batches(login: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert equal_ranges(context(**login), [STRETCH]) == {}
    assert "east->west: every record is read, for batches cannot be fetched with this login" in caplog.text
    assert "no key" not in caplog.text, "settings may be secrets"


TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
SOURCE = numbered(60)


def digest(records: Sequence[Record]) -> Digest:
    digester = Digester(mean_records=8)
    digester.take([MemoryMessage(each) for each in records])
    return digester.digest()


def located(target: Sequence[Record], **fields: Any) -> Outcome:
    """What is found of a source of 60 records and these of the target."""
    copies = at_offsets(target, 0)
    stretch = AuditRange(TP, REMOTE, 0, 60, 0, len(target), 60, len(target), **fields)
    ours, theirs = digest(SOURCE), digest(copies)
    block = ours.find_different_block(theirs)
    assert block is not None
    locator = Locator(MemorySide("east", {TP: SOURCE}), MemorySide("west", {REMOTE: copies}), False)  # type: ignore[arg-type]
    return locator.locate(Outcome(stretch, source_digest=ours.text, target_digest=theirs.text), ours, theirs, block)


def test_a_difference_is_found_from_the_block_on_that_is_not_the_same() -> None:
    found = located([*SOURCE[:30], SOURCE[30]._replace(value=b"x"), *SOURCE[31:]])
    assert found.difference is not None
    assert (found.difference.kind, found.difference.source_offset) == ("changed value", 30)
    assert found.source_digest != found.target_digest != ""


def test_what_may_differ_is_none_and_its_digests_prove_nothing() -> None:
    found = located([*SOURCE[:30], *SOURCE[32:]], unsure=((28, 40),), most_unsure=2)
    assert (found.difference, found.unpaired, found.source_digest, found.target_digest) == (None, 2, "", "")
    found = located([*SOURCE[:30], *SOURCE[32:]], unsure=((28, 40),), most_unsure=1)
    assert found.difference is not None
    assert (found.difference.kind, found.difference.source_offset) == ("missing record", 31)


def test_where_the_target_stamps_its_records_a_difference_is_named_without_times() -> None:
    stamped = [each._replace(timestamp=9, timestamp_type=LOG_APPEND_TIME) for each in SOURCE]
    found = located(stamped)
    assert (found.difference, found.notes) == (None, (STAMPED,))
    for target, kind, offset in (
        (stamped[1:], "missing record", 0),
        ([stamped[0]._replace(value=b"x"), *stamped[1:]], "changed value", 0),
        ([*stamped[:9], *stamped[10:]], "missing record", 9),
    ):
        found = located(target)
        assert found.difference is not None
        assert (found.difference.kind, found.difference.source_offset, found.notes) == (kind, offset, (STAMPED,))
