"""Our own properties of what the mirror does beside the copy: backfills, and schemas."""

import re

from kafka_mirror.config.catalogue.mirror import GROUP
from kafka_mirror.config.catalogue.per_topic import allow_words
from kafka_mirror.config.catalogue.values import Property, Valid, allow_one_of, between, context_rules, regexes

REMOTE, TOPIC = "{remote}", "{topic}"
"""What stands for the remote topic's name, and for the source topic's, in mirror.backfill.into."""

_FIELD = r"(?:\*|[0-9]{1,2}(?:-[0-9]{1,2})?(?:,[0-9]{1,2}(?:-[0-9]{1,2})?)*)(?:/[0-9]{1,2})?"
_NAMED = r"[A-Za-z]{3}(?:[-,][A-Za-z]{3})*"
_CRON = re.compile(rf"{_FIELD}(?: +{_FIELD}){{2}}(?: +(?:{_FIELD}|{_NAMED})){{2}}")


def _allow_schedules() -> Valid:
    def check(value: str) -> str | None:
        match = _CRON.fullmatch(value.strip())
        return None if match else "must be a cron expression of five fields, such as '0 0 * * *'; its times are UTC"

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
        allow_one_of("time", "any"),
    ),
    Property(
        "mirror.backfill.on.wild.timestamp",
        "PER-TOPIC",
        ("fail",),
        "What a backfill does with an interval over which a record jumps that is stamped far ahead: fail, or take it as it is.",
        GROUP,
        allow_words("fail", "accept"),
    ),
)


def _allow_urls() -> Valid:
    def check(value: tuple[str, ...]) -> str | None:
        wrong = [url for url in value if not url.startswith(("http://", "https://"))]
        return f"has to begin with http:// or https:// ({wrong[0]} does not)" if wrong else None

    return Valid("addresses that begin with http:// or https://", check)


def _define_side(side: str) -> tuple[Property, ...]:
    own = f"mirror.schemas.{side}"
    return (
        Property(f"{own}.url", "LIST", (), "Where the schema registry of this side answers (Confluent's API).", GROUP, _allow_urls()),
        Property(f"{own}.basic.auth.user.info", "PASSWORD", "", "name:password for this side's registry; best a reference.", GROUP),
        Property(f"{own}.bearer.auth.token", "PASSWORD", "", "The token for this side's registry; best a reference.", GROUP),
        Property(
            f"{own}.ssl.ca.location", "STRING", "", "A PEM file of those who may sign the certificate of this side's registry.", GROUP
        ),
        Property(f"{own}.ssl.certificate.location", "STRING", "", "A PEM file with our certificate for this side's registry.", GROUP),
        Property(f"{own}.ssl.key.location", "STRING", "", "A PEM file with the key of that certificate, if it stands elsewhere.", GROUP),
    )


SCHEMAS = (
    *_define_side("source"),
    *_define_side("target"),
    Property(
        "mirror.schemas.interval.seconds", "LONG", 600, "The time between two runs that bring schemas to the target.", GROUP, between(10)
    ),
    Property(
        "mirror.schemas.subjects",
        "LIST",
        (".*",),
        "Which subjects the target gets, by their names without a context. What their schemas refer to comes too.",
        GROUP,
        regexes("subject"),
    ),
    Property(
        "mirror.schemas.contexts",
        "LIST",
        (),
        "Contexts that have another name on the target: `.prod -> .copy`. `.` is the default context.",
        GROUP,
        context_rules(),
    ),
)
