"""Waits until everything up to a time is on the target: in the sensor's task, and in Airflow's triggerer."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import PokeReturnValue
from airflow.sdk.exceptions import TaskDeferred

from kafka_mirror.airflow.complete_trigger import MirrorCompleteTrigger, look
from kafka_mirror.airflow.flow_files import files_of
from kafka_mirror.airflow.tasks import read_event, split_names, task_body
from kafka_mirror.config.catalogue.values import milliseconds
from kafka_mirror.errors import UsageError

if TYPE_CHECKING:
    from kafka_mirror.airflow.operators import MirrorCompleteSensor

log = logging.getLogger(__name__)


def wait_in_triggerer(sensor: "MirrorCompleteSensor") -> Any:
    """Looks once, and gives the figures if everything is there. Raises TaskDeferred if not: the triggerer goes on looking."""
    if answer := look_once(sensor):
        return answer.xcom_value
    trigger = MirrorCompleteTrigger(*_question(sensor), sensor.poke_interval, files_of(sensor.flow))
    raise TaskDeferred(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=sensor.timeout))


def look_once(sensor: "MirrorCompleteSensor") -> PokeReturnValue:
    """What a look sees. Raises what does not pass by itself: a topic that the flow does not mirror, a login."""
    with task_body():
        arrival = look(*_question(sensor), files_of(sensor.flow))
    return PokeReturnValue(arrival is not None and arrival.is_complete, arrival and arrival.totals)


def complete(sensor: "MirrorCompleteSensor", event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures that the trigger gives. Raises the error that ended it."""
    with task_body():
        figures = read_event(event)
    log.info("%s: everything up to %s is on the target.", sensor.flow, figures["up_to"])
    return figures


def _question(sensor: "MirrorCompleteSensor") -> tuple[str, tuple[str, ...], int]:
    """The flow, the topics, and the time in Unix milliseconds. Raises UsageError."""
    try:
        return sensor.flow, split_names(sensor.topics), milliseconds(str(sensor.up_to))
    except ValueError as error:
        raise UsageError(f"up_to cannot be used: {error}.", next="Give a time, such as '{{ data_interval_end }}'.") from None
