"""Errors of the ledger: what must not be read on or written over."""

from mirror.errors.base import MirrorError


class LedgerDamaged(MirrorError):
    """Raised when a ledger record cannot be read; it is never overwritten."""

    def __init__(self, where: str, detail: str, *, topic: str | None = None, partition: int | None = None) -> None:
        super().__init__(
            f"The ledger record at {where} cannot be read: {detail}. It was left as it is, and its lane copies nothing.",
            topic=topic,
            partition=partition,
            next="Look at the record with any console consumer; restore it from an earlier version of the topic if someone wrote to it.",
        )
        self.where = where


class LedgerTooNew(MirrorError):
    """Raised when a ledger record was written by a newer version of the mirror."""

    def __init__(self, where: str, version: int, known: int) -> None:
        super().__init__(
            f"The ledger record at {where} has version {version}, and this mirror knows versions up to {known}. It was left as it is.",
            next="Run the newer version of the mirror, the one that wrote the ledger.",
        )
        self.version = version


class LedgerUnsuitable(MirrorError):
    """Raised when the ledger topic's own settings would endanger it."""

    def __init__(self, ledger: str, setting: str, found: str, needed: str) -> None:
        super().__init__(
            f"The ledger topic {ledger} has {setting}={found}, and it needs {needed}. Nothing was copied.",
            topic=ledger,
            next=f"Set {setting} of {ledger} to {needed} (kafka-configs.sh --alter), or find out who changed it.",
        )
        self.setting = setting
        self.found = found
        self.needed = needed


class LanesChanged(MirrorError):
    """Raised when mirror.lanes differs from what the ledger was written with."""

    def __init__(self, ledger: str, found: int, configured: int) -> None:
        super().__init__(
            f"The ledger {ledger} was written with {found} lanes, and mirror.lanes is {configured}. Nothing was copied.",
            topic=ledger,
            next=f"Set mirror.lanes={found} again; a partition must not change its lane.",
        )
        self.found = found
        self.configured = configured


class ForeignWriter(MirrorError):
    """Raised when another installation has written to a lane's ledger just now."""

    def __init__(self, ledger: str, lane: int, installation: str, host: str, seconds: float) -> None:
        super().__init__(
            f"Lane {lane} of {ledger} was written {seconds:.0f} s ago by the installation '{installation}' on {host}. "
            "This run left the lane alone.",
            topic=ledger,
            partition=lane,
            next=f"Stop the other installation, or give both the same mirror.installation; once '{installation}' has been silent for "
            "ten copy intervals, the lane is taken over.",
        )
        self.installation = installation
