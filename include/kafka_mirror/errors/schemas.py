"""Errors of schema registries."""

from collections.abc import Sequence

from kafka_mirror.errors.declaration import DeclaredError
from kafka_mirror.errors.next_step import Part


class RegistryUnreachable(DeclaredError):
    """A schema registry did not answer, or cannot serve now."""

    side: str
    urls: str
    detail: str
    retriable = True
    text = "The schema registry of the {side} did not answer at {urls}: {detail}."
    next_text = "Check the registry, the network and mirror.schemas.{side}.url; the next run goes on by itself."
    lost = "No: schemas are only late. Records go on being copied."
    do = "Check the registry, the network and `mirror.schemas.<side>.url`."


class RegistryRefused(DeclaredError):
    """A schema registry refused a request.

    `status` is HTTP's. It refused the login, a right, or what was asked.
    """

    side: str
    request: str
    status: int
    said: str
    advice: str = ""
    text = "The schema registry of the {side} refused to {request}: {status} {said}."
    next_text = "Check mirror.schemas.{side}.* and what that login may do in the registry; then run the flow's schemas again."
    lost = "No: schemas are only late. Records go on being copied."
    do = "Correct what the message names: the login (`mirror.schemas.<side>.*`), a right, or the registry's settings."

    def _advise(self) -> Sequence[Part]:
        return (self.advice,) if self.advice else super()._advise()


class SchemaConflict(DeclaredError):
    """The target's registry has another schema under a version or an id of the source's, so ids cannot be kept.

    It is only reported, never raised.
    """

    version: str
    why: str
    text = "The schema {version} cannot be had on the target: {why}."
    next_text = "Put the schemas into a context of their own (mirror.schemas.contexts), or delete permanently what stands in the way."
    lost = "No. But records of the source that name this id would be read on the target by another schema."
    do = (
        "Decide which of the two is right. Give the flow's schemas their own context (`mirror.schemas.contexts`), or delete what "
        "stands in the way on the target, permanently."
    )


class SchemaIdChanged(DeclaredError):
    """The target's registry does not keep the ids that it is given."""

    version: str
    given: int
    text = "The target's registry gave {version} the id {given}, so records that name its id cannot be read there."
    next_text = "Use a registry whose mode IMPORT keeps ids; delete the subject on the target permanently before the next try."
    lost = "No. But records of the source name ids that the target does not have."
    do = "Use a registry that takes ids in the mode IMPORT. Delete what was registered with another id."
