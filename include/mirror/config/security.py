"""`security.protocol` and what hangs on it: with PLAINTEXT Java ignores `ssl.*` and `sasl.*`, and so do we."""

from collections.abc import Mapping

from mirror.config.catalogue_security import SECURITY_PROPERTIES
from mirror.config.mapped import Mapped
from mirror.config.sasl import sasl_settings
from mirror.config.setting import Setting
from mirror.config.tls import tls_settings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def security_settings(mapped: Mapped, settings: Mapping[str, Setting], alias: str) -> None:
    """Map `security.protocol`, `ssl.*` and `sasl.*` of a client of the cluster `alias`."""
    setting = settings.get("security.protocol")
    if setting is None:
        return
    if setting.unresolved:
        return
    protocol = setting.text.strip().upper()
    if protocol not in PROTOCOLS:
        mapped.refuse(setting, f"has to be one of {', '.join(PROTOCOLS)}")
        return
    mapped.put("security.protocol", protocol.lower(), setting)
    tls, sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
    if tls:
        tls_settings(mapped, settings, alias)
    if sasl:
        sasl_settings(mapped, settings, alias)
    for name, each in settings.items():
        known = SECURITY_PROPERTIES.get(name)
        if known and known.effect and ((tls and name.startswith("ssl.")) or (sasl and name.startswith("sasl."))):
            mapped.without_effect[each.origin] = known.effect
