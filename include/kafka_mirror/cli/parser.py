"""The grammar of the command line, and what its help says beside the arguments."""

import argparse
import shutil
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from kafka_mirror.cli import (
    audit,
    backfill,
    config,
    copy,
    cutover,
    decide,
    freshness,
    migration,
    spark,
    status,
    step,
    translate,
    watch,
)
from kafka_mirror.cli.options import FLOW, Parser, complete_flow
from kafka_mirror.errors.next_step import program

GROUPS: Mapping[str, Sequence[str]] = {
    "look, and write nothing": ("status", "plan", "translate", "freshness", "audit"),
    "copy, and what goes with it": (
        *("copy", "backfill", "refresh-topics", "topic-configs", "topic-acls", "schemas"),
        *("heartbeats", "refresh-groups", "checkpoints", "group-offsets"),
    ),
    "decide": ("decide",),
    "move applications to the target": ("cutover",),
    "move from MirrorMaker 2, and back": ("take-over", "hand-back"),
    "set up": ("config", "pools", "spark"),
}
"""The commands in the order in which a person looks for them."""

EXAMPLES: Mapping[str, Sequence[str]] = {
    "status": ("status --problems", "status --flow 'east->west' --watch 10"),
    "plan": ("plan --flow 'east->west'",),
    "translate": ("translate --group billing",),
    "freshness": ("freshness", "freshness --test-alert"),
    "audit": ("audit --topics orders,payments", "audit --from 2026-01-01 --to 2026-01-02 --without-spark"),
    "copy": ("copy --flow 'east->west' --dry-run", "copy --without-spark"),
    "backfill": ("backfill --from 2026-01-01 --to 2026-01-02 --topics orders --dry-run",),
    "refresh-topics": ("refresh-topics --dry-run",),
    "topic-configs": ("topic-configs --dry-run",),
    "topic-acls": ("topic-acls --dry-run",),
    "schemas": ("schemas --dry-run",),
    "heartbeats": ("heartbeats",),
    "refresh-groups": ("refresh-groups --flow 'east->west'",),
    "checkpoints": ("checkpoints --dry-run",),
    "group-offsets": ("group-offsets --flow 'east->west' --dry-run",),
    "decide": (
        "decide list --flow 'east->west'",
        "decide accept-gap --flow 'east->west' --topic orders --reason 'retention was too short'",
    ),
    "cutover": (
        "cutover plan --flow 'east->west' --topics 'orders.*' --max-lag 1000",
        "cutover run --flow 'east->west' --topics 'orders.*' --by acl --dry-run",
    ),
    "take-over": ("take-over --flow 'east->west' --dry-run",),
    "hand-back": ("hand-back --flow 'east->west' --dry-run",),
    "config": ("config --flow 'east->west'", "config --example > mm2.properties"),
    "pools": ("pools > pools.json",),
    "spark": ("spark serve --cores 4 --memory 1g", "spark tune"),
}
"""Command lines without what they begin with."""


def listed(summaries: Mapping[str, str]) -> str:
    """The commands with their summaries in their groups, as wide as the terminal."""
    column, width = max(map(len, summaries)) + 4, shutil.get_terminal_size().columns - 4
    lines = []
    for title, names in GROUPS.items():
        lines.append(f"{title}:")
        for name in names:
            lines += wrap(summaries[name], width, initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column)
    return "\n".join(lines)


def examples(command: str) -> str:
    """The examples of a command, for the end of its help."""
    lines = [f"  {program()} {example}" for example in EXAMPLES.get(command, ())]
    return "\n".join(["examples:", *lines]) if lines else ""


_EPILOG = """exit codes:
  0  done
  1  something failed; every error says what, where and what to do next
  2  the command line or the configuration must be corrected
  3  a step of a cutover waits; the same command goes on
With several flows each is tried, and the highest code counts.
Results go to standard output, everything else to standard error."""


def parser() -> Parser:
    """All commands; `options.run` is the function to call, for each flow or (`options.each_flow` is false) for the whole configuration."""
    top = Parser(
        prog=program(),
        description="Mirrors Apache Kafka clusters as MirrorMaker 2 does, in short batches.",
        epilog=_EPILOG,
        usage="%(prog)s [-h] [--version [--check]] [--config FILE] [--json] [-v] command ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="say which version this is")
    top.add_argument(
        "--check", dest="with_support", action="store_true", help="with --version: how often what is installed here is tested with it"
    )
    _add_common(top, config=None, json=False, verbose=False)
    top.add_commands("command", prog=top.prog, help=argparse.SUPPRESS)
    showing = _add(top, "config", "show the effective configuration and where each value is from; asks no broker", config.run)
    config.add_arguments(showing)
    _add(top, "plan", "say what the next copy has to do; writes nothing", copy.show_plan)
    copying = _add(top, "copy", "plan, copy and publish", copy.run, writes=True)
    copy.add_arguments(copying)
    copying.add_argument("--without-spark", action="store_true", help="copy in this process instead of a Spark job")
    copying.add_argument(
        "--master",
        metavar="URL",
        help="the Spark cluster: spark://host:7077, sc://127.0.0.1:15002 (default: that of mirror.spark.connection, else local[*,4])",
    )
    filling = _add(
        top, "backfill", "bring a time interval to the target, with the history below the copy's start", backfill.run, writes=True
    )
    backfill.add_arguments(filling)
    _add(top, "refresh-topics", "find topics, create remote topics and partitions", step.run, writes=True)
    _add(top, "topic-configs", "give remote topics the configs of their source topics", step.run, writes=True)
    _add(top, "topic-acls", "let readers of source topics read the remote topics", step.run, writes=True)
    _add(top, "schemas", "bring schemas to the target's registry, ids and all; --dry-run compares both", step.run, writes=True)
    _add(top, "heartbeats", "write one heartbeat for each pair of clusters that beats", step.run, writes=True)
    _add(top, "refresh-groups", "find the consumer groups whose offsets are translated; writes nothing", step.run)
    checkpoints = _add(top, "checkpoints", "translate group offsets and write checkpoints", step.run_groups, writes=True)
    group_offsets = _add(
        top, "group-offsets", "commit translated offsets for groups that are idle on the target", step.run_groups, writes=True
    )
    for by_group in (checkpoints, group_offsets):
        by_group.add_argument("--master", metavar="URL", help="translate on this Spark cluster, however few groups there are")
    group_offsets.add_argument(
        "--undo", metavar="RUN", help="put back what the groups had on the target before this run, where no one else moved them since"
    )
    translating = _add(top, "translate", "say where a group would go on on the target; writes nothing", translate.run)
    translate.add_arguments(translating)
    standing = _add(top, "status", "show each partition's lag, whether it is blocked, and since when; writes nothing", status.run)
    standing.add_argument("--topic", metavar="TOPIC", help="only this topic, in the summary and among the errors too")
    standing.add_argument("--problems", action="store_true", help="only the partitions that the next run does not simply serve")
    watch.add_arguments(standing)
    judging = _add(top, "freshness", "check lag and errors against the alert limits; writes nothing", freshness.run)
    freshness.add_arguments(judging)
    auditing = _add(top, "audit", "compare what is copied with what stands on the target; writes nothing", audit.run)
    audit.add_arguments(auditing)
    deciding = _add(
        top, "decide", "decide what only a person can: accept a gap, restart, pause; the next copy acts on it", decide.run, writes=True
    )
    decide.add_arguments(deciding, _add_common_of_a_flow)
    moving = _add(top, "cutover", "move applications to the target, wave by wave", cutover.run, writes=True)
    cutover.add_arguments(moving, _add_common_of_a_flow)
    taking = _add(top, "take-over", "go on where MirrorMaker 2 stopped with a flow", migration.take_over, writes=True)
    migration.add_take_over_arguments(taking)
    handing = _add(top, "hand-back", "let MirrorMaker 2 go on where the mirror stopped with a flow", migration.hand_back, writes=True)
    migration.add_arguments(handing)
    config.add_pools_arguments(
        _add(top, "pools", "print the pools of `mirror.copy.pool` for `airflow pools import`", config.show_pools, each_flow=False)
    )
    serving = _add(
        top,
        "spark",
        "serve: run a Spark that stays, in the foreground; tune: let jobs on this host start faster",
        spark.run,
        each_flow=False,
    )
    spark.add_arguments(serving)
    top.add_argument_group("commands", listed({name: command.summary for name, command in top.commands.items()}))
    return top


def _add(top: Parser, name: str, summary: str, run: Callable[..., Any], *, each_flow: bool = True, writes: bool = False) -> Parser:
    formatter = argparse.RawDescriptionHelpFormatter
    step = top.add_command(name, summary, epilog=examples(name), formatter_class=formatter)
    step.set_defaults(run=run, each_flow=each_flow, looks=not writes)
    if each_flow:
        _add_common_of_a_flow(step, writes)
    else:
        _add_common(step)
    return step


def _add_common_of_a_flow(step: argparse.ArgumentParser, writes: bool) -> None:
    _add_common(step)
    flow = step.add_argument(FLOW, metavar="'A->B'", help="one flow, such as 'east->west' (default: all enabled flows)")
    flow.completer = complete_flow  # type: ignore[attr-defined]
    if writes:
        step.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")


def _add_common(step: argparse.ArgumentParser, **defaults: Any) -> None:
    """What may stand before the command and after it; only the parser before it sets the defaults."""

    def default(name: str) -> Any:
        return defaults.get(name, argparse.SUPPRESS)

    step.add_argument(
        "--config",
        metavar="FILE",
        default=default("config"),
        help="your mm2.properties, several separated by commas (default: those that MIRROR_CONFIG names)",
    )
    step.add_argument("--json", action="store_true", default=default("json"), help="print one JSON document")
    step.add_argument("-v", "--verbose", action="store_true", default=default("verbose"), help="log to standard error")
