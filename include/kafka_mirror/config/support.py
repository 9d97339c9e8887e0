"""Which versions the mirror is made for, and how often each is tested: the handbook's table, and pyproject.toml's floors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

from kafka_mirror.errors import PysparkMixed

EVERY_TIME = "tested every time"
BEFORE_RELEASE = "tested before a release"
NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Support:
    """The versions of one thing that the mirror runs with, the oldest first, each with how often it is tested.

    `package` is its distribution, where it is one; `note` says what the older ones lack.
    """

    name: str
    tested: Mapping[str, str]
    package: str = ""
    note: str = ""
    also: str = field(default="", kw_only=True)
    """Another distribution with the same files."""

    @property
    def oldest(self) -> str:
        """The floor: an older one is refused."""
        return next(iter(self.tested))

    @property
    def newest(self) -> str:
        """The newest one that is known. A newer one is not refused."""
        return list(self.tested)[-1]


AIRFLOW = Support(
    "Airflow",
    {"3.2": BEFORE_RELEASE, "3.3": EVERY_TIME},
    "apache-airflow",
    "3.2 has no partition keys, so `mirror.assets.events` needs 3.3.",
)
PYTHON = Support("Python", {"3.11": EVERY_TIME, "3.12": BEFORE_RELEASE, "3.13": NOT_TESTED, "3.14": NOT_TESTED})
SPARK = Support(
    "PySpark",
    {"4.0": NOT_TESTED, "4.1": BEFORE_RELEASE, "4.2": EVERY_TIME, "4.3": NOT_TESTED},
    "pyspark",
    "A Spark that stays must have the same minor version.",
    also="pyspark-client",
)
SOURCE = Support(
    "Kafka, source",
    {
        **dict.fromkeys(("2.1", "2.4"), BEFORE_RELEASE),
        "2.8": EVERY_TIME,
        **dict.fromkeys(("3.3", "3.5"), BEFORE_RELEASE),
        **dict.fromkeys(("3.9", "4.3"), EVERY_TIME),
        "4.4": BEFORE_RELEASE,
    },
    note="Before 2.8 there are no topic ids: a topic that was deleted and created again is known by its log alone.",
)
TARGET = Support(
    "Kafka, target",
    {
        "2.8": EVERY_TIME,
        **dict.fromkeys(("3.3", "3.5"), BEFORE_RELEASE),
        **dict.fromkeys(("3.9", "4.3"), EVERY_TIME),
        "4.4": BEFORE_RELEASE,
    },
    note="Before 3.6 a transaction may hang; its partition then stops and says so.",
)
MATRIX = (AIRFLOW, PYTHON, SPARK, SOURCE, TARGET)


def minor(number: str) -> tuple[int, int]:
    """The first two numbers of a version: (3, 3) of 3.3.2."""
    first, second = number.split(".")[:2]
    return int(first), int(second)


def describe_installed() -> Iterator[str]:
    """A sentence for each thing that is installed here: its version, and how often that is tested."""
    for support in (AIRFLOW, PYTHON, SPARK):
        try:
            number = version(support.package) if support.package else python_version()
        except PackageNotFoundError:
            yield f"{support.name} is not installed."
        else:
            yield f"{support.name} {number}: {judge(support, number)}."


def judge(support: Support, number: str) -> str:
    """How often a version is tested, or that it is too old, or newer than what was tested."""
    if minor(number) < minor(support.oldest):
        return f"too old; the mirror needs {support.oldest} or newer"
    return support.tested.get(".".join(map(str, minor(number))), f"{NOT_TESTED}; the newest that was seen is {support.newest}")


def require_one_pyspark() -> None:
    """Raises PysparkMixed where pyspark and pyspark-client are installed in two versions. Both own the folder `pyspark/`."""
    try:
        pyspark, client = version(SPARK.package), version(SPARK.also)
    except PackageNotFoundError:
        return
    if pyspark != client:
        raise PysparkMixed(pyspark, client)
