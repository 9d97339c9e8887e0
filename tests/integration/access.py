"""Rights and logins on the guarded clusters, for tests of what somebody may and may not do there."""

import json
import time

import pytest
from confluent_kafka.admin import AdminClient

from kafka_mirror.__main__ import main
from services.waiting import PATIENCE, eventually

LONG_BEFORE = 30
"""Seconds: half of the minute of `admin.timeout.ms` that is waited when nothing is noticed."""

CLUSTER = "kafka-cluster"
"""What Kafka calls the resource of a whole cluster in its ACLs."""
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{}";'
PASSWORD, WRONG = "mirror", "battery staple"


def acl(principal, name, operation, permission="ALLOW", kind="TOPIC", pattern="LITERAL"):
    return {
        "principal": f"User:{principal}",
        "type": kind,
        "name": name,
        "pattern": pattern,
        "operation": operation,
        "permission": permission,
    }


@pytest.fixture
def allow(oracle):
    """Gives rights, or denies them, until the test ends; returns when the broker shows them: `allow(cluster, acl(...), ...)`."""
    given = []

    def shown(cluster, acls):
        known = oracle.acls(cluster.bootstrap)
        return [{**each, "host": "*"} in known for each in acls]

    def give(cluster, *acls):
        oracle.create_acls(cluster.bootstrap, acls)
        given.append((cluster, acls))
        eventually(lambda: all(shown(cluster, acls)), "the ACLs")

    yield give
    for cluster, acls in given:
        oracle.delete_acls(cluster.bootstrap, acls)
    for each in given:
        eventually(lambda each=each: not any(shown(*each)), "the end of the ACLs")


@pytest.fixture
def secure(guarded):
    """A cluster whose users may do nothing until a test allows it; its plain listener may do everything."""
    return guarded[0]


@pytest.fixture
def run(capsys):
    """`run(file, "copy", ...)` gives exit code, the flow's part of the JSON document, standard error, and seconds."""

    def call(file, *arguments):
        started = time.monotonic()
        code = main(["--config", str(file), *arguments, "--json"])
        seconds = time.monotonic() - started
        output, words = capsys.readouterr()
        (flow,) = json.loads(output)["flows"]
        return code, flow, words, seconds

    return call


def topics_of(bootstrap, pair):
    """What the flow of this pair has made there."""
    names = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=PATIENCE).topics
    return {name for name in names if name.startswith(f"{pair.source}.") or pair.source in name}


def only_error(flow):
    (error,) = flow["errors"]
    return error


def login_of(password=PASSWORD):
    """Java's settings of a client that logs in as `mirror`."""
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS.format(password)}


def logged_in(guarded):
    """The properties of a flow that logs in as `mirror` on both sides."""
    sides = {"source": guarded[0], "target": guarded[1]}
    settings = {f"{side}.{name}": value for side in sides for name, value in login_of().items()}
    settings |= {f"{side}.bootstrap.servers": cluster.secure_bootstrap for side, cluster in sides.items()}
    return {"offset-syncs.topic.location": "target", **settings}


def with_user(pair, sides, cluster, password=PASSWORD, extra=None):
    """The pair's properties, with `source`, `target` or both by the SASL listener of a cluster."""
    login = {"bootstrap.servers": cluster.secure_bootstrap, **login_of(password)}
    named = {f"{side}.{name}": value for side in sides.split() for name, value in login.items()}
    ours = {"source->target.mirror.lanes": "2", "source->target.offset-syncs.topic.location": "target"}
    return pair.properties(extra={**named, **ours, **(extra or {})})


def source_topic(pair, oracle, name):
    """A topic on the source with one partition and 30 records."""
    topic = pair.topic(name)
    oracle.create_topic(pair.source_bootstrap, topic, 1)
    oracle.produce(pair.source_bootstrap, topic, 30, seed=1)
    return topic


def allow_everything(allow, cluster, pair, *topics):
    """All that docs/operate/permissions.md asks for, on either side."""
    rights = [acl("mirror", topic, each) for topic in topics for each in ("READ", "DESCRIBE_CONFIGS")]
    all_remote = ("READ", "WRITE", "CREATE", "ALTER", "DESCRIBE_CONFIGS")
    rights += [acl("mirror", f"{pair.source}.", each, pattern="PREFIXED") for each in all_remote]
    rights += [acl("mirror", own, each) for own in own_topics(pair) for each in ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")]
    rights += [acl("mirror", syncs_topic(pair), each) for each in ("READ", "WRITE", "CREATE")]
    allow(cluster, *rights, acl("mirror", "mirror.", "WRITE", kind="TRANSACTIONAL_ID", pattern="PREFIXED"))


def own_topics(pair):
    """The ledger and the control topic."""
    return f"mm2-ledger.{pair.source}.internal", f"mm2-control.{pair.source}.internal"


def syncs_topic(pair):
    """Where offset syncs go, on the target."""
    return f"mm2-offset-syncs.{pair.source}.internal"
