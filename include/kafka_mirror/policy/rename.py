"""Rules that give topics (`mirror.rename`) and schema contexts (`mirror.schemas.contexts`) other names on the target.

    shop\\.(.+)\\.v1 -> store.$1        shop.orders.v1 ──► store.orders
                                      shop.orders.v1 ◄── store.orders

Outside of groups a rule for topics holds plain text, and each group stands once on either side: so the rule that leads back follows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import regex

from kafka_mirror.policy.filters import IN_NAMES, LONGEST, explain_impossible, printable
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.replication import ReplicationPolicy, is_ledger_or_control_topic, sources

_ARROW = "->"
_PLAIN = re.compile(r"[A-Za-z0-9_.-]|\\[.-]")
_GROUP = re.compile(r"\$([1-9])")
_SECONDS = 20.0

_AS_BEFORE = (
    *("heartbeats_topic", "offset_syncs_topic", "checkpoints_topic", "ledger_topic", "control_topic"),
    *("is_heartbeats_topic", "is_checkpoints_topic", "is_mm2_internal_topic", "is_internal_topic"),
)
"""What a `RenamingPolicy` leaves to the other policy, which may be a user's own."""

Part = str | int
"""Plain text, or the number of a group."""


@dataclass(frozen=True)
class RenameRule:
    """One rule, both ways. Neither is ever applied without the other: see `Renames`."""

    pattern: tuple[Part, ...]
    """What a topic of the source is made of."""
    replacement: tuple[Part, ...]
    """What its new name is made of: the same groups, each once."""
    groups: tuple[str, ...]
    """What each group may hold, as an expression of Java."""

    @classmethod
    def parse(cls, text: str) -> "RenameRule":
        """The rule that the text describes: `pattern -> replacement`. Raises ValueError that says what is allowed."""
        before, arrow, after = text.partition(_ARROW)
        if not arrow:
            raise ValueError(f"'{text.strip()}' is no rule; it must be pattern -> replacement, such as shop[.](.+) -> store.$1")
        pattern, groups = _parse_pattern(before.strip())
        replacement = _parse_replacement(after.strip())
        numbers = sorted(part for part in replacement if isinstance(part, int))
        if numbers != list(range(1, len(groups) + 1)):
            raise ValueError(
                f"'{text.strip()}': each group of the pattern has to stand once in the replacement, as $1, $2 and so on, so that the name "
                "can be renamed back"
            )
        if not pattern or not replacement:
            raise ValueError(f"'{text.strip()}': neither side may be empty")
        return cls(pattern, replacement, groups)

    def rename(self, topic: str) -> str | None:
        """The new name of a topic of the source; None if the rule is not for it."""
        return _read(topic, self._there, self.replacement)

    def restore(self, name: str) -> str | None:
        """A topic of the source that may have got this name; None if the rule gives no such name."""
        return _read(name, self._back, self.pattern)

    @cached_property
    def _there(self) -> "regex.Pattern[str]":
        return _build_expression(self.pattern, self.groups)

    @cached_property
    def _back(self) -> "regex.Pattern[str]":
        return _build_expression(self.replacement, self.groups)


@dataclass(frozen=True)
class Renames:
    """The rules of one flow, of which the first that is for a topic counts. A topic that no rule is for keeps its name."""

    rules: tuple[RenameRule, ...]

    @classmethod
    def parse(cls, members: tuple[str, ...]) -> "Renames":
        """The rules of a list. Raises ValueError with the first that cannot be used."""
        return cls(tuple(RenameRule.parse(member) for member in members))

    def rename(self, topic: str) -> str:
        """The name that the rules give to a topic of the source; whether it is the only one with it, `restore` tells."""
        return next((name for rule in self.rules if (name := rule.rename(topic)) is not None), topic)

    def restore(self, name: str) -> str | None:
        """The one topic of the source that has this name by the rules, whatever topics there are; None if none has."""
        candidates = [*(rule.restore(name) for rule in self.rules), name]
        return next((topic for topic in candidates if topic is not None and self.rename(topic) == name), None)


def _build_expression(parts: tuple[Part, ...], groups: tuple[str, ...]) -> "regex.Pattern[str]":
    """What names of these parts match, each group by its number."""
    written = (f"(?P<g{part}>{compile_java(groups[part - 1]).expression})" if isinstance(part, int) else re.escape(part) for part in parts)
    return regex.compile("".join(written))


def _read(name: str, expression: "regex.Pattern[str]", parts: tuple[Part, ...]) -> str | None:
    """The name of these parts, with what the expression finds in the other one."""
    match = expression.fullmatch(name, timeout=_SECONDS)
    return None if match is None else "".join(match[f"g{part}"] if isinstance(part, int) else part for part in parts)


def _parse_pattern(text: str) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    parts: list[Part] = []
    groups: list[str] = []
    for piece in _split_pieces(text):
        if piece.startswith("("):
            inside = piece[1:-1]
            if inside.startswith("?"):
                raise ValueError(f"'{text}': a group must be a plain one, (…), not (?…)")
            compile_java(inside)
            if why := explain_impossible(inside, IN_NAMES, LONGEST):
                raise ValueError(f"'{text}': no topic can ever match ({printable(inside)}): {why}")
            groups.append(inside)
            parts.append(len(groups))
        else:
            parts.append(piece)
    return _join(parts), tuple(groups)


def _split_pieces(text: str) -> Iterator[str]:
    """Groups with what stands in them, and characters of plain text."""
    at = 0
    while at < len(text):
        if text[at] == "(":
            end = _find_end_of_group(text, at)
            yield text[at:end]
            at = end
            continue
        plain = _PLAIN.match(text, at) or re.compile(r"\[[.-]\]").match(text, at)
        if plain is None:
            raise ValueError(f"'{text}': outside of groups only letters, digits, '.', '_' and '-' are possible; put '{text[at]}' into (…)")
        yield plain[0].strip("\\[]")
        at = plain.end()


def _find_end_of_group(text: str, start: int) -> int:
    depth, at, in_class = 0, start, False
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError(f"'{text}': a group is not closed")


def _parse_replacement(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    at = 0
    while at < len(text):
        group, plain = _GROUP.match(text, at), _PLAIN.match(text, at)
        match = group or plain
        if match is None:
            raise ValueError(f"'{text}': a replacement holds letters, digits, '.', '_', '-' and groups ($1) only, not '{text[at]}'")
        parts.append(int(group[1]) if group else match[0].removeprefix("\\"))
        at = match.end()
    return _join(parts)


def _join(parts: list[Part]) -> tuple[Part, ...]:
    """The parts with plain text in one piece."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


class RenameRefused(ValueError):
    """Raised for a topic that no rule may give its new name; the text completes "its remote name …"."""

    def __init__(self, remote: str, detail: str) -> None:
        super().__init__(detail)
        self.remote = remote


class RenamingPolicy(ReplicationPolicy):
    """Another policy, with new names in the place of the topics' own.

        topic of the source ── rules ──► new name ── policy ──► remote topic

    Heartbeats and internal topics keep their names. A new name belongs to one topic alone, by the rules and whatever topics there are;
    every other topic that would come to it is refused.
    """

    def __init__(self, policy: ReplicationPolicy, renames: Mapping[str, Renames], aliases: Iterable[str] = ()) -> None:
        """`renames`: the rules by which topics of a cluster are mirrored, by its alias; `aliases`: the clusters that there are."""
        self._policy = policy
        self._renames = renames
        self._aliases = frozenset(aliases)
        self._remotes: dict[tuple[str, str], str] = {}  # a plan asks several times for each topic
        self.internal_separator = policy.internal_separator
        for name in _AS_BEFORE:
            setattr(self, name, getattr(policy, name))

    def format_remote_topic(self, alias: str, topic: str) -> str:
        """The policy's, of the new name. Raises RenameRefused."""
        renames = self._renames.get(alias)
        if renames is None or self._is_kept_as_it_is(topic):
            return self._policy.format_remote_topic(alias, topic)
        if (alias, topic) not in self._remotes:
            name = renames.rename(topic)
            remote = self._policy.format_remote_topic(alias, name)
            self._check(renames, topic, name, remote)
            self._remotes[alias, topic] = remote
        return self._remotes[alias, topic]

    @property
    def without_rules(self) -> ReplicationPolicy:
        """The policy by which topics would be called if there were no rules."""
        return self._policy

    def topic_source(self, topic: str) -> str | None:
        """The policy's."""
        return self._policy.topic_source(topic)

    def upstream_topic(self, topic: str) -> str | None:
        """The old name, where the rules give the new one."""
        upstream, source = self._policy.upstream_topic(topic), self._policy.topic_source(topic)
        renames = self._renames.get(source) if source is not None else None
        if upstream is None or renames is None or self._is_kept_as_it_is(upstream):
            return upstream
        return renames.restore(upstream) or upstream

    def _is_kept_as_it_is(self, topic: str) -> bool:
        policy = self._policy
        return policy.is_heartbeats_topic(topic) or policy.is_internal_topic(topic) or is_ledger_or_control_topic(topic)

    def _check(self, renames: Renames, topic: str, name: str, remote: str) -> None:
        if not name:
            raise RenameRefused(remote, "is empty after the prefix by mirror.rename, and no policy reads such a name back")
        original = renames.restore(name)
        if original is None:
            raise RenameRefused(remote, f"cannot be renamed back by mirror.rename: no rule says that '{name}' was '{topic}'")
        if original != topic:
            raise RenameRefused(remote, f"is by mirror.rename that of '{original}', whether there is such a topic or not")
        if name != topic and self._is_kept_as_it_is(name):
            raise RenameRefused(remote, f"would be one of the mirror's own: '{name}' by mirror.rename")
        if self._trace(name) != self._trace(topic):
            raise RenameRefused(remote, "would not tell any more which clusters the topic came through, and it might come back to them")

    def _trace(self, topic: str) -> tuple[str, ...]:
        return tuple(alias for alias in sources(self._policy, topic) if alias in self._aliases)


def parse_contexts(rules: Iterable[str]) -> Mapping[str, str]:
    """The target's context of each of the source's that a rule names, of rules such as `.prod -> .copy`; `.` is the default context. Raises
    ValueError that says what is wrong."""
    renamed: dict[str, str] = {}
    for rule in rules:
        source, arrow, target = (part.strip() for part in rule.partition(_ARROW))
        if not arrow or not source.startswith(".") or not target.startswith(".") or ":" in source + target:
            raise ValueError(f"'{rule}' is not of the form .context -> .context ('.' is the default context)")
        if source in renamed or target in renamed.values():
            raise ValueError(f"'{rule}' names a context that another rule names")
        renamed[source] = target
    return renamed
