"""Errors of a wave of a cutover as a whole: its record in the control topic, who runs it, and a failover, whose source was lost."""

from collections.abc import Collection, Sequence
from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, GroupError, PartitionError, TopicError
from kafka_mirror.errors.next_step import Part, wave_command
from kafka_mirror.errors.words import first_few


class WaveUnknown(DeclaredError):
    """A command names a wave that the flow's control topic does not have."""

    wave: str
    names: Collection[str]
    next_text = (
        "See what waves there are: {mirror:cutover status --flow '<flow>'}. A wave begins with {mirror:cutover run --flow '<flow>'}."
    )
    lost = "No, nothing was changed."

    def _describe(self) -> str:
        return f"The flow has no wave '{self.wave}': it has {', '.join(self.names) or 'none'}."


class WaveDiffers(DeclaredError):
    """A wave was begun with other topics, groups or another mode than it is run with now."""

    wave: str
    what: str
    noted: str
    given: str
    text = "The wave '{wave}' was begun with {what} {noted}, not {given}. Nothing was changed."
    next_text = "Go on with it as it is: {mirror:cutover run --flow '<flow>' --wave {wave!q}}. Or roll it back, and begin the other one."
    lost = "No, nothing was changed."
    do = "Run it by its name alone (`--wave`), or roll it back. A wave of other topics may go on beside it, under a name of its own."


class WaveRunElsewhere(DeclaredError):
    """Two runs of one wave were under way, or a failover took the wave. The older one stopped.

    `mended`: what it changed once the newer one had the wave, and put back; `unmended`: what it could not put back.
    """

    wave: str
    who: str
    mended: Sequence[str] = ()
    unmended: Sequence[str] = ()
    next_text = "See how far it is: {mirror:cutover status --flow '<flow>'}. Let it end; then run the wave again if it is not done."
    lost = "No. What it changed once the newer run had the wave it put back, and the message says so; it names what it could not put back."
    do = "Let the newer run end (`cutover status` says who began it). Look at what the message says could not be put back."
    more = "A run also ends so if its machine stood still while another run went on."

    def _describe(self) -> str:
        changed = [
            f"What it had changed by then is put back: {'; '.join(self.mended)}." if self.mended else "",
            f"It changed something by then and could not put it back: {'; '.join(self.unmended)}." if self.unmended else "",
        ]
        said = f"Another run of the wave '{self.wave}' began, by {self.who}: this one stops here."
        return f"{said} {' '.join(filter(None, changed)) or 'It changed no ACL and no position since, and moved no topic.'}"


class WaveHeld(DeclaredError):
    """Two waves have a topic in common, and the other one is under way: its fence and positions would be mixed with this one's."""

    wave: str
    what: str
    other: str
    state: str
    topics: Sequence[str]
    lost = "No, nothing was changed."
    do = "End the other wave (`cutover run`), or take it back (`cutover rollback`)."
    more = "A failover takes a planned wave from its run."

    def _describe(self) -> str:
        other = f"the wave '{self.other}' is {self.state} and holds {first_few(self.topics)}"
        return f"The wave '{self.wave}' cannot be {self.what}: {other}. Nothing was changed."

    def _advise(self) -> Sequence[Part]:
        if self.state == "open":
            return ("Leave these topics out of --topics: they are moved.",)
        run, take_back = (wave_command(command, self.other) for command in ("run", "rollback"))
        return "End the other one: ", run, "; or take it back: ", take_back, "."


class WaveIsOpen(DeclaredError):
    """A wave that is open cannot be rolled back, for what was written on the target since would be lost."""

    wave: str
    opposite: str
    topics: Collection[str]
    text = "The wave '{wave}' is open: its topics may have new records on the target, which a roll back would lose. Nothing was changed."
    lost = "No, nothing was changed."
    do = "Move back by a wave of the opposite flow, with the same steps."

    def _advise(self) -> Sequence[Part]:
        plan = f"cutover plan --flow '{self.opposite}' --topics '{','.join(self.topics)}' says what would stop it."
        return (f"Move back by a wave in the other direction, of the flow {self.opposite}: {plan}",)


class WaveRollsBack(DeclaredError):
    """A roll back of a wave was begun and has not ended."""

    wave: str
    text = "The wave '{wave}' is half rolled back."
    next_text = "End that: {mirror:cutover rollback --flow '<flow>' --wave {wave!q}}. Then the wave can be run again."


class WaveTooLarge(DeclaredError):
    """The record of a wave does not fit into the control topic: it has too many partitions or positions."""

    wave: str
    size: int
    limit: int
    text = "What is to be noted of the wave '{wave}' is {size:,} bytes; a record of the control topic may have {limit:,}."
    next_text = "Take back what it did so far ({mirror:cutover rollback --flow '<flow>' --wave {wave!q}}), and move in smaller waves."
    lost = "No. What was noted before stays, and a roll back takes it back."


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
