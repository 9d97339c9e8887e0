"""What each command takes beside the options of all commands. `cutover` has a file of its own."""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kafka_mirror.backfill.model import ANY_ORDER, IN_TIME_ORDER
from kafka_mirror.cli.options import FLOW, Parser, add_common_of_a_flow, check_watch, read_as, user_at_host
from kafka_mirror.decide.request import (
    ALIAS,
    AS_CONFIGURED,
    DECISIONS,
    EARLIEST,
    KINDS,
    LATEST,
    OPTIONS,
    PARTITION,
    RATE,
    START,
    TOPIC,
    DecisionRequest,
    parse_offset,
    parse_rate,
    request,
)
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import mirror_command
from kafka_mirror.ledger.control_records import UNLIMITED
from kafka_mirror.spark.connect_url import DEFAULT_PORT

TOKEN_FILE = Path(".kafka-mirror") / "spark-connect.token"
"""The token of `spark serve`, below the home directory."""
LIST = "list"
"""Of `decide`: what was decided."""
WATCH_SECONDS = 5.0
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 3600.0
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def add_status(command: Parser) -> None:
    """`status`."""
    command.add_argument("--topic", metavar="TOPIC", help="only this topic, in the summary and among the errors too")
    command.add_argument("--problems", action="store_true", help="only the partitions that the next run does not simply serve")
    command.add_argument(
        "--watch",
        nargs="?",
        metavar="SECONDS",
        type=_watch_seconds,
        const=WATCH_SECONDS,
        help=f"look again after this many seconds ({WATCH_SECONDS:g} if none are given) and redraw the terminal, until Ctrl-C",
    )
    command.set_defaults(check=check_watch)


def _watch_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from {_LEAST_SECONDS:g} to {_MOST_SECONDS:g} (it is {text!r})")
    return seconds


def add_translate(command: Parser) -> None:
    """`translate`."""
    command.add_argument("--group", metavar="GROUP", help="the consumer group of the source")
    command.need("--group")


def add_freshness(command: Parser) -> None:
    """`freshness`."""
    command.add_argument(
        "--test-alert",
        action="store_true",
        help="send a test, and that it is over, by each of mirror.alert.connections and mirror.alert.notifiers",
    )


def add_audit(command: Parser) -> None:
    """`audit`."""
    command.add_argument("--topics", metavar="A,B", help="only these source topics (default: all that the flow mirrors)")
    command.add_argument("--from", metavar="TIME", dest="start", help="ISO 8601, UTC unless it says otherwise; needs --to")
    command.add_argument("--to", metavar="TIME", dest="end", help="the interval ends in front of it")
    command.add_argument(
        "--complete", action="store_true", help="fail, too, while anything of it is not copied yet or could not be compared"
    )
    command.add_argument("--show-payload", action="store_true", help="show values and headers of records that differ, not only their sizes")
    command.add_argument("--without-spark", action="store_true", help="compare in this process, however much it is")
    command.add_argument("--master", metavar="URL", help="compare on this Spark cluster, however little it is")


def add_copy(command: Parser) -> None:
    """`copy`."""
    command.add_argument(
        "--follow",
        metavar="SECONDS",
        type=_follow_seconds,
        help="copy what is there and then what arrives, for so long in all (also 10m or 2h); Ctrl-C ends it sooner",
    )
    command.add_argument("--without-spark", action="store_true", help="copy in this process instead of a Spark job")
    command.add_argument(
        "--master",
        metavar="URL",
        help="the Spark cluster: spark://host:7077, sc://127.0.0.1:15002 (default: that of mirror.spark.connection, else local[*,4])",
    )


def _follow_seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text} is no time: say 90, 90s, 10m or 2h")
    return float(int(match[1]) * _UNITS[match[2]])


def add_backfill(command: Parser) -> None:
    """`backfill`."""
    command.add_argument("--from", metavar="TIME", dest="start", help="ISO 8601, UTC unless it says otherwise")
    command.add_argument("--to", metavar="TIME", dest="end", help="the interval ends in front of it")
    command.need("--from", "--to")
    command.add_argument("--topics", metavar="A,B", help="only these source topics (default: all that the flow mirrors)")
    command.add_argument("--into", metavar="TOPIC", help="where history goes (default: mirror.backfill.into)")
    command.add_argument(
        "--order", choices=(IN_TIME_ORDER, ANY_ORDER), help="whether history is written in time order only (default: mirror.backfill.order)"
    )
    command.add_argument(
        "--accept-wild-timestamps", action="store_true", default=None, help="take intervals as they are that a wild timestamp cuts short"
    )
    command.add_argument("--without-spark", action="store_true", help="copy in this process instead of a Spark job")
    command.add_argument("--master", metavar="URL", help="the Spark cluster, as for copy")


def add_checkpoints(command: Parser) -> None:
    """`checkpoints`."""
    command.add_argument("--master", metavar="URL", help="translate on this Spark cluster, however few groups there are")


def add_group_offsets(command: Parser) -> None:
    """`group-offsets`."""
    add_checkpoints(command)
    command.add_argument(
        "--undo", metavar="RUN", help="put back what the groups had on the target before this run, where no one else moved them since"
    )


def add_hand_back(command: Parser) -> None:
    """`hand-back`."""
    command.need(FLOW)
    command.add_argument(
        "--connector-name", metavar="NAME", help="the source connector on a Connect cluster (default: MirrorSourceConnector)"
    )
    command.add_argument("--offsets-topic", metavar="TOPIC", help="Kafka Connect's offsets (default: mm2-offsets.<source>.internal)")
    command.add_argument("--group", metavar="GROUP", help="the worker group (default: <source>-mm2)")


def add_take_over(command: Parser) -> None:
    """`take-over`."""
    add_hand_back(command)
    command.set_defaults(check=_check_take_over)
    command.add_argument(
        "--topic", metavar="T", action="append", default=[], help="only this topic, by its name on the source; may be repeated"
    )
    command.add_argument(
        "--at-stored-offsets",
        action="store_true",
        help="where the end of a remote partition leaves a doubt, go on as MirrorMaker 2 would; needs --topic",
    )


def _check_take_over(options: argparse.Namespace) -> None:
    if options.at_stored_offsets and not options.topic:
        raise UsageError(
            "The command line cannot be used: --at-stored-offsets needs --topic, for it may copy records a second time.",
            next=("See ", mirror_command("take-over --help"), "."),
        )


def add_config(command: Parser) -> None:
    """`config`."""
    command.add_argument(
        "pattern",
        metavar="PATTERN",
        nargs="*",
        help="only what has this in its name or in the key it is from, such as deadline or 'mirror.*'",
    )
    command.add_argument("--changed", action="store_true", help="only what differs from the defaults")
    command.add_argument("--example", action="store_true", help="print an annotated mm2.properties to begin with; reads no configuration")


def add_pools(command: Parser) -> None:
    """`pools`."""
    command.add_argument("--team", metavar="NAME", default="", help="the pools are this team's (Airflow with `[core] multi_team`)")


def add_spark(command: Parser) -> None:
    """`spark`."""
    command.add_argument(
        "action",
        choices=("serve", "tune"),
        help="serve: run Spark's Connect server on 127.0.0.1 until Ctrl-C; tune: let Spark's jobs on this host start in half the "
        "time, once after each change of Java or pyspark",
    )
    command.add_argument(
        "--port",
        metavar="N",
        type=read_as(partial(_number, what="port", end=65536)),
        default=DEFAULT_PORT,
        help=f"where it listens (default: {DEFAULT_PORT})",
    )
    command.add_argument(
        "--cores",
        metavar="N",
        type=read_as(partial(_number, what="number of cores", end=sys.maxsize)),
        default=0,
        help="how many tasks run at once (default: all cores)",
    )
    command.add_argument("--memory", metavar="SIZE", default="512m", help="the heap of its JVM, such as 1g (default: 512m)")
    command.add_argument("--token-file", metavar="FILE", help=f"the file with its token, made if missing (default: ~/{TOKEN_FILE})")
    command.add_argument("--show-token", action="store_true", help="print the token in the connection's URI")


def _number(text: str, what: str, end: int) -> int:
    if text.isdecimal() and 0 < int(text) < end:
        return int(text)
    raise ValueError(f"{text!r} is no {what}")


# ---------------------------------------------------------------- decide


_LIST = "show what was decided, what of it is in force, and what is used up; writes nothing"
_UNSET = argparse.SUPPRESS
"""The default of an option after the decision: what stood before it holds."""


def add_decide(command: Parser) -> None:
    """A command of its own for each decision, with the options that it has a use for.

    All options may also stand in front of the decision, where `--help` does not show them.
    """
    for name in (*OPTIONS, *_ALWAYS):
        _ADD[name](command, hidden=True)
    command.add_commands("decision", title="decisions")
    command.set_defaults(check=_check_decision, prog=command.prog)
    for word, kind in KINDS.items():
        decision = command.add_command(word, _summary(kind.explanation), kind.explanation, argument_default=_UNSET)
        for name in (*kind.needs, *kind.takes, *_ALWAYS):
            _ADD[name](decision)
        add_common_of_a_flow(decision, writes=True)
        decision.need(FLOW, *(OPTIONS[name] for name in kind.needs), "--reason")
    list_command = command.add_command(LIST, _LIST, argument_default=_UNSET)
    add_common_of_a_flow(list_command, writes=False)
    list_command.set_defaults(looks=True)


def request_of(options: argparse.Namespace) -> DecisionRequest:
    """The decision that is asked for. Raises UsageError for what is not complete or does not fit together."""
    return request(
        options.decision,
        who=(options.who or "").strip() or user_at_host(),
        why=options.reason,
        topic=options.topic,
        partition=options.partition,
        alias=options.alias,
        start=options.start,
        bytes_per_second=options.bytes_per_second,
    )


def _check_decision(options: argparse.Namespace) -> None:
    """Raises UsageError if no decision is named, or what is asked for does not fit together."""
    if options.decision is None:
        decisions = ", ".join((*DECISIONS, LIST))
        raise UsageError(
            "The command line cannot be used: decide needs to know what to decide.",
            next=(f"Possible are: {decisions}. See ", mirror_command("decide --help"), "."),
        )
    if options.decision != LIST:
        request_of(options)


def _summary(explanation: str) -> str:
    first = explanation.partition(". ")[0].removesuffix(".")
    return first[0].lower() + first[1:]


def _add_start(command: Parser, hidden: bool = False) -> None:
    def starts(help: str, **how: Any) -> dict[str, Any]:
        return {"dest": "start", "help": argparse.SUPPRESS if hidden else help, **how}

    command.add_one_of(
        ("--to-earliest", starts("where the source's log starts", action="store_const", const=EARLIEST)),
        ("--to-latest", starts("where it ends", action="store_const", const=LATEST)),
        ("--to-offset", starts("a source offset; needs --partition", metavar="N", type=read_as(parse_offset))),
    )


def _adder(option: str, help: str, **how: Any) -> Callable[..., object]:
    return lambda command, hidden=False: command.add_argument(option, help=argparse.SUPPRESS if hidden else help, **how)


def _rate(text: str) -> str:
    parse_rate(text)
    return text


_RATE = f"bytes a second: 5000000, 5MB, 5MiB; {UNLIMITED}: as fast as it can; `{AS_CONFIGURED}`: as mirror.max.bytes.per.second says"
_ALWAYS = ("reason", "who")
_ADD: dict[str, Callable[..., object]] = {
    TOPIC: _adder("--topic", "the topic, by its name on the source", metavar="T"),
    PARTITION: _adder("--partition", "one partition (default: all of the topic that need it)", metavar="P", type=read_as(parse_offset)),
    ALIAS: _adder("--alias", "the alias of the cluster that was replaced", metavar="A"),
    START: _add_start,
    RATE: _adder("--bytes-per-second", _RATE, metavar="N", type=read_as(_rate)),
    "reason": _adder("--reason", "why; it is kept with the decision", metavar="WHY"),
    "who": _adder("--who", "who decides (default: user@host)", metavar="NAME"),
}
"""How each option of a decision is added to a command."""
