"""Schema registries: `mirror.schemas.*`."""

from kafka_mirror.config.catalogue.property import Property
from kafka_mirror.config.catalogue.values import Valid, between, context_rules, regexes

GROUP = "mirror"


def _allow_urls() -> Valid:
    def check(value: tuple[str, ...]) -> str | None:
        wrong = [url for url in value if not url.startswith(("http://", "https://"))]
        return f"has to begin with http:// or https:// ({wrong[0]} does not)" if wrong else None

    return Valid("addresses that begin with http:// or https://", check)


def _define_side(side: str) -> tuple[Property, ...]:
    own = f"mirror.schemas.{side}"
    return (
        Property(f"{own}.url", "LIST", (), f"Where the {side}'s schema registry answers (Confluent's API).", GROUP, _allow_urls()),
        Property(f"{own}.basic.auth.user.info", "PASSWORD", "", f"name:password for the {side}'s registry; best a reference.", GROUP),
        Property(f"{own}.bearer.auth.token", "PASSWORD", "", f"The token for the {side}'s registry; best a reference.", GROUP),
        Property(f"{own}.ssl.ca.location", "STRING", "", f"A PEM file of those who may sign the {side}'s registry's certificate.", GROUP),
        Property(f"{own}.ssl.certificate.location", "STRING", "", f"A PEM file with our certificate for the {side}'s registry.", GROUP),
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
