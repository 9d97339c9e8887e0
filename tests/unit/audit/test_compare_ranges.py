"""Ranges whose batches cannot be compared closed are left to reading records, and it is said why."""

import pytest

from kafka_mirror.audit.batch_reader import equal_ranges
from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.formats.offsets.partition import TopicPartition

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
