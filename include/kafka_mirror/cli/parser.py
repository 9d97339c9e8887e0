"""The commands: what each does, and what its help says beside the arguments."""

import argparse
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import wrap

from kafka_mirror.cli import arguments, cutover
from kafka_mirror.cli.options import Parser, add_common, add_common_of_a_flow
from kafka_mirror.errors.next_step import program


@dataclass(frozen=True)
class Subcommand:
    """One command. `examples` are command lines without what they begin with."""

    summary: str
    examples: tuple[str, ...]
    add: Callable[[Parser], None] | None = None
    """Adds its arguments."""
    writes: bool = False
    each_flow: bool = True
    """Whether it runs for each flow, or once for the whole configuration."""


GROUPS: Mapping[str, Mapping[str, Subcommand]] = {
    "look, and write nothing": {
        "status": Subcommand(
            "show each partition's lag, whether it is blocked, and since when; writes nothing",
            ("status --problems", "status --flow 'east->west' --watch 10"),
            arguments.add_status,
        ),
        "plan": Subcommand("say what the next copy has to do; writes nothing", ("plan --flow 'east->west'",)),
        "translate": Subcommand(
            "say where a group would go on on the target; writes nothing",
            ("translate --group billing",),
            arguments.add_translate,
        ),
        "freshness": Subcommand(
            "check lag and errors against the alert limits; writes nothing",
            ("freshness", "freshness --test-alert"),
            arguments.add_freshness,
        ),
        "audit": Subcommand(
            "compare what is copied with what stands on the target; writes nothing",
            ("audit --topics orders,payments", "audit --from 2026-01-01 --to 2026-01-02 --without-spark"),
            arguments.add_audit,
        ),
    },
    "copy, and what goes with it": {
        "copy": Subcommand(
            "plan, copy and publish",
            ("copy --flow 'east->west' --dry-run", "copy --without-spark"),
            arguments.add_copy,
            writes=True,
        ),
        "backfill": Subcommand(
            "bring a time interval to the target, with the history below the copy's start",
            ("backfill --from 2026-01-01 --to 2026-01-02 --topics orders --dry-run",),
            arguments.add_backfill,
            writes=True,
        ),
        "refresh-topics": Subcommand("find topics, create remote topics and partitions", ("refresh-topics --dry-run",), writes=True),
        "topic-configs": Subcommand("give remote topics the configs of their source topics", ("topic-configs --dry-run",), writes=True),
        "topic-acls": Subcommand("let readers of source topics read the remote topics", ("topic-acls --dry-run",), writes=True),
        "schemas": Subcommand(
            "bring schemas to the target's registry, ids and all; --dry-run compares both", ("schemas --dry-run",), writes=True
        ),
        "heartbeats": Subcommand("write one heartbeat for each pair of clusters that beats", ("heartbeats",), writes=True),
        "refresh-groups": Subcommand(
            "find the consumer groups whose offsets are translated; writes nothing", ("refresh-groups --flow 'east->west'",)
        ),
        "checkpoints": Subcommand(
            "translate group offsets and write checkpoints",
            ("checkpoints --dry-run",),
            arguments.add_checkpoints,
            writes=True,
        ),
        "group-offsets": Subcommand(
            "commit translated offsets for groups that are idle on the target",
            ("group-offsets --flow 'east->west' --dry-run",),
            arguments.add_group_offsets,
            writes=True,
        ),
    },
    "decide": {
        "decide": Subcommand(
            "decide what only a person can: accept a gap, restart, pause; the next copy acts on it",
            (
                "decide list --flow 'east->west'",
                "decide accept-gap --flow 'east->west' --topic orders --reason 'retention was too short'",
            ),
            arguments.add_decide,
            writes=True,
        ),
    },
    "move applications to the target": {
        "cutover": Subcommand(
            "move applications to the target, wave by wave",
            (
                "cutover plan --flow 'east->west' --topics 'orders.*' --max-lag 1000",
                "cutover run --flow 'east->west' --topics 'orders.*' --by acl --dry-run",
            ),
            cutover.add_arguments,
            writes=True,
        ),
    },
    "move from MirrorMaker 2, and back": {
        "take-over": Subcommand(
            "go on where MirrorMaker 2 stopped with a flow",
            ("take-over --flow 'east->west' --dry-run",),
            arguments.add_take_over,
            writes=True,
        ),
        "hand-back": Subcommand(
            "let MirrorMaker 2 go on where the mirror stopped with a flow",
            ("hand-back --flow 'east->west' --dry-run",),
            arguments.add_hand_back,
            writes=True,
        ),
    },
    "set up": {
        "config": Subcommand(
            "show the effective configuration and where each value is from; asks no broker",
            ("config --flow 'east->west'", "config --example > mm2.properties"),
            arguments.add_config,
        ),
        "pools": Subcommand(
            "print the pools of `mirror.copy.pool` for `airflow pools import`",
            ("pools > pools.json",),
            arguments.add_pools,
            each_flow=False,
        ),
        "spark": Subcommand(
            "serve: run a Spark that stays, in the foreground; tune: let jobs on this host start faster",
            ("spark serve --cores 4 --memory 1g", "spark tune"),
            arguments.add_spark,
            each_flow=False,
        ),
    },
}
"""The commands in the order in which a person looks for them."""

_EPILOG = """exit codes:
  0  done
  1  something failed; every error says what, where and what to do next
  2  the command line or the configuration must be corrected
  3  a step of a cutover waits; the same command goes on
With several flows each is tried, and the highest code counts.
Results go to standard output, everything else to standard error."""


def parser() -> Parser:
    """All commands."""
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
    add_common(top, config=None, json=False, verbose=False)
    top.add_commands("command", prog=top.prog, help=argparse.SUPPRESS)
    for commands in GROUPS.values():
        for name, command in commands.items():
            _add(top, name, command)
    top.add_argument_group("commands", list_commands())
    return top


def list_commands() -> str:
    """The commands with their summaries in their groups, as wide as the terminal."""
    column = max(len(name) for commands in GROUPS.values() for name in commands) + 4
    width = shutil.get_terminal_size().columns - 4
    lines = []
    for title, commands in GROUPS.items():
        lines.append(f"{title}:")
        for name, command in commands.items():
            lines += wrap(command.summary, width, initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column)
    return "\n".join(lines)


def _add(top: Parser, name: str, command: Subcommand) -> None:
    examples = "\n".join(["examples:", *(f"  {program()} {example}" for example in command.examples)])
    added = top.add_command(name, command.summary, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter)
    added.set_defaults(each_flow=command.each_flow, looks=not command.writes)
    if command.each_flow:
        add_common_of_a_flow(added, command.writes)
    else:
        add_common(added)
    if command.add is not None:
        command.add(added)
