"""`take-over` and `hand-back`: a flow changes hands between MirrorMaker 2 and this mirror."""

import argparse
from typing import TYPE_CHECKING

from mirror.commands.answer import DONE, FAILED, Answer
from mirror.commands.decide import whoever
from mirror.config import Flow
from mirror.errors import UsageError
from mirror.sync.step import Done

if TYPE_CHECKING:
    from mirror.handover.mirrormaker import MirrorMaker


def add_arguments(step: argparse.ArgumentParser) -> None:
    """What both commands take."""
    step.add_argument("--connector-name", metavar="NAME", help="the source connector on a Connect cluster (default: MirrorSourceConnector)")
    step.add_argument("--offsets-topic", metavar="TOPIC", help="Kafka Connect's offsets (default: mm2-offsets.<source>.internal)")
    step.add_argument("--group", metavar="GROUP", help="the worker group (default: <source>-mm2)")


def add_take_over_arguments(step: argparse.ArgumentParser) -> None:
    """What `take-over` takes beside that."""
    add_arguments(step)
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
    from mirror.handover.take_over import Request
    from mirror.handover.take_over import take_over as run

    _require_flow(options)
    if options.at_stored_offsets and not options.topic:
        raise UsageError(
            "The command line cannot be used: --at-stored-offsets needs --topic, for it may copy records a second time.",
            next="See python -m mirror take-over --help.",
        )
    request = Request(whoever(), maker=_maker(flow, options), topics=tuple(options.topic), at_stored=options.at_stored_offsets)
    return _answer(run(flow, request, options.dry_run))


def hand_back(flow: Flow, options: argparse.Namespace) -> Answer:
    """Hands a flow back."""
    from mirror.handover.hand_back import Request
    from mirror.handover.hand_back import hand_back as run

    _require_flow(options)
    return _answer(run(flow, Request(whoever(), maker=_maker(flow, options)), options.dry_run))


def _require_flow(options: argparse.Namespace) -> None:
    if options.flow is None:
        word = options.command
        raise UsageError(f"The command line cannot be used: {word} needs --flow.", next=f"See python -m mirror {word} --help.")


def _maker(flow: Flow, options: argparse.Namespace) -> "MirrorMaker":
    from mirror.handover.mirrormaker import MirrorMaker

    return MirrorMaker.of(flow, options.connector_name, options.offsets_topic, options.group)


def _answer(done: Done) -> Answer:
    return Answer(FAILED if done.errors else DONE, done.result, done.errors, "\n".join(done.lines))
