"""Errors of a wave of a cutover as a whole: its record in the control topic, and who runs it. What stops a step is a finding."""

from collections.abc import Collection, Sequence

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import of_the_flow, of_the_wave

_SHOWN = 5


class WaveUnknown(MirrorError):
    """Raised when the flow's control topic has no wave of that name."""

    runbook = Runbook(
        "A command names a wave of a cutover that the flow's control topic does not have.",
        "No, nothing was changed.",
        "`cutover status` lists the waves of the flow.",
    )

    def __init__(self, wave: str, names: Collection[str]) -> None:
        there = f"it has {', '.join(names)}" if names else "it has none"
        super().__init__(
            f"The flow has no wave '{wave}': {there}.",
            next=("See what waves there are: ", of_the_flow("cutover status"), ". A wave begins with ", of_the_flow("cutover run"), "."),
        )
        self.wave = wave


class WaveDiffers(MirrorError):
    """Raised when a wave is run with other topics, groups or mode than those that are noted under its name."""

    runbook = Runbook(
        "A wave of a cutover was begun with other topics, groups or another mode than it is run with now.",
        "No, nothing was changed.",
        "Run it by its name alone (`--wave`). Or roll it back and begin the other one. A wave of other topics may go on beside it, under "
        "a name of its own.",
    )

    def __init__(self, wave: str, what: str, noted: str, given: str) -> None:
        super().__init__(
            f"The wave '{wave}' was begun with {what} {noted}, not {given}. Nothing was changed.",
            next=(
                "Go on with it as it is: ",
                of_the_wave("run", wave),
                ". Or roll it back, and begin the other one.",
            ),
        )
        self.wave = wave


class WaveRunElsewhere(MirrorError):
    """Raised when another run of the same wave wrote to its record, or a failover took the wave: the newer run has it, and the older one
    stops. `mended`: what it changed once the newer one had the wave, and put back; `unmended`: what it could not put back."""

    runbook = Runbook(
        "Two runs of one wave of a cutover were under way, or a failover took the wave. The older one stopped.",
        "No. What it changed once the newer run had the wave it put back, and the message says so; it names what it could not put back.",
        "Look who began the newer run (`cutover status`), and let it end. Look at what the message says could not be put back.",
        more="Each run notes that it begins, and looks whose the wave is before and after each change. A run also ends with this error if "
        "its machine stood still while another run went on.",
    )

    def __init__(self, wave: str, who: str, mended: Sequence[str] = (), unmended: Sequence[str] = ()) -> None:
        changed = "It changed no ACL and no position since, and moved no topic." if not (mended or unmended) else ""
        undone = f"What it had changed by then is put back: {'; '.join(mended)}." if mended else ""
        stays = f"It changed something by then and could not put it back: {'; '.join(unmended)}." if unmended else ""
        said = f"Another run of the wave '{wave}' began, by {who}: this one stops here."
        super().__init__(
            " ".join(filter(None, (said, changed, undone, stays))),
            next=("See how far it is: ", of_the_flow("cutover status"), ". Let it end; then run the wave again if it is not done."),
        )
        self.wave = wave
        self.who = who
        self.mended = tuple(mended)
        self.unmended = tuple(unmended)


class WaveHeld(MirrorError):
    """Raised when a wave is to be run or rolled back while another one holds some of its topics."""

    runbook = Runbook(
        "Two waves of a cutover have a topic in common, and the other one is under way. Its fence and its positions of groups would be "
        "taken for this one's, or taken back with it.",
        "No, nothing was changed.",
        "End the other wave (`cutover run`), or take it back (`cutover rollback`). Then go on with this one.",
        more="A failover may begin beside a planned wave, and takes it from its run.",
    )

    def __init__(self, wave: str, what: str, other: str, state: str, topics: Sequence[str]) -> None:
        named = ", ".join(topics[:_SHOWN]) + (f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else "")
        run, take_back = (of_the_wave(command, other) for command in ("run", "rollback"))
        end = ("End the other one: ", run, "; or take it back: ", take_back, ".")
        super().__init__(
            f"The wave '{wave}' cannot be {what}: the wave '{other}' is {state} and holds {named}. Nothing was changed.",
            next=("Leave these topics out of --topics: they are moved.",) if state == "open" else end,
        )
        self.wave = wave
        self.other = other
        self.topics = tuple(topics)


class WaveIsOpen(MirrorError):
    """Raised when a wave is to be rolled back that is open: producers may have written on the target."""

    runbook = Runbook(
        "A wave of a cutover that is open cannot be rolled back, for what was written on the target since would be lost.",
        "No, nothing was changed.",
        "Move back by a wave of the opposite flow, with the same steps.",
    )

    def __init__(self, wave: str, opposite: str, topics: Collection[str]) -> None:
        patterns = ",".join(topics)
        super().__init__(
            f"The wave '{wave}' is open: its topics may have new records on the target, which a roll back would lose. Nothing was changed.",
            next=f"Move back by a wave in the other direction, of the flow {opposite}: cutover plan --flow '{opposite}' --topics "
            f"'{patterns}' says what would stop it.",
        )
        self.wave = wave


class WaveRollsBack(MirrorError):
    """Raised when a wave is to go on that is half rolled back."""

    runbook = Runbook(
        "A roll back of a wave of a cutover was begun and has not ended.",
        "No.",
        "End the roll back (`cutover rollback`). Then the wave can be run anew.",
    )

    def __init__(self, wave: str) -> None:
        super().__init__(
            f"The wave '{wave}' is half rolled back.",
            next=("End that: ", of_the_wave("rollback", wave), ". Then the wave can be run anew."),
        )
        self.wave = wave


class WaveTooLarge(MirrorError):
    """Raised when what is to be noted of a wave is more than a record of the control topic takes."""

    runbook = Runbook(
        "A wave of a cutover has so many partitions or positions that its record does not fit into the control topic.",
        "No. What was noted before stays, and a roll back takes it back.",
        "Roll the wave back and move in smaller waves.",
    )

    def __init__(self, wave: str, size: int, limit: int) -> None:
        super().__init__(
            f"What is to be noted of the wave '{wave}' is {size:,} bytes; a record of the control topic may have {limit:,}.",
            next=(
                "Take back what it did so far (",
                of_the_wave("rollback", wave),
                "), and move in smaller waves.",
            ),
        )
        self.wave = wave
        self.size = size
