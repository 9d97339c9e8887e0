"""A Kerberos realm on this machine: MIT's KDC (Debian: krb5-kdc, krb5-admin-server) on a free port, its keytabs, and the krb5.conf that
each process that logs in must use (`environment`)."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from services.ports import LOOPBACK, free_ports
from services.processes import Server

REALM = "MIRROR.TEST"
_CONF = """\
[libdefaults]
default_realm = {realm}
dns_lookup_realm = false
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
ticket_lifetime = {seconds}s
[realms]
{realm} = {{
 kdc = {address}
}}
"""
_KDC = """\
[kdcdefaults]
kdc_listen = {address}
kdc_tcp_listen = {address}
[realms]
{realm} = {{
 database_name = {directory}/principal
 key_stash_file = {directory}/stash
 acl_file = {directory}/kadm5.acl
 max_life = {seconds}s
}}
"""


class KerberosRealm:
    """One realm. Tickets are good for `seconds`."""

    def __init__(self, directory: Path, seconds: int = 3600) -> None:
        self._directory = directory
        self._seconds = seconds
        self._server = Server("krb5kdc", directory)

    @property
    def conf(self) -> Path:
        """The krb5.conf of each process that logs in, a broker's JVM among them."""
        return self._directory / "krb5.conf"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs to log in."""
        return {"KRB5_CONFIG": str(self.conf)}

    def start(self) -> None:
        """Makes the realm, and starts its KDC."""
        self._directory.mkdir(parents=True, exist_ok=True)
        facts = {"realm": REALM, "directory": self._directory, "seconds": self._seconds, "address": f"{LOOPBACK}:{free_ports(1)[0]}"}
        self.conf.write_text(_CONF.format(**facts))
        (self._directory / "kdc.conf").write_text(_KDC.format(**facts))
        self._run("kdb5_util", "-r", REALM, "create", "-s", "-P", "of-a-test")
        self._server.start(["/usr/sbin/krb5kdc", "-n"], env=self._admin_environment())
        self._server.wait(lambda: "starting..." in self._server.log_tail(20), 30, "start")

    def stop(self) -> None:
        """Ends the KDC."""
        self._server.stop()

    def keytab(self, principal: str) -> Path:
        """Makes a new principal with a key of its own; gives the file of its keytab."""
        file = self._directory / f"{principal.replace('/', '_')}.keytab"
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(file), principal)
        return file

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([f"/usr/sbin/{program}", *arguments], env=self._admin_environment(), check=True, capture_output=True, timeout=60)

    def _admin_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "KRB5_KDC_PROFILE": str(self._directory / "kdc.conf")}
