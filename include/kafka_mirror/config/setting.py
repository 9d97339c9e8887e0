"""One configured value with the key that it comes from, and the settings of librdkafka that the values of a client become."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_mirror.errors import Problem

DEFAULT = "(default)"
"""The origin of what MM2 fills in itself."""

_SECRET = re.compile(
    r"password|passphrase|secret|jaas|credential|token(?!\.endpoint)|keystore\.key$|private\.key$|api\.key|user\.info", re.IGNORECASE
)


class Setting(NamedTuple):
    """`text` as it stands in the file (references unresolved); `origin` is the key that the user wrote, for messages."""

    text: str
    origin: str
    hidden: bool = False
    """Whether the text came out of a reference, so that no message may show it."""
    unresolved: bool = False
    """Whether the text still holds references, so that it cannot be judged yet."""

    def __repr__(self) -> str:
        """Without the text: it may be a secret that stands in the file itself."""
        return f"Setting({self.origin})"

    def refuse(self, why: str) -> Problem:
        """What is wrong with it, as a problem."""
        return Problem(self.origin, why, self.display_text)

    @property
    def display_text(self) -> str | None:
        """The text for a message; None if the property may hold a secret."""
        return None if self.hidden or is_secret(self.origin) else self.text


class Texts(dict[str, str]):
    """Property -> unresolved text. Some may be secrets, so the text of the whole has the names only."""

    def __repr__(self) -> str:
        return f"Texts({', '.join(self)})"

    __str__ = __repr__


def is_secret(name: str) -> bool:
    """Whether a property of this name may hold a secret, so that its value never stands in a message."""
    return _SECRET.search(name) is not None


@dataclass(frozen=True)
class Client:
    """Which client of a flow it is."""

    flow: str
    alias: str
    side: str
    role: str
    files: bool = False
    """Whether the files that settings name may be opened (at run time) or not (when the configuration is loaded)."""


@dataclass
class MappedSettings:
    """Collects while the settings of one client are mapped. `java` and `settings` hold secrets."""

    client: Client
    java: dict[str, Setting] = field(repr=False)
    """The settings that are mapped, by the names of Java's client."""
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    origins: dict[str, tuple[Setting, ...]] = field(default_factory=dict)
    """librdkafka's setting -> the Java settings that it was made from; what is not in it is a default of ours."""
    problems: list[Problem] = field(default_factory=list)
    without_effect: dict[str, str] = field(default_factory=dict)
    """Key of the user -> why it has no effect here."""

    def take(self, name: str, setting: Setting, convert: Callable[[str], Any]) -> None:
        """Set `name` to the converted text, or note why that is impossible; what is not resolved yet is left for later."""
        if setting.unresolved:
            return
        try:
            self.put(name, convert(setting.text), setting)
        except ValueError as error:
            self.refuse(setting, str(error))

    def put(self, name: str, value: Any, *made_from: Setting | None) -> None:
        """Set `name`, and note which settings it comes from."""
        self.settings[name] = value
        self.origins[name] = tuple(setting for setting in made_from if setting is not None)

    def refuse(self, what: Setting | str, why: str) -> None:
        """Note a problem of a setting, or of a property of the cluster that is missing."""
        self.problems.append(Problem(f"{self.client.alias}.{what}", why) if isinstance(what, str) else what.refuse(why))
