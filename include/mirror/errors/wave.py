"""Errors of a wave of a cutover as a whole: its record in the control topic, and who runs it. What stops a step is a finding."""

from collections.abc import Collection

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import of_the_flow


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
        "Run it by its name alone (`--wave`), or give the other wave a name of its own.",
    )

    def __init__(self, wave: str, what: str, noted: str, given: str) -> None:
        super().__init__(
            f"The wave '{wave}' was begun with {what} {noted}, not {given}. Nothing was changed.",
            next=("Go on with it as it is: ", of_the_flow("cutover run", f"--wave {wave}"), ". Or give the other wave a name of its own."),
        )
        self.wave = wave


class WaveRunElsewhere(MirrorError):
    """Raised when another run of the same wave wrote to its record: the newer run has it, and the older one stops."""

    runbook = Runbook(
        "Two runs of one wave of a cutover were under way. The older one stopped before it did anything more.",
        "No.",
        "Look who began the newer run (`cutover status`), and let it end.",
        more="Each run notes that it begins, and each step what it is going to do before it does it.",
    )

    def __init__(self, wave: str, who: str) -> None:
        super().__init__(
            f"Another run of the wave '{wave}' began, by {who}: this one stops here, and did nothing since.",
            next=("See how far it is: ", of_the_flow("cutover status"), ". Let it end; then run the wave again if it is not done."),
        )
        self.wave = wave
        self.who = who


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
            next=("End that: ", of_the_flow("cutover rollback", f"--wave {wave}"), ". Then the wave can be run anew."),
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
            next=("Take back what it did so far (", of_the_flow("cutover rollback", f"--wave {wave}"), "), and move in smaller waves."),
        )
        self.wave = wave
        self.size = size
