"""The security settings of a Java client, for librdkafka. (grows: TLS and SASL follow)"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mirror.config.setting import Setting
from mirror.errors import Problem

if TYPE_CHECKING:
    from mirror.config.clients import Mapped


def security_settings(mapped: "Mapped", settings: Mapping[str, Setting]) -> None:
    """Map security.protocol, ssl.* and sasl.*."""
    setting = settings.get("security.protocol")
    if setting is None:
        return
    protocol = setting.text.strip().lower()
    if protocol not in ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"):
        mapped.problems.append(Problem(setting.origin, "has to be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", setting.shown))
    else:
        mapped.settings["security.protocol"] = protocol
