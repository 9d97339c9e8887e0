"""What is planned and not built yet: the properties are read and checked, and have no effect so far.

This is the one place that says so; the README's table and the notices follow it. Whoever builds a feature takes it out here.
"""

from collections.abc import Mapping

_REASONS = {
    "the translation of group offsets is not built yet": (
        "groups groups.exclude group.filter.class refresh.groups.enabled refresh.groups.interval.seconds "
        "emit.checkpoints.enabled emit.checkpoints.interval.seconds checkpoints.topic.replication.factor"
    ),
    "the sync of group offsets is not built yet": "sync.group.offsets.enabled sync.group.offsets.interval.seconds",
}

NOT_BUILT: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Property -> why it has no effect so far."""
