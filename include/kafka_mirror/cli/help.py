"""What `--help` says beside the arguments: the groups of the commands, and examples to copy."""

import shutil
from collections.abc import Mapping, Sequence
from textwrap import wrap

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
    "config": ("config --flow 'east->west'", "config --changed"),
    "pools": ("pools > pools.json",),
    "spark": ("spark serve", "spark serve --cores 4 --memory 1g"),
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
    lines = [f"  {program()} {each}" for each in EXAMPLES.get(command, ())]
    return "\n".join(["examples:", *lines]) if lines else ""
