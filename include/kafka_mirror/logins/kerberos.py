"""What a login by Kerberos is called in the settings of a client: librdkafka's names, and one of ours."""

GSSAPI = "GSSAPI"
"""The mechanism; Java's default where none is named."""
SERVICE, PRINCIPAL, KEYTAB = "sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab"
TICKET_CACHE = "mirror.kerberos.ticket.cache"
"""For what librdkafka has no setting: the ticket cache that the login module names; '' is the process's own."""
