"""What to do about a broker that no longer knows the groups which it coordinates."""

LOST_TRACK_NEXT = (
    "Look at the log of the broker that coordinates the group. Where it says «out of sync with the underlying log» or «Invalid null group "
    "protocol», Kafka lost track of the group when the broker came back from a crash, and knows it again when that broker is restarted or "
    "another one becomes its coordinator. Then ask again."
)
"""Seen of Kafka 4.3: a broker that was killed reads the end of __consumer_offsets short, and then fails for good in describing groups, or
says of its own groups that it is not their coordinator."""
