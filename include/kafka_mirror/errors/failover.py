"""Errors of a flow whose source was lost: what may be missing, who closed it, and what a source that came back still has."""

from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, GroupError, PartitionError, TopicError


class FlowClosed(DeclaredError):
    """A failover closed the flow against a source that comes back."""

    who: str
    when: str
    why: str
    text = "The flow was closed by {who} at {when}, after a failover: {why}. Nothing was copied."
    next_text = (
        "See what only the source has: {mirror:cutover compare --flow '<flow>'}. Then move back by a wave of the opposite flow, or copy "
        "again: {mirror:cutover reopen --flow '<flow>' --reason \"…\"}"
    )
    lost = "No, nothing was copied."
    do = (
        "Compare the source with what was copied, and export what only it has (`cutover compare --export DIR`). Then move applications "
        "back by a wave of the opposite flow, or let the flow copy again with `cutover reopen`."
    )
    more = "The message says who closed it, when and why."


class NotClosed(DeclaredError):
    """A flow is to be reopened that was not closed."""

    flow: str
    text = "{flow} is not closed, so there is nothing to reopen."
    next_text = "See what its next copy does: {mirror:plan --flow '<flow>'}"
    lost = "No, nothing was changed."


class ExportDiffers(DeclaredError):
    """The directory of an export holds one of another cluster, flow or topic, or one that begins at another offset."""

    directory: str
    detail: str
    text = "{directory} holds another export: {detail}. Nothing was written there."
    next_text = "Name another directory with `--export`."
    lost = "No, nothing was written."
    more = "The message says what differs."


class ExportFailed(DeclaredError):
    """A record that only the returned source has could not be exported.

    The export's files cannot be written, or the record not as JSON says it.
    """

    where: str
    detail: str
    topic: str | None = field(default=None, kw_only=True)
    partition: int | None = field(default=None, kw_only=True)
    offset: int | None = field(default=None, kw_only=True)
    text = "{where} was not exported: {detail}."
    next_text = "Mend what is named, and run the same command again: it goes on where it ended. Keep the source's log until it has ended."
    lost = "Not yet: the record is still on the source. Nothing was deleted."
    do = "Make room for the files, or read the record that is named by another client. Run the same command again: it goes on."


class RecordsMayBeMissing(TopicError):
    """Source offsets that the last plan saw, or that a group had read, were not copied before the source was lost."""

    what: str
    text = "{what}."
    lost = "Yes, unless the source comes back."
    next_text = "If the source comes back, `cutover compare` names these records and exports them."


class RemoteLogUnknown(DeclaredError):
    """Brokers of the target did not say whether their logs are those for which the groups' checkpoints were made."""

    cluster: str
    partitions: str
    text = "Leaders on {cluster} did not say whether their logs are those of the groups' checkpoints: {partitions}."
    next_text = "Look at the brokers, and ask again."


class GroupIncomplete(GroupError):
    """Records that a group had not read were never mirrored, or are gone from the target too."""

    cluster: str
    reasons: str
    text = "{group!r}: records that it had not read are not on {cluster}: {reasons}."
    next_text = "If the source comes back, `cutover compare` says what it still has of them."
    lost = "On the target. The source may still have them."


class SourceTopicRecreated(PartitionError):
    """A topic was deleted and created again on a source that came back."""

    copied: str
    text = "{topic}-{partition}: its topic was deleted and created again on the source; {copied}."
    next_text = "What was copied of the old one is on the target."
    do = "Nothing: what was copied of the old topic is on the target."


class SourceLostRecords(PartitionError):
    """A source that came back has copied records no more: an unclean election, or a lost disk, took them."""

    copied: str
    text = "{topic}-{partition}: {copied}: an unclean election, or a lost disk, took them."
    next_text = "They are on the target. A wave back brings them over again."
    lost = "On the source. They are on the target."


class OnlyOnSource(PartitionError):
    """A source that came back has records that were never copied."""

    what: str
    text = "{topic}-{partition}: {what}."
    next_text = "Export them with `--export DIR` before anything else is done there."
    lost = "Not yet: only the source has them."
