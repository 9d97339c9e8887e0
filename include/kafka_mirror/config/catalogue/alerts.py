"""When people on call get an alert, and how: `mirror.deadline.*` and `mirror.alert.*`."""

from kafka_mirror.config.catalogue.property import Property
from kafka_mirror.config.catalogue.values import Valid, between
from kafka_mirror.config.notifiers import check_notifiers

GROUP = "mirror"
_OF_COPY = "By default three copy intervals, and 900 at least. -1: never an alert."

ALERTS = (
    Property(
        "mirror.deadline.run.seconds",
        "LONG",
        900,
        "How long a run of one of the flow's DAGs may take, waiting included; a copy has mirror.run.max.seconds in addition. "
        "-1: never an alert.",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.lag.seconds",
        "LONG",
        None,
        f"How long a record may wait on the source before it is copied. {_OF_COPY}",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.lag.records",
        "LONG",
        -1,
        "How many records the flow may be behind, all partitions together. -1: any number.",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.progress.seconds",
        "LONG",
        None,
        f"For how long the watermark of a partition may stand still while its source has records to copy. {_OF_COPY}",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.copy.seconds",
        "LONG",
        None,
        f"For how long nothing at all may be copied while there is work, for whatever reason. {_OF_COPY}",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.heartbeats.seconds",
        "LONG",
        None,
        "How old the newest heartbeat may be, for each way on which heartbeats came to the target before. By default three intervals of "
        "copies or beats, whichever are longer, and 900 at least. -1: never an alert.",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.deadline.unreachable.seconds",
        "LONG",
        300,
        "For how long a cluster may not answer, a partition of the source have no leader, or another error last of those that usually end "
        "by themselves. -1: never an alert.",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.alert.connections",
        "LIST",
        (),
        "The Airflow connections by which alerts are sent; empty: they are shown and not sent.",
        GROUP,
    ),
    Property(
        "mirror.alert.notifiers",
        "STRING",
        "",
        "Airflow notifiers by which alerts are sent too: import paths of classes, with keyword arguments where they take some.",
        GROUP,
        Valid("import paths of classes", check_notifiers),
    ),
    Property(
        "mirror.alert.lasting.seconds",
        "LONG",
        30,
        "How long a problem must last before it is an alert, and be gone before the alert is over.",
        GROUP,
        between(0),
    ),
    Property(
        "mirror.alert.repeat.seconds",
        "LONG",
        -1,
        "After how long an alert that lasts is sent again. -1: never.",
        GROUP,
        between(-1),
    ),
    Property(
        "mirror.alert.growth.factor",
        "INT",
        4,
        "How many times as big as when sent an alert must have become (in partitions or topics, in time or records over the limit) to "
        "be sent again. Below 2: never.",
        GROUP,
        between(-1),
    ),
)
