"""The names that clusters inherit from the top level of the file: CLIENT_KEYS of MM2's `MirrorClientConfig` (Kafka 4.3.1)."""

SSL_KEYS = tuple(
    "ssl." + name
    for name in (
        "protocol provider cipher.suites enabled.protocols keystore.type keystore.location keystore.password key.password keystore.key "
        "keystore.certificate.chain truststore.certificates truststore.type truststore.location truststore.password keymanager.algorithm "
        "trustmanager.algorithm endpoint.identification.algorithm secure.random.implementation engine.factory.class"
    ).split()
)

SASL_KEYS = tuple(
    "sasl." + name
    for name in (
        "mechanism jaas.config client.callback.handler.class login.callback.handler.class login.class login.connect.timeout.ms "
        "login.read.timeout.ms login.retry.backoff.ms login.retry.backoff.max.ms login.refresh.window.factor login.refresh.window.jitter "
        "login.refresh.min.period.seconds login.refresh.buffer.seconds kerberos.service.name kerberos.kinit.cmd "
        "kerberos.ticket.renew.window.factor kerberos.ticket.renew.jitter kerberos.min.time.before.relogin oauthbearer.scope.claim.name "
        "oauthbearer.sub.claim.name oauthbearer.token.endpoint.url oauthbearer.jwks.endpoint.url oauthbearer.jwks.endpoint.refresh.ms "
        "oauthbearer.jwks.endpoint.retry.backoff.ms oauthbearer.jwks.endpoint.retry.backoff.max.ms oauthbearer.clock.skew.seconds "
        "oauthbearer.expected.audience oauthbearer.expected.issuer oauthbearer.header.urlencode oauthbearer.scope "
        "oauthbearer.client.credentials.client.id oauthbearer.client.credentials.client.secret oauthbearer.jwt.retriever.class "
        "oauthbearer.jwt.validator.class oauthbearer.assertion.algorithm oauthbearer.assertion.file oauthbearer.assertion.template.file "
        "oauthbearer.assertion.private.key.file oauthbearer.assertion.private.key.passphrase oauthbearer.assertion.claim.aud "
        "oauthbearer.assertion.claim.iss oauthbearer.assertion.claim.sub oauthbearer.assertion.claim.exp.seconds "
        "oauthbearer.assertion.claim.nbf.seconds oauthbearer.assertion.claim.jti.include"
    ).split()
)

SECURITY_KEYS = ("security.protocol", *SSL_KEYS, *SASL_KEYS)
CLIENT_KEYS = ("bootstrap.servers", *SECURITY_KEYS)
ROLES = ("producer", "consumer", "admin")
