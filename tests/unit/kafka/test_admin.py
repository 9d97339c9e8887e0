"""What the client says, in Kafka's own words."""

import base64
import uuid

from hypothesis import given
from hypothesis import strategies as st

from mirror.kafka.admin import kafka_uuid


@given(st.uuids(version=4))
def test_a_topic_id_is_written_as_kafkas_tools_write_it(topic_id: uuid.UUID) -> None:
    of_the_client = base64.b64encode(topic_id.bytes).decode().rstrip("=")
    assert kafka_uuid(of_the_client) == base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
