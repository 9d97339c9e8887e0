"""What is said of ACLs that would refuse producers on the target of a failover."""

from kafka_mirror.cutover.failover.denials import denial_findings
from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.wave.findings import WARNING
from kafka_mirror.kafka.model import Acl


def test_each_denial_of_writing_to_a_topic_of_the_wave_is_named_with_the_command_that_removes_it():
    acls = [
        deny_write("orders"),
        deny_write("orders", "User:writer"),
        deny_write("payments"),
        Acl("orders", "User:writer", "*", "WRITE", "ALLOW"),
        Acl("orders", "User:reader", "*", "READ", "DENY"),
    ]
    (finding,) = denial_findings(acls, ["orders"], "west")
    assert (finding.kind, finding.code, finding.topic) == (WARNING, "FenceOfEarlierWave", "orders")
    assert "DENY WRITE for User:* from *, DENY WRITE for User:writer from *" in finding.message
    remove = "kafka-acls.sh --bootstrap-server <target> --remove --force --topic orders"
    assert finding.error.commands == tuple(
        f"{remove} --deny-principal {principal} --deny-host '*' --operation WRITE" for principal in ("'User:*'", "User:writer")
    )


def test_nothing_is_said_where_nobody_is_denied_writing():
    assert list(denial_findings([Acl("orders", "User:reader", "*", "READ", "DENY")], ["orders"], "west")) == []
