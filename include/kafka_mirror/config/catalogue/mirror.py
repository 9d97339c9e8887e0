"""Our own properties, `mirror.*`: of the copy, of what shows it, of backfills and of schemas; `alerts` has the others. An unknown one is an
error."""

import re

from kafka_mirror.config.catalogue.values import (
    CONTEXT_RULES,
    FACTOR,
    RENAME_RULES,
    START_RULES,
    Property,
    Valid,
    allow_one_of,
    allow_several_of,
    allow_words,
    between,
    regexes,
)

MIRROR = (
    Property("mirror.copy.interval.seconds", "LONG", 300, "The time between two copy runs.", between(10)),
    Property(
        "mirror.lanes",
        "INT",
        16,
        "The number of lanes of the flow: as many transactions can be written at once. It is fixed once the flow has a ledger.",
        between(1, 256),
    ),
    Property(
        "mirror.ledger.replication.factor",
        "SHORT",
        None,
        "The replication factor of the ledger topic and the control topic on the target.",
        FACTOR,
        default_from="offset-syncs.topic.replication.factor",
    ),
    Property(
        "mirror.start",
        "PER-TOPIC",
        (),
        "Where a partition begins that is first seen; by default as the source consumer's auto.offset.reset says, else earliest. "
        "One that is added to a mirrored topic begins at its earliest record.",
        START_RULES,
    ),
    Property(
        "mirror.on.gap",
        "PER-TOPIC",
        (".*-repartition=skip-and-record", "fail"),
        "What to do when the source lost records before they were copied; fail where no rule matches.",
        allow_words("fail", "skip-and-record"),
    ),
    Property(
        "mirror.on.unexplained.target",
        "PER-TOPIC",
        ("fail",),
        "What to do when a remote partition holds records that the ledger does not account for.",
        allow_words("fail", "append"),
    ),
    Property(
        "mirror.rename",
        "LIST",
        (),
        "Rules that give topics another name on the target, such as shop.(.+) -> store.$1. The first that is for a topic counts. "
        "Outside of groups a pattern is plain text. MirrorMaker 2 has nothing like it.",
        RENAME_RULES,
    ),
    Property(
        "mirror.engine",
        "STRING",
        "auto",
        "What becomes of the source's record batches. auto and batches mean the same: they are forwarded closed where they can. records "
        "rewrites every batch.",
        allow_one_of("records", "batches", "auto"),
    ),
    Property("mirror.run.max.seconds", "LONG", 300, "How long one run copies; what is left is the next run's.", between(1)),
    Property(
        "mirror.follow.seconds",
        "DOUBLE",
        1,
        "How often a run that has copied what was there asks the source for more, and copies it, until the next run takes over. "
        "0: a run ends with its plan; `copy --follow` asks every second.",
        between(0, 3600),
    ),
    Property(
        "mirror.follow.discovery.seconds",
        "LONG",
        30,
        "How often a copy that follows asks the source for new topics and partitions. 0: never; the next run finds them.",
        between(0),
    ),
    Property(
        "mirror.freshness.interval.seconds",
        "LONG",
        180,
        "How often the DAG `freshness` looks at the flow and sends alerts.",
        between(10, 600),
    ),
    Property(
        "mirror.copy.spark.threshold",
        "LONG",
        0,
        "Up to how many bytes a minute the task of a flow that follows copies itself, in Airflow's worker; more is copied on Spark. "
        "0: always on Spark.",
        between(0),
    ),
    Property(
        "mirror.copy.pool",
        "STRING",
        "default_pool",
        "The Airflow pool of the flow's copies. `pools` prints it for `airflow pools import`; until Airflow has it, no copy starts.",
    ),
    Property("mirror.run.max.bytes", "LONG", -1, "How many bytes one run copies; -1: no limit.", between(-1)),
    Property(
        "mirror.transaction.max.bytes",
        "LONG",
        33554432,
        "About how many bytes one transaction holds at most; smaller ones come first, and while the target is slow.",
        between(1),
    ),
    Property(
        "mirror.unpacked.batch.max.bytes",
        "LONG",
        67108864,
        "How many bytes the records of a compressed batch may have, unpacked, when it must be opened; a larger one stops its partition.",
        between(1_048_576, 1_073_741_824),
    ),
    Property(
        "mirror.transaction.timeout.ms",
        "INT",
        60000,
        "After how long the target ends an open transaction; at most its transaction.max.timeout.ms.",
        between(1000),
    ),
    Property("mirror.installation", "STRING", "", "The name of this installation. Set, it keeps a second one from writing the same flow."),
    Property(
        "mirror.open.transaction.max.seconds",
        "LONG",
        900,
        "For how long an open transaction on the source may hold back its partition before the run turns red.",
        between(1),
    ),
    Property(
        "mirror.heartbeats.trigger",
        "BOOLEAN",
        False,
        "Whether heartbeats come at the exact interval, from Airflow's triggerer, instead of one with each run.",
    ),
    Property(
        "mirror.way.back",
        "BOOLEAN",
        False,
        "Whether the flow is the way back of the opposite one: it copies the topics alone that a cutover moved to its source. So both may "
        "keep topic names, and no record goes round.",
    ),
    Property(
        "mirror.one.cluster",
        "BOOLEAN",
        False,
        "Whether source and target may be one cluster; without it a flow stops where they have the same id. A topic that is the remote "
        "topic of another one by its name is then never mirrored itself.",
    ),
    Property("mirror.strict", "BOOLEAN", False, "Whether an unknown property is an error instead of a notice."),
    Property(
        "mirror.spark.connection",
        "STRING",
        "",
        "The Airflow connection of the Spark cluster: type spark or spark_connect; empty: local[*,4], without a connection.",
    ),
    Property(
        "mirror.checkpoints.spark.threshold",
        "INT",
        20000,
        "With more group-partitions than these, group offsets are translated by a Spark job instead of in the task.",
        between(0),
    ),
    Property(
        "mirror.translation.count.max.bytes",
        "LONG",
        268435456,
        "How many bytes one step may read, on both clusters together, to count the places of groups that the offset map no longer knows "
        "exactly. 0: it counts none.",
        between(0),
    ),
    Property("mirror.translation.count.max.seconds", "LONG", 20, "For how many seconds one step may count such places.", between(1)),
    Property(
        "mirror.audit.spark.threshold",
        "LONG",
        2000000,
        "An audit that has more offsets than these to read on the source is a Spark job instead of running in the task.",
        between(0),
    ),
    Property("mirror.audit.max.seconds", "LONG", 86400, "How long an audit may take before Airflow ends it and tries again.", between(60)),
    Property(
        "mirror.task.max.seconds",
        "LONG",
        1800,
        "How long a task may take before Airflow ends it and tries again, unless it copies or audits: these have limits of their own.",
        between(60),
    ),
    Property("mirror.spark.properties.file", "STRING", "", "A spark-defaults file for the jobs of spark-submit."),
    Property(
        "mirror.spark.tasks",
        "INT",
        0,
        "How many tasks a Spark job runs at once. 0: as many as Spark has cores when the job begins. Name a number where executors come "
        "only when there are tasks for them, as with dynamic allocation.",
        between(0),
    ),
    Property(
        "mirror.max.bytes.per.second",
        "LONG",
        -1,
        "How many bytes of keys, values and headers a second the flow copies at most; -1: no limit. `decide throttle` overrides it.",
        Valid("-1 or at least 1", lambda value: None if value == -1 or value >= 1 else "must be -1 (no limit) or at least 1"),
    ),
    Property(
        "mirror.assets.topics",
        "LIST",
        (),
        "The source topics whose remote topics are assets of Airflow, with the events of mirror.assets.events.",
        regexes("topic"),
    ),
    Property(
        "mirror.assets.events",
        "LIST",
        ("copies",),
        "When an asset gets an event. copies: records came. hours, days: an hour or a day (UTC) is complete and audited; "
        "its event has it as the partition key.",
        allow_several_of("copies", "hours", "days"),
    ),
    Property(
        "mirror.assets.late.events",
        "BOOLEAN",
        False,
        "Whether an hour or day that got records after its event gets another event, with the reason.",
    ),
    Property(
        "mirror.status.refresh.seconds",
        "LONG",
        15,
        "How often the status page and the metrics look at the clusters at most, while somebody asks for them.",
        between(5, 240),
    ),
    Property(
        "mirror.metrics.token",
        "PASSWORD",
        "",
        "The token with which Prometheus may read the flow's metrics; best a reference. MIRROR_METRICS_TOKEN opens those of all flows.",
    ),
    Property(
        "mirror.metrics.series.max",
        "INT",
        1000,
        "Of how many partitions, topics and groups each there are metrics of their own; with more of a kind, that kind is left out.",
        between(0),
    ),
)

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
        _allow_schedules(),
    ),
    Property(
        "mirror.backfill.into",
        "STRING",
        "history.{remote}",
        "The topic on the target that history goes to: {remote} is the remote topic's name, {topic} the source topic's. '{remote}' alone "
        "is the remote topic itself.",
    ),
    Property(
        "mirror.backfill.into.allowed",
        "LIST",
        (r"history\..*",),
        "Which topics history may go to, beside the remote topic itself.",
        regexes("topic"),
    ),
    Property(
        "mirror.backfill.order",
        "STRING",
        "time",
        "Whether history of a partition is written in the order of time only, or in whatever order it is asked for.",
        allow_one_of("time", "any"),
    ),
    Property(
        "mirror.backfill.on.wild.timestamp",
        "PER-TOPIC",
        ("fail",),
        "What a backfill does with an interval over which a record jumps that is stamped far ahead: fail, or take it as it is.",
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
        Property(f"{own}.url", "LIST", (), "Where the schema registry of this side answers (Confluent's API).", _allow_urls()),
        Property(f"{own}.basic.auth.user.info", "PASSWORD", "", "name:password for this side's registry; best a reference."),
        Property(f"{own}.bearer.auth.token", "PASSWORD", "", "The token for this side's registry; best a reference."),
        Property(f"{own}.ssl.ca.location", "STRING", "", "A PEM file of those who may sign the certificate of this side's registry."),
        Property(f"{own}.ssl.certificate.location", "STRING", "", "A PEM file with our certificate for this side's registry."),
        Property(f"{own}.ssl.key.location", "STRING", "", "A PEM file with the key of that certificate, if it stands elsewhere."),
    )


SCHEMAS = (
    *_define_side("source"),
    *_define_side("target"),
    Property("mirror.schemas.interval.seconds", "LONG", 600, "The time between two runs that bring schemas to the target.", between(10)),
    Property(
        "mirror.schemas.subjects",
        "LIST",
        (".*",),
        "Which subjects the target gets, by their names without a context. What their schemas refer to comes too.",
        regexes("subject"),
    ),
    Property(
        "mirror.schemas.contexts",
        "LIST",
        (),
        "Contexts that have another name on the target: `.prod -> .copy`. `.` is the default context.",
        CONTEXT_RULES,
    ),
)
