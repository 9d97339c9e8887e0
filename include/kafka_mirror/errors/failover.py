"""Errors of a flow whose source was lost: it copies nothing until somebody decides, and what the source still has is exported."""

from dataclasses import field

from kafka_mirror.errors.declaration import DeclaredError


class FlowClosed(DeclaredError):
    """The flow's source was declared lost, applications moved to the target, and the flow was closed against a source that comes back."""

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
    """A flow is to be reopened that nobody closed."""

    flow: str
    text = "{flow} is not closed, so there is nothing to reopen."
    next_text = "See what its next copy does: {mirror:plan --flow '<flow>'}"
    lost = "No, nothing was changed."
    do = "Nothing: it copies, unless `plan` says why not."


class ExportDiffers(DeclaredError):
    """The directory of an export holds one of another cluster, flow or topic, or one that begins at another offset."""

    directory: str
    detail: str
    text = "{directory} holds another export: {detail}. Nothing was written there."
    next_text = "Name another directory with --export."
    lost = "No, nothing was written."
    do = "Name another directory with `--export`, and keep both."
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
