"""Backfills: `mirror.backfill.*`."""

import re

from kafka_mirror.config.catalogue.per_topic import on_wild_timestamp_words
from kafka_mirror.config.catalogue.property import Property
from kafka_mirror.config.catalogue.values import Valid, one_of, regexes

GROUP = "mirror"
REMOTE, TOPIC = "{remote}", "{topic}"
"""What stands for the remote topic's name, and for the source topic's, in mirror.backfill.into."""

_FIELD = r"(?:\*|[0-9]{1,2}(?:-[0-9]{1,2})?(?:,[0-9]{1,2}(?:-[0-9]{1,2})?)*)(?:/[0-9]{1,2})?"
_NAMED = r"[A-Za-z]{3}(?:[-,][A-Za-z]{3})*"
_CRON = re.compile(rf"{_FIELD}(?: +{_FIELD}){{2}}(?: +(?:{_FIELD}|{_NAMED})){{2}}")


def _allow_schedules() -> Valid:
    def check(value: str) -> str | None:
        found = _CRON.fullmatch(value.strip())
        return None if found else "must be a cron expression of five fields, such as '0 0 * * *'; its times are UTC"

    return Valid("cron expression, UTC", check)


BACKFILL = (
    Property(
        "mirror.backfill.schedule",
        "STRING",
        "0 0 * * *",
        "When the backfill DAG runs by itself, and how long its data intervals are, so also the steps of Airflow's backfills.",
        GROUP,
        _allow_schedules(),
    ),
    Property(
        "mirror.backfill.into",
        "STRING",
        "history.{remote}",
        "The topic on the target that history goes to: {remote} is the remote topic's name, {topic} the source topic's. '{remote}' alone "
        "is the remote topic itself.",
        GROUP,
    ),
    Property(
        "mirror.backfill.into.allowed",
        "LIST",
        (r"history\..*",),
        "Which topics history may go to, beside the remote topic itself.",
        GROUP,
        regexes("topic"),
    ),
    Property(
        "mirror.backfill.order",
        "STRING",
        "time",
        "Whether history of a partition is written in the order of time only, or in whatever order it is asked for.",
        GROUP,
        one_of("time", "any"),
    ),
    Property(
        "mirror.backfill.on.wild.timestamp",
        "PER-TOPIC",
        ("fail",),
        "What a backfill does with an interval over which a record jumps that is stamped far ahead: fail, or take it as it is.",
        GROUP,
        on_wild_timestamp_words(),
    ),
)
