"""The table of consumer groups: what each would do if it failed over now."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirror.report.snapshot import GroupSnapshot, GroupsSnapshot
from mirror.web.listing import Key, Listing, Page, ordered, paged
from mirror.web.words import number, plural

PREFIX = "g."
INEXACT = "inexact"


@dataclass(frozen=True)
class GroupTable:
    """A page of groups."""

    asked: Listing
    page: Page[GroupSnapshot]
    ahead: bool
    """Whether a group on it has read what the copy has yet to bring."""


def group_table(groups: GroupsSnapshot, parameters: Mapping[str, str]) -> GroupTable:
    """The groups that the address asks for."""
    asked = Listing.of(PREFIX, parameters, _GROUPS, (INEXACT,))
    search = asked.search.lower()
    found = [each for each in groups.groups if search in each.group.lower() and not (asked.show and each.is_exact)]
    rows = ordered(ordered(found, _GROUPS["name"], False), _GROUPS[asked.sort], asked.descending)
    page = paged(rows, asked.page, len(groups.groups))
    return GroupTable(asked, page, any(each.ahead for each in page.rows))


def failover(group: GroupSnapshot) -> str:
    """What a failover now would mean for the group, in words."""
    return f"{_place(group)}; {number(group.ahead)} ahead of the copy" if group.ahead else _place(group)


def _place(group: GroupSnapshot) -> str:
    if group.is_exact:
        return f"exact; counted beyond the offset map in {_of(group.beyond_map, group)}" if group.beyond_map else "exact"
    parts = []
    if group.unanswered:
        parts.append(f"no position in {_of(group.unanswered, group)}")
    if group.incomplete:
        parts.append(f"records were never mirrored in {_of(group.incomplete, group)}")
    if group.reread:
        parts.append(f"reads at most {number(group.reread)} records again")
    if group.reread_unknown:
        parts.append(f"reads records again in {_of(group.reread_unknown, group)}, nobody knows how many")
    if group.over_budget:
        parts.append(f"not counted in {_of(group.over_budget, group)}, for that would have cost too much")
    return "; ".join(parts) or f"early in {_of(group.early, group)}"


def _of(count: int, group: GroupSnapshot) -> str:
    return f"{count} of {plural(group.partitions, 'partition')}"


_GROUPS: Mapping[str, Key[GroupSnapshot]] = {
    "failover": lambda each: (each.unanswered, each.incomplete, each.reread_unknown, each.reread or 0),
    "name": lambda each: each.group,
    "partitions": lambda each: each.partitions,
    "exact": lambda each: each.exact,
    "reread": lambda each: each.reread,
}
