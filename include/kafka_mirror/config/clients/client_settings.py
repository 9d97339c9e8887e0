"""What a Java client's settings became: librdkafka's settings, problems, and what has no effect."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import Problem


@dataclass
class MappedSettings:
    """Collects while the settings of one client are mapped. `settings` holds secrets."""

    files: bool = False
    """Whether the files that settings name may be opened (at run time) or not (when the configuration is loaded)."""
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
        self.origins[name] = tuple(each for each in made_from if each is not None)

    def refuse(self, what: Setting | str, why: str) -> None:
        """Note a problem of a setting, or of a property that is missing."""
        key, shown = (what, None) if isinstance(what, str) else (what.origin, what.display_text)
        self.problems.append(Problem(key, why, shown))
