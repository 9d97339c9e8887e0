"""A client of the cluster `east`, from its Java settings."""

from collections.abc import Collection, Mapping

from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.setting import Client, MappedSettings, Setting


def map_java(
    java: Mapping[str, str], role: str = "admin", side: str = "source", files: bool = False, unresolved: Collection[str] = ()
) -> MappedSettings:
    """What becomes of the settings; of those that are `unresolved` the text still holds references."""
    settings = {"bootstrap.servers": "127.0.0.1:9", **java}
    given = {name: Setting(text, f"east.{name}", unresolved=name in unresolved) for name, text in settings.items()}
    return client_settings(given, Client("east->west", "east", side, role, files))


def complaints_of(mapped: MappedSettings) -> dict[str, str]:
    """Property -> what is wrong with it."""
    return {problem.property: problem.message for problem in mapped.problems}
