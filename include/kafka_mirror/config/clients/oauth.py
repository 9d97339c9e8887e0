"""OAUTHBEARER and AWS_MSK_IAM: who gives the tokens that a client logs in with.

Client credentials with a secret are librdkafka's own affair. Every other way is a class of `kafka_mirror.logins`, or the user's: its name
and what it gets are settings of the client.
"""

import json
from collections.abc import Mapping

from kafka_mirror.config.clients.client_settings import MappedSettings
from kafka_mirror.config.clients.jaas import LoginModule
from kafka_mirror.config.clients.security_catalogue import OAUTH_HANDLERS, OAUTH_RETRIEVERS, TOKEN_CLASSES
from kafka_mirror.config.custom_classes import custom_class
from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.logins import TokenProvider
from kafka_mirror.logins.source import CLASS, PROPERTIES

_HANDLER = "sasl.login.callback.handler.class"
_RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
_URL = "sasl.oauthbearer.token.endpoint.url"
_ASSERTION = "sasl.oauthbearer.assertion."
_DEFAULT, _CLIENT_CREDENTIALS, _FILE, _JWT_BEARER = OAUTH_RETRIEVERS
_NEAREST = (
    "For client credentials name Kafka's own OAuthBearerLoginCallbackHandler, "
    "for Microsoft Entra ID kafka_mirror.logins.azure_entra.EntraTokens"
)

Settings = Mapping[str, Setting]


def oauth_settings(mapped: MappedSettings, settings: Settings, alias: str, module: LoginModule | None) -> None:
    """Map `sasl.oauthbearer.*` and the classes that Java's clients would load. What is not resolved yet is left for later."""
    handler, retriever = settings.get(_HANDLER), settings.get(_RETRIEVER)
    if any(each and each.unresolved for each in (handler, retriever)):
        return
    named = handler.text.strip() if handler else ""
    if handler and named not in ("", *OAUTH_HANDLERS):
        _log_in_by_class(mapped, settings, TOKEN_CLASSES.get(named, named), handler, module)
        return
    way = (retriever.text.strip() if retriever else "") or _DEFAULT
    if retriever and way not in OAUTH_RETRIEVERS:
        mapped.refuse(retriever, f"a Java class cannot be loaded here; known are {', '.join(OAUTH_RETRIEVERS)}")
    elif way == _FILE or (way == _DEFAULT and _URL in settings and settings[_URL].text.strip().lower().startswith("file:")):
        _log_in_by_class(mapped, settings, "kafka_mirror.logins.token_file.TokenFile", settings["sasl.mechanism"], module)
    elif way == _JWT_BEARER:
        _log_in_by_class(mapped, settings, "kafka_mirror.logins.oauth_endpoint.JwtBearer", settings["sasl.mechanism"], module)
    elif _ASSERTION + "file" in settings or _ASSERTION + "claim.iss" in settings:
        _log_in_by_class(mapped, settings, "kafka_mirror.logins.oauth_endpoint.ClientAssertion", settings["sasl.mechanism"], module)
    else:
        _log_in_by_secret(mapped, settings, alias, module)


def msk_iam_settings(mapped: MappedSettings, settings: Settings, module: LoginModule | None) -> None:
    """Map AWS_MSK_IAM: the same brokers take the same signature as a token, at the same port."""
    _log_in_by_class(mapped, settings, "kafka_mirror.logins.aws_msk.MskIamTokens", settings["sasl.mechanism"], module)


def _log_in_by_class(mapped: MappedSettings, settings: Settings, kind: str, said: Setting, module: LoginModule | None) -> None:
    """Tokens of a class. It is made once to see whether it can be: `said` is the setting that asks for it."""
    given = {name: each for name, each in settings.items() if name == "bootstrap.servers" or name.startswith("sasl.oauthbearer.")}
    jaas = settings.get("sasl.jaas.config")
    if any(each.unresolved for each in given.values()) or (jaas and (jaas.unresolved or module is None)):
        return
    properties = {name: each.text.strip() for name, each in given.items()} | dict(module.options if module else {})
    try:
        custom_class("sasl.login.callback.handler.class", kind, TokenProvider)(properties)
    except ConfigurationError as error:
        mapped.refuse(said, f"{error.problems[0].message}. {_NEAREST}")
    except (ValueError, ImportError) as error:
        mapped.refuse(said, str(error))
    except Exception as error:  # noqa: BLE001 — whatever a user's class does
        mapped.refuse(said, f"cannot be constructed: {type(error).__name__}: {error}")
    mapped.put(CLASS, kind, said)
    mapped.put(PROPERTIES, json.dumps(properties, sort_keys=True), jaas, *given.values())


def _log_in_by_secret(mapped: MappedSettings, settings: Settings, alias: str, module: LoginModule | None) -> None:
    """Client credentials (KIP-768)."""
    options = module.options if module else {}
    jaas = settings.get("sasl.jaas.config")
    wanted = (
        (_URL, _URL, "", True),
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
            mapped.refuse(
                f"{alias}.{property_name}",
                "is missing, and client credentials need it; for tokens of another kind name a class in sasl.login.callback.handler.class",
            )
    extensions = [f"{name.removeprefix('extension_')}={value}" for name, value in options.items() if name.startswith("extension_")]
    if extensions and jaas and not jaas.unresolved:
        mapped.put("sasl.oauthbearer.extensions", ",".join(extensions), jaas)
