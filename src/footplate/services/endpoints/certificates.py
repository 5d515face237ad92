"""Certificates of services: checked as a client would check them, and kept with their keys outside the database.

serving/tls/<route>-<fingerprint>.pem      the key and the certificates, mode 0600; the gateway reads it

A renewed certificate is another file, so that the gateway never sees half of a change.
"""

from __future__ import annotations

import hashlib
import ssl
import tempfile
from pathlib import Path

from footplate.disk import atomic_write
from footplate.domain.serving.endpoints import CertificateFiles, ServiceTls
from footplate.errors import InvalidInput

_HINTS = {
    "KEY_VALUES_MISMATCH": "give the key that the certificate was made with",
    "BAD_PASSWORD_READ": "remove the password of the key: openssl pkey -in KEY -out PLAIN",
}


class Certificates:
    def __init__(self, home: Path) -> None:
        self._folder = home / "serving" / "tls"

    def path(self, route: str, tls: ServiceTls) -> Path:
        return self._folder / f"{route}-{tls.fingerprint}.pem"

    def keep(self, route: str, files: CertificateFiles) -> ServiceTls:
        """Check a certificate and its key, and store them; raise InvalidInput for files that no client would accept."""
        content = f"{files.key.rstrip()}\n{files.certificate.rstrip()}\n".encode()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".new") as file:  # created with mode 0600
            file.write(content)
            file.flush()
            expires = _check(file.name, files)
        fingerprint = hashlib.sha256(content).hexdigest()[:16]
        tls = ServiceTls(files.certificate, files.cname, fingerprint, expires)
        atomic_write(self.path(route, tls), content, durable=True, mode=0o600)
        return tls

    def forget(self, route: str, but: ServiceTls | None = None) -> None:
        """Remove the keys of a service, those included that were replaced, except the one in use."""
        in_use = None if but is None else self.path(route, but)
        for path in self._folder.glob(f"{route}-{'[0-9a-f]' * 16}.pem"):
            if path != in_use:
                path.unlink(missing_ok=True)


def _check(path: str, files: CertificateFiles) -> float:
    """Return when the certificate expires, after a handshake in memory with a client that trusts it."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        server.load_cert_chain(path, password=bytes)
        client.load_verify_locations(cadata=files.certificate)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        hint = _HINTS.get(reason, "give the text of PEM files: -----BEGIN CERTIFICATE----- and its private key")
        raise InvalidInput(f"the certificate and its key cannot be used: {reason}", hint) from None
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.check_hostname = files.cname is not None
    try:
        return _handshake(server, client, files.cname)
    except ssl.SSLCertVerificationError as error:
        raise InvalidInput(
            f"clients would refuse the certificate: {error.verify_message}",
            "give a certificate that is valid today and, with ssl_cname, names that host",
        ) from None


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None) -> float:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    waiting = [theirs, ours]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    certificate = theirs.getpeercert() or {}
    return float(ssl.cert_time_to_seconds(str(certificate["notAfter"])))
