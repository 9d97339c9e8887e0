"""Errors of a flow whose source was lost: it copies nothing until somebody decides, and what the source still has is exported."""

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import of_the_flow


class FlowClosed(MirrorError):
    """Raised when a flow is to copy that was closed by a failover: its source may have come back with other records than were copied."""

    runbook = Runbook(
        "The flow's source was declared lost, applications moved to the target, and the flow was closed against a source that comes back.",
        "No, nothing was copied.",
        "Compare the source with what was copied, and export what only it has (`cutover compare --export DIR`). Then move applications "
        "back by a wave of the opposite flow, or let the flow copy again with `cutover reopen`.",
        more="The message says who closed it, when and why.",
    )

    def __init__(self, who: str, when: str, why: str) -> None:
        super().__init__(
            f"The flow was closed by {who} at {when}, after a failover: {why}. Nothing was copied.",
            next=(
                "See what only the source has: ",
                of_the_flow("cutover compare"),
                ". Then move back by a wave of the opposite flow, or copy again: ",
                of_the_flow("cutover reopen", '--reason "…"'),
            ),
        )
        self.who = who
        self.when = when
        self.why = why


class NotClosed(MirrorError):
    """Raised when a flow is to be reopened that nobody closed."""

    runbook = Runbook(
        "A flow is to be reopened that nobody closed.", "No, nothing was changed.", "Nothing: it copies, unless `plan` says why not."
    )

    def __init__(self, flow: str) -> None:
        super().__init__(
            f"{flow} is not closed, so there is nothing to reopen.", next=("See what its next copy does: ", of_the_flow("plan"))
        )


class ExportDiffers(MirrorError):
    """Raised when a directory holds an export of other records than the ones that are to be exported there."""

    runbook = Runbook(
        "The directory of an export holds one of another cluster, flow or topic, or one that begins at another offset.",
        "No, nothing was written.",
        "Name another directory with `--export`, and keep both.",
        more="The message says what differs.",
    )

    def __init__(self, directory: str, detail: str) -> None:
        super().__init__(
            f"{directory} holds another export: {detail}. Nothing was written there.", next="Name another directory with --export."
        )
        self.directory = directory


class ExportFailed(MirrorError):
    """Raised when records cannot be written to the export's files, or a record cannot be written as JSON says it."""

    runbook = Runbook(
        "A record that only the returned source has could not be exported.",
        "Not yet: the record is still on the source. Nothing was deleted.",
        "Make room for the files, or read the record that is named by another client. Run the same command again: it goes on.",
    )

    def __init__(
        self, where: str, detail: str, *, topic: str | None = None, partition: int | None = None, offset: int | None = None
    ) -> None:
        super().__init__(
            f"{where} was not exported: {detail}.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Mend what is named, and run the same command again: it goes on where it ended. Keep the source's log until it has ended.",
        )
