"""SASL: from Java's `sasl.*`, the login module above all, to librdkafka's."""

from collections.abc import Mapping

from mirror.config.catalogue_security import NO_JAVA, OAUTH_HANDLERS, OAUTH_RETRIEVERS
from mirror.config.jaas import LoginModule, parse_jaas
from mirror.config.mapped import Mapped
from mirror.config.setting import Setting

_MODULES = {"PLAIN": "PlainLoginModule", "SCRAM-SHA-256": "ScramLoginModule", "SCRAM-SHA-512": "ScramLoginModule"}
_KNOWN = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER by client credentials are possible"
_CUSTOM = ("sasl.client.callback.handler.class", "sasl.login.class")


def sasl_settings(mapped: Mapped, settings: Mapping[str, Setting], alias: str) -> None:
    """Map `sasl.*` of a client whose protocol is SASL_PLAINTEXT or SASL_SSL."""
    setting = settings.get("sasl.mechanism")
    if setting is None:
        mapped.refuse(
            f"{alias}.sasl.mechanism", f"is missing, and Java's default, GSSAPI (Kerberos), is not in librdkafka's build here; {_KNOWN}"
        )
        return
    if setting.unresolved:
        return
    mechanism = setting.text.strip().upper()
    if mechanism not in (*_MODULES, "OAUTHBEARER"):
        mapped.refuse(setting, f"this mechanism is not possible here; {_KNOWN}")
        return
    mapped.put("sasl.mechanism", mechanism, setting)
    _refuse_java_classes(mapped, settings, mechanism)
    module = _login_module(mapped, settings, alias, mechanism)
    if mechanism == "OAUTHBEARER":
        _oauth(mapped, settings, alias, module)
    elif module is not None:
        _password(mapped, settings["sasl.jaas.config"], module, mechanism)


def _refuse_java_classes(mapped: Mapped, settings: Mapping[str, Setting], mechanism: str) -> None:
    handlers = OAUTH_HANDLERS if mechanism == "OAUTHBEARER" else ()
    for name, allowed in (*((each, ()) for each in _CUSTOM), ("sasl.login.callback.handler.class", handlers)):
        setting = settings.get(name)
        if setting is not None and not setting.unresolved and setting.text.strip() not in ("", *allowed):
            mapped.refuse(setting, NO_JAVA)


def _login_module(mapped: Mapped, settings: Mapping[str, Setting], alias: str, mechanism: str) -> LoginModule | None:
    setting = settings.get("sasl.jaas.config")
    if setting is None:
        if mechanism != "OAUTHBEARER":
            mapped.refuse(
                f"{alias}.sasl.jaas.config", f"is missing; for {mechanism} it has to name the {_MODULES[mechanism]}, username and password"
            )
        return None
    try:
        return parse_jaas(setting.text)
    except ValueError as error:
        if not setting.unresolved:
            mapped.refuse(setting, str(error))
        return None


def _password(mapped: Mapped, setting: Setting, module: LoginModule, mechanism: str) -> None:
    if module.simple_name != _MODULES[mechanism]:
        mapped.refuse(setting, f"names the {module.simple_name}, but {mechanism} needs the {_MODULES[mechanism]}")
        return
    if module.options.get("tokenauth", "").lower() == "true":
        mapped.refuse(setting, "delegation tokens (tokenauth) are not possible with librdkafka; use a user of its own")
    for option in ("username", "password"):
        if option not in module.options:
            mapped.refuse(setting, f"has no option {option}")
        elif not setting.unresolved:
            mapped.put(f"sasl.{option}", module.options[option], setting)


def _oauth(mapped: Mapped, settings: Mapping[str, Setting], alias: str, module: LoginModule | None) -> None:
    """OAUTHBEARER by client credentials (KIP-768); librdkafka has no other way that Java's settings describe."""
    options = module.options if module else {}
    jaas = settings.get("sasl.jaas.config")
    retriever = settings.get("sasl.oauthbearer.jwt.retriever.class")
    if retriever and not retriever.unresolved and retriever.text.strip() not in OAUTH_RETRIEVERS:
        mapped.refuse(retriever, "a Java class cannot be loaded here; only client credentials are possible")
    wanted = (
        ("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.token.endpoint.url", "", True),
        ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id", "clientId", True),
        ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret", "clientSecret", True),
        ("sasl.oauthbearer.scope", "sasl.oauthbearer.scope", "scope", False),
    )
    mapped.put("sasl.oauthbearer.method", "oidc", settings["sasl.mechanism"])
    for name, property_name, option, needed in wanted:
        if property_name in settings:
            mapped.take(name, settings[property_name], str.strip)
        elif option in options:
            assert jaas is not None
            mapped.take(name, jaas._replace(text=options[option]), str)
        elif needed and not (jaas and jaas.unresolved and module is None):
            mapped.refuse(f"{alias}.{property_name}", "is missing; OAUTHBEARER is possible by client credentials only, which need it")
    extensions = [f"{name.removeprefix('extension_')}={value}" for name, value in options.items() if name.startswith("extension_")]
    if extensions and jaas and not jaas.unresolved:
        mapped.put("sasl.oauthbearer.extensions", ",".join(extensions), jaas)
