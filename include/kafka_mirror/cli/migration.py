"""`take-over` and `hand-back`: a flow changes hands between MirrorMaker 2 and this mirror."""

import argparse
from typing import TYPE_CHECKING

from kafka_mirror.cli.answer import DONE, FAILED, Answer
from kafka_mirror.cli.decide import user_at_host
from kafka_mirror.cli.options import FLOW, Parser
from kafka_mirror.config import Flow
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import own
from kafka_mirror.ledger.step import StepResult

if TYPE_CHECKING:
    from kafka_mirror.migration.connect import MirrorMaker


def add_arguments(step: Parser) -> None:
    """What both commands take."""
    step.need(FLOW)
    step.add_argument("--connector-name", metavar="NAME", help="the source connector on a Connect cluster (default: MirrorSourceConnector)")
    step.add_argument("--offsets-topic", metavar="TOPIC", help="Kafka Connect's offsets (default: mm2-offsets.<source>.internal)")
    step.add_argument("--group", metavar="GROUP", help="the worker group (default: <source>-mm2)")


def add_take_over_arguments(step: Parser) -> None:
    """What `take-over` takes beside that."""
    add_arguments(step)
    step.set_defaults(check=_check_take_over)
    step.add_argument(
        "--topic", metavar="T", action="append", default=[], help="only this topic, by its name on the source; may be repeated"
    )
    step.add_argument(
        "--at-stored-offsets",
        action="store_true",
        help="where the end of a remote partition leaves a doubt, go on as MirrorMaker 2 would; needs --topic",
    )


def take_over(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes a flow over."""
    from kafka_mirror.migration.take_over import TakeOverRequest
    from kafka_mirror.migration.take_over import take_over as run

    request = TakeOverRequest(user_at_host(), maker=_maker(flow, options), topics=tuple(options.topic), at_stored=options.at_stored_offsets)
    return _answer(run(flow, request, options.dry_run))


def hand_back(flow: Flow, options: argparse.Namespace) -> Answer:
    """Hands a flow back."""
    from kafka_mirror.migration.hand_back import HandBackRequest
    from kafka_mirror.migration.hand_back import hand_back as run

    return _answer(run(flow, HandBackRequest(user_at_host(), maker=_maker(flow, options)), options.dry_run))


def _check_take_over(options: argparse.Namespace) -> None:
    if options.at_stored_offsets and not options.topic:
        raise UsageError(
            "The command line cannot be used: --at-stored-offsets needs --topic, for it may copy records a second time.",
            next=("See ", own("take-over --help"), "."),
        )


def _maker(flow: Flow, options: argparse.Namespace) -> "MirrorMaker":
    from kafka_mirror.migration.connect import MirrorMaker

    return MirrorMaker.of(flow, options.connector_name, options.offsets_topic, options.group)


def _answer(done: StepResult) -> Answer:
    return Answer(FAILED if done.errors else DONE, done.result, done.errors, "\n".join(done.lines))
