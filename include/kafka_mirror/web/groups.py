"""The table of consumer groups: what a failover now would mean for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_mirror.errors.words import count_text
from kafka_mirror.status.snapshot import GroupSnapshot, GroupsSnapshot
from kafka_mirror.web.formatting import number
from kafka_mirror.web.pagination import Key, Listing, Page, ordered, paged

PREFIX = "g."
INEXACT = "inexact"


@dataclass(frozen=True)
class GroupTable:
    """A page of groups."""

    listing: Listing
    page: Page[GroupSnapshot]
    ahead: bool
    """Whether a group on the page has read records that are not copied yet."""


def group_table(groups: GroupsSnapshot, parameters: Mapping[str, str]) -> GroupTable:
    """The groups that the URL asks for."""
    listing = Listing.from_parameters(PREFIX, parameters, _GROUPS, (INEXACT,))
    search = listing.search.lower()
    matching = [group for group in groups.groups if search in group.group.lower() and not (listing.show and group.is_exact)]
    rows = ordered(ordered(matching, _GROUPS["name"], False), _GROUPS[listing.sort], listing.descending)
    page = paged(rows, listing.page, len(groups.groups))
    return GroupTable(listing, page, any(group.ahead for group in page.rows))


def failover(group: GroupSnapshot) -> str:
    """What a failover now would mean for the group, in words."""
    return f"{_place(group)}; {number(group.ahead)} ahead of the copy" if group.ahead else _place(group)


def _place(group: GroupSnapshot) -> str:
    if group.is_exact:
        return f"exact; counted beyond the offset map in {_share(group.beyond_map, group)}" if group.beyond_map else "exact"
    parts = []
    if group.unanswered:
        parts.append(f"no position in {_share(group.unanswered, group)}")
    if group.incomplete:
        parts.append(f"records were never mirrored in {_share(group.incomplete, group)}")
    if group.reread:
        parts.append(f"reads at most {number(group.reread)} records again")
    if group.reread_unknown:
        parts.append(f"reads records again in {_share(group.reread_unknown, group)}, nobody knows how many")
    if group.over_budget:
        parts.append(f"not counted in {_share(group.over_budget, group)}, for that would have cost too much")
    return "; ".join(parts) or f"early in {_share(group.early, group)}"


def _share(count: int, group: GroupSnapshot) -> str:
    return f"{count} of {count_text(group.partitions, 'partition')}"


_GROUPS: Mapping[str, Key[GroupSnapshot]] = {
    "failover": lambda group: (group.unanswered, group.incomplete, group.reread_unknown, group.reread or 0),
    "name": lambda group: group.group,
    "partitions": lambda group: group.partitions,
    "exact": lambda group: group.exact,
    "reread": lambda group: group.reread,
}
