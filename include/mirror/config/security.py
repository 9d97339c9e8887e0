"""`security.protocol` and what hangs on it: with PLAINTEXT Java ignores `ssl.*` and `sasl.*`, and so do we."""

from collections.abc import Mapping

from mirror.config.mapped import Mapped
from mirror.config.sasl import sasl_settings
from mirror.config.setting import Setting
from mirror.config.tls import tls_settings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_MAPPED = frozenset(
    (
        "ssl.truststore.certificates ssl.truststore.location ssl.truststore.type ssl.truststore.password ssl.keystore.certificate.chain "
        "ssl.keystore.key ssl.keystore.location ssl.keystore.type ssl.keystore.password ssl.key.password ssl.engine.factory.class "
        "ssl.endpoint.identification.algorithm sasl.mechanism sasl.jaas.config sasl.client.callback.handler.class "
        "sasl.login.callback.handler.class sasl.login.class sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.scope "
        "sasl.oauthbearer.jwt.retriever.class "
        "sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret"
    ).split()
)


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
    mapped.settings["security.protocol"] = protocol.lower()
    tls, sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
    if tls:
        tls_settings(mapped, settings, alias)
    if sasl:
        sasl_settings(mapped, settings, alias)
    for name, each in settings.items():
        if name not in _MAPPED and ((tls and name.startswith("ssl.")) or (sasl and name.startswith("sasl."))):
            mapped.without_effect[each.origin] = "it is a setting of Java's TLS or SASL library, and librdkafka has its own"
