"""Errors of schema registries."""

from mirror.errors.base import MirrorError, Runbook


class RegistryUnreachable(MirrorError):
    """Raised when no address of a schema registry answered, or it answered that it cannot serve now."""

    retriable = True
    runbook = Runbook(
        "A schema registry did not answer, or cannot serve now.",
        "No: schemas are only late. Records go on being copied.",
        "Check the registry, the network and `mirror.schemas.<side>.url`.",
    )

    def __init__(self, side: str, urls: str, detail: str) -> None:
        super().__init__(
            f"The schema registry of the {side} did not answer at {urls}: {detail}.",
            next=f"Check the registry, the network and mirror.schemas.{side}.url; the next run goes on by itself.",
        )
        self.side = side


class RegistryRefused(MirrorError):
    """Raised when a schema registry refused a request: its login, a right, or what was asked. `status` is HTTP's."""

    runbook = Runbook(
        "A schema registry refused a request.",
        "No: schemas are only late. Records go on being copied.",
        "Correct what the message names: the login (`mirror.schemas.<side>.*`), a right, or the registry's settings.",
    )

    def __init__(self, side: str, request: str, status: int, said: str, next: str = "") -> None:
        super().__init__(
            f"The schema registry of the {side} refused to {request}: {status} {said}.",
            next=next or f"Check mirror.schemas.{side}.* and what that login may do in the registry; then run the flow's schemas again.",
        )
        self.side = side
        self.status = status
        self.said = said


class SchemaConflict(MirrorError):
    """Only reported: a version of a subject that the target's registry cannot have with the source's id."""

    runbook = Runbook(
        "The target's registry has another schema under a version or an id of the source's, so ids cannot be kept.",
        "No. But records of the source that name this id would be read on the target by another schema.",
        "Decide which of the two is right. Put the flow's schemas into a context of their own (`mirror.schemas.contexts`), or delete what "
        "stands in the way on the target, permanently.",
    )

    def __init__(self, version: str, why: str) -> None:
        super().__init__(
            f"The schema {version} cannot be had on the target: {why}.",
            next="Put the schemas into a context of their own (mirror.schemas.contexts), or delete permanently what stands in the way.",
        )
        self.version = version


class SchemaIdChanged(MirrorError):
    """Raised when a registry gave a schema another id than it was asked for."""

    runbook = Runbook(
        "The target's registry does not keep the ids that it is given.",
        "No. But records of the source name ids that the target does not have.",
        "Use a registry that takes ids in the mode IMPORT. Delete what was registered with another id.",
    )

    def __init__(self, version: str, given: int) -> None:
        super().__init__(
            f"The target's registry gave {version} the id {given}, so records that name its id cannot be read there.",
            next="Use a registry whose mode IMPORT keeps ids; delete the subject on the target permanently before the next try.",
        )
        self.given = given
