"""SASL: from Java's `sasl.*`, the login module above all, to librdkafka's."""

from collections.abc import Mapping

from kafka_mirror.config.clients.client_settings import MappedSettings
from kafka_mirror.config.clients.jaas import LoginModule, parse_jaas
from kafka_mirror.config.clients.kerberos import kerberos_settings, why_impossible
from kafka_mirror.config.clients.oauth import msk_iam_settings, oauth_settings
from kafka_mirror.config.clients.security_catalogue import CLIENT_HANDLERS, NO_JAVA
from kafka_mirror.config.setting import Setting
from kafka_mirror.logins.kerberos import GSSAPI

_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
    GSSAPI: "Krb5LoginModule",
}
_TOKENS = ("OAUTHBEARER", "AWS_MSK_IAM")
_KNOWN = f"{', '.join(_MODULES)} are possible"


def sasl_settings(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str) -> None:
    """Map `sasl.*` of a client whose protocol is SASL_PLAINTEXT or SASL_SSL."""
    setting = settings.get("sasl.mechanism")
    if setting is not None and setting.unresolved:
        return
    mechanism = setting.text.strip().upper() if setting is not None else GSSAPI
    impossible = why_impossible() if mechanism == GSSAPI else ""
    if setting is None and impossible:
        mapped.refuse(f"{alias}.sasl.mechanism", f"is missing, and Java's default, {impossible}")
        return
    if setting is not None and (impossible or mechanism not in _MODULES):
        mapped.refuse(setting, impossible or f"this mechanism is not possible here; {_KNOWN}")
        if "sasl.jaas.config" in settings:
            _parse_module(mapped, settings["sasl.jaas.config"])
        return
    _refuse_java_classes(mapped, settings, mechanism)
    module = _find_login_module(mapped, settings, alias, mechanism)
    mapped.put("sasl.mechanism", "OAUTHBEARER" if mechanism in _TOKENS else mechanism, setting)
    if mechanism == "OAUTHBEARER":
        oauth_settings(mapped, settings, alias, module)
    elif mechanism == "AWS_MSK_IAM":
        msk_iam_settings(mapped, settings, module)
    elif mechanism == GSSAPI:
        kerberos_settings(mapped, settings, alias, module)
    elif module is not None:
        _set_password(mapped, settings["sasl.jaas.config"], module)


def _refuse_java_classes(mapped: MappedSettings, settings: Mapping[str, Setting], mechanism: str) -> None:
    """Which class gives tokens is for OAUTHBEARER to say; there is no other that could be named."""
    login = settings.get("sasl.login.callback.handler.class") if mechanism != "OAUTHBEARER" else None
    for setting, allowed in (
        (settings.get("sasl.login.class"), ()),
        (settings.get("sasl.client.callback.handler.class"), CLIENT_HANDLERS),
        (login, ()),
    ):
        if setting is not None and not setting.unresolved and setting.text.strip() not in ("", *allowed):
            mapped.refuse(setting, NO_JAVA)


def _find_login_module(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str, mechanism: str) -> LoginModule | None:
    setting = settings.get("sasl.jaas.config")
    if setting is None:
        if mechanism not in _TOKENS:
            mapped.refuse(
                f"{alias}.sasl.jaas.config",
                f"is missing; for {mechanism} it has to name the {_MODULES[mechanism]}, {_choose_mechanism(mechanism)}",
            )
        return None
    module = _parse_module(mapped, setting)
    if module is not None and module.simple_name != _MODULES[mechanism]:
        mapped.refuse(setting, f"names the {module.simple_name}, but {mechanism} needs the {_MODULES[mechanism]}")
        return None
    return module


def _choose_mechanism(mechanism: str) -> str:
    return "with keytab and principal, or a ticket cache" if mechanism == GSSAPI else "username and password"


def _parse_module(mapped: MappedSettings, setting: Setting) -> LoginModule | None:
    try:
        return parse_jaas(setting.text)
    except ValueError as error:
        if not setting.unresolved:
            mapped.refuse(setting, str(error))
        return None


def _set_password(mapped: MappedSettings, setting: Setting, module: LoginModule) -> None:
    if module.options.get("tokenauth", "").lower() == "true":
        mapped.refuse(setting, "delegation tokens (tokenauth) are not possible with librdkafka; use a user of its own")
    for option in ("username", "password"):
        if option not in module.options:
            mapped.refuse(setting, f"has no option {option}")
        elif not setting.unresolved:
            mapped.put(f"sasl.{option}", module.options[option], setting)
