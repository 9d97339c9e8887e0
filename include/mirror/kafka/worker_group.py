"""The worker group of a Kafka Connect cluster: whether any worker is alive."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from mirror.errors.display import show
from mirror.kafka.client_errors import ClientErrors, retry_until, settings_with, to_mirror_error

_GONE = ("empty", "dead", "")


@dataclass(frozen=True)
class WorkerGroup:
    """A group of any protocol: Kafka's word for its state, and where its members are."""

    state: str
    members: tuple[str, ...] = ()

    @property
    def is_gone(self) -> bool:
        """Whether nobody is in it, and nobody is about to come in."""
        return not self.members and self.state.lower() in _GONE


def worker_group(alias: str, settings: Mapping[str, Any], group: str, seconds: float) -> WorkerGroup:
    """The group as its coordinator on the cluster `alias` knows it; one that does not exist is empty. `settings`: of an admin client.

    Raises AuthorizationRefused if we may not see it, and what the brokers say.
    """
    complaints = ClientErrors(alias, settings)
    admin = AdminClient(settings_with(settings, complaints))
    try:
        listed = retry_until(partial(_described, admin, group), seconds, complaints)
        for described in listed:
            if described.error is not None:
                raise KafkaException(described.error)
            return WorkerGroup(
                described.state or "", tuple(f"{show(member.client_id)} on {member.client_host}" for member in described.members)
            )
    except KafkaException as failure:
        step = f"looking at the worker group {show(group)}"
        raise to_mirror_error(failure, complaints, step=step, seconds=seconds, operation="DESCRIBE") from failure
    return WorkerGroup("")


def _described(admin: AdminClient, group: str, seconds: float) -> list[Any]:
    # What is to take its place describes groups of consumers only.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return list(admin.list_groups(group, seconds))
