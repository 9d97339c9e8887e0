"""Tokens for AWS MSK's IAM and for Google Cloud's Managed Service for Apache Kafka.

MSK's brokers take AWS_MSK_IAM and OAUTHBEARER at the same port, so a client that is configured for the first logs in by the second here:
AWS's own signer signs, with the credentials that the options of Java's aws-msk-iam-auth lead to.
"""

import base64
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import Any

from kafka_mirror.logins.token import LoginToken, TokenProvider, needs

_SESSION_NAME = "aws-msk-iam-auth"
"""Java's default. One name for ever: a broker takes no other principal when a login is renewed."""
_GLOBAL_REGION = "aws-global"
_REGION = re.compile(r"[a-z]{2,3}(?:-[a-z]+){1,3}-\d{1,2}")
_NO_REGION = "the region of the MSK cluster is unknown: its addresses do not name it, and neither AWS_REGION nor the AWS profile does"

log = logging.getLogger(__name__)


class MskIamTokens(TokenProvider):
    """Options as of Java's IAMLoginModule: awsProfileName, awsRoleArn with its likes, awsStsRegion, awsAddDefaultProviders."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        needs("aws_msk_iam_sasl_signer", "msk")
        if properties.get("awsMskRegionProvider"):
            raise ValueError("the option awsMskRegionProvider names a Java class, which cannot be loaded here; set AWS_REGION instead")

    def token(self) -> LoginToken:
        """A URL that is signed on this host. Raises ValueError that says why there are no credentials."""
        from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import generate_auth_token_from_credentials_provider
        from botocore.credentials import CredentialProvider

        credentials = self._find_credentials()

        class Found(CredentialProvider):  # type: ignore[misc]
            """The signer asks an object of botocore's."""

            def load(self) -> Any:
                return credentials

        value, expires = generate_auth_token_from_credentials_provider(self.find_region(), Found())
        return LoginToken(value, expires / 1000)

    def find_region(self) -> str:
        """Of the cluster. Raises ValueError if nothing says it."""
        import botocore.session

        for address in self.properties.get("bootstrap.servers", "").split(","):
            if region := region_of(address.strip().rpartition(":")[0]):
                return region
        session = botocore.session.Session(profile=self.properties.get("awsProfileName"))
        region_name = os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region_name:
            raise ValueError(_NO_REGION)
        return str(region_name)

    def _find_credentials(self) -> Any:
        """Those of the first way that has some: the profile, the role, and AWS's default chain unless the options say no."""
        from botocore.exceptions import BotoCoreError, ClientError

        reasons = []
        for what, get in self._list_ways():
            try:
                credentials = get()
            except (BotoCoreError, ClientError) as failure:
                reasons.append(f"{what}: {failure}".rstrip("."))
                continue
            if credentials is not None:
                if reasons:
                    log.warning("AWS credentials come from %s, for %s", what, "; ".join(reasons))
                return credentials
            reasons.append(f"{what} has none")
        raise ValueError(f"there are no AWS credentials: {'; '.join(reasons)}")

    def _list_ways(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        import botocore.session

        options = self.properties
        if profile := options.get("awsProfileName"):
            yield f"the profile {profile}", lambda: botocore.session.Session(profile=profile).get_credentials()
        if role := options.get("awsRoleArn"):
            yield f"the role {role}", lambda: self._assume_role(role)
        if options.get("awsAddDefaultProviders", "true").lower() == "true":
            yield "AWS's default chain", lambda: botocore.session.Session().get_credentials()

    def _assume_role(self, role: str) -> Any:
        import botocore.session
        from botocore.config import Config
        from botocore.credentials import Credentials

        options = self.properties
        own = {
            "aws_access_key_id": options.get("awsRoleAccessKeyId"),
            "aws_secret_access_key": options.get("awsRoleSecretAccessKey"),
            "aws_session_token": options.get("awsRoleSessionToken"),
        }
        how = Config(
            retries={"total_max_attempts": 1 + int(options.get("awsMaxRetries", "3")), "mode": "standard"},
            use_fips_endpoint=options.get("awsShouldUseFips", "false").lower() == "true" or None,
        )
        region = options.get("awsStsRegion", _GLOBAL_REGION)
        sts = botocore.session.Session().create_client("sts", region_name=region, config=how, **own)
        more = {"ExternalId": options["awsRoleExternalId"]} if "awsRoleExternalId" in options else {}
        answer = sts.assume_role(RoleArn=role, RoleSessionName=options.get("awsRoleSessionName", _SESSION_NAME), **more)
        got = answer["Credentials"]
        return Credentials(got["AccessKeyId"], got["SecretAccessKey"], got["SessionToken"])


def region_of(host: str) -> str | None:
    """The region in the name of a host of AWS: of its labels that look like one, the last."""
    if not host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return None
    labels = [label for label in host.split(".") if _REGION.fullmatch(label)]
    return labels[-1] if labels else None


_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_HEADER = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}


class GoogleTokens(TokenProvider):
    """By Google's application default credentials."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        needs("google.auth", "google")
        self._credentials: Any = None

    def token(self) -> LoginToken:
        """Google's access token inside a JWT that names the account. Raises what google-auth raises, ValueError for a nameless account."""
        import google.auth
        from google.auth.transport.requests import Request

        if self._credentials is None:
            self._credentials, _ = google.auth.default(scopes=[_SCOPE])
        credentials = self._credentials
        credentials.refresh(Request())
        account = getattr(credentials, "service_account_email", None) or getattr(credentials, "account", None)
        if not account:
            raise ValueError(f"credentials of the kind {type(credentials).__name__} name no account; use a service account")
        expires = credentials.expiry.replace(tzinfo=UTC).timestamp()
        claims = {"exp": int(expires), "iat": int(time.time()), "scope": "kafka", "sub": account}
        parts = (json.dumps(_HEADER), json.dumps(claims), credentials.token)
        return LoginToken(".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts), expires)
