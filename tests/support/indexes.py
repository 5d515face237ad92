"""A package index on this machine: a folder of wheels over HTTP, optionally with a password or a certificate."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Index:
    """A running index. `url` is for pip's index-url; `asked` lists the paths that were requested and served."""

    url: str
    certificate: Path | None = None
    asked: list[str] = field(default_factory=list[str])


@contextmanager
def serve(wheels: Path, login: str | None = None, certificates: Path | None = None) -> Generator[Index]:
    """Serve a folder. `login` is `user:password`; with a folder for `certificates`, use https with our authority."""
    index = Index("")
    wanted = f"Basic {base64.b64encode(login.encode()).decode()}" if login else None

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if wanted is not None and self.headers.get("Authorization") != wanted:
                self._answer(401, b"", {"WWW-Authenticate": 'Basic realm="wheels"'})
                return
            content = _content(wheels, self.path)
            index.asked.append(self.path)
            self._answer(404 if content is None else 200, content or b"", {"Content-Type": _kind(self.path)})

        def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Discard the access log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificates is not None:
        index.certificate = certify(certificates)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificates is None else "https"
    index.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/simple"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()


def _kind(path: str) -> str:
    return "text/html" if path.startswith("/simple") else "application/octet-stream"


def _content(wheels: Path, path: str) -> bytes | None:
    """Return the content of `/simple/NAME/`, the list of the wheels of that name, or of `/files/NAME`, one of them."""
    if path.startswith("/files/"):
        file = wheels / path.rsplit("/", 1)[1]
        return file.read_bytes() if file.is_file() else None
    name = path.removeprefix("/simple").strip("/")
    files = [file for file in sorted(wheels.glob("*.whl")) if file.name.split("-")[0].replace("_", "-").lower() == name]
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    links = [f'<a href="/files/{file}#sha256={digest}">{file}</a>' for file, digest in digests.items()]
    return "\n".join(["<!DOCTYPE html><html><body>", *links, "</body></html>"]).encode() if files else None


def certify(folder: Path, host: str = "127.0.0.1") -> Path:
    """Create our own authority, `ca.pem`, and `server.pem`, which it has signed for the address `host`."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _named("an authority of the tests")
    ca = _certificate(issuer, issuer, authority, authority, x509.BasicConstraints(ca=True, path_length=0))
    places = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
    leaf = _certificate(_named(host), issuer, server, authority, places)
    (folder / "ca.pem").write_bytes(ca.public_bytes(_PEM))
    (folder / "server.pem").write_bytes(_key(server) + leaf.public_bytes(_PEM))
    return folder / "ca.pem"


def self_sign(folder: Path, host: str, days: int = 1) -> tuple[Path, Path]:
    """Create a certificate for a host that signs itself, and its key; one with negative `days` has expired."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    places = x509.SubjectAlternativeName([x509.DNSName(host)])
    made = _certificate(_named(host), _named(host), key, key, places, days)
    (folder / "cert.pem").write_bytes(made.public_bytes(_PEM))
    (folder / "key.pem").write_bytes(_key(key))
    return folder / "cert.pem", folder / "key.pem"


_PEM = serialization.Encoding.PEM


def _key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
    days: int = 1,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=10))
    builder = builder.not_valid_after(now + datetime.timedelta(days=days))
    identifiers = (  # Python 3.13 and newer insist on them
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
    )
    for each in identifiers:
        builder = builder.add_extension(each, critical=False)
    if isinstance(extension, x509.BasicConstraints):
        builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
    return builder.add_extension(extension, critical=True).sign(signer, hashes.SHA256())
